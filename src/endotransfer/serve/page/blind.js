// A drawn image is judged without sight of any model's mask.  Who asks to see it may, and that is remembered: what is
// decided afterwards is no measurement.
import { element, emit, on, recall, remember, state } from "./state.js";

const seen = new Set(JSON.parse(recall("seen", "[]")));
const key = (id) => `${state.about.folder}/${id}`;

export const inSample = (image) => Boolean(image && !image.uploaded && state.plan?.has(image.row.id));
export const isBlind = (image) => inSample(image) && state.blind && !seen.has(key(image.row.id));
export const hidesRow = (row) => Boolean(state.plan?.has(row.id)) && state.blind && !seen.has(key(row.id));

// Which reading of an image a decision is about.
export const readingOf = (image) => (inSample(image) ? state.reading : "first");

export function reveal() {
  const image = state.image;
  if (!isBlind(image)) return;
  note(image);
  state.left = image.draft ? "draft" : "model0";
  emit("sides");
  emit("rows");
}

function note(image) {
  seen.add(key(image.row.id));
  remember("seen", JSON.stringify([...seen].slice(-20_000)));
}

// Shown without its blinds, by whatever way: it has been seen.
on("image sides", () => {
  const image = state.image;
  if (inSample(image) && !isBlind(image)) note(image);
});
element("reveal").addEventListener("click", reveal);
element("blind").addEventListener("change", (event) => {
  state.blind = event.target.checked;
  emit("sides");
  emit("rows");
});
element("reading-as").addEventListener("change", (event) => {
  state.reading = event.target.value;
  if (!inSample(state.image)) return;
  state.left = state.image.draft ? "draft" : "none";
  emit("sides");
  emit("rows");
});
