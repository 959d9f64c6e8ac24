// A drawn image is judged without sight of any model's mask.  Who asks to see it may, and that is remembered: what is
// decided afterwards is no measurement.
/** @import { OpenImage, Reading, Row } from "./types.d.ts" */
import { input, onClick, onValue, select } from "./dom.js";
import { recall, remember } from "./memory.js";
import { emit, on, state } from "./state.js";

/** @type {Set<string>} */
const seen = new Set(JSON.parse(recall("seen", "[]")));
/** @param {string} id */
const key = (id) => `${state.about.folder}/${id}`;

/** @param {OpenImage | null} image */
export const inSample = (image) => Boolean(image && !image.uploaded && state.plan?.has(image.row.id));
/** @param {OpenImage | null} image */
export const isBlind = (image) => Boolean(image && inSample(image) && hidesRow(image.row));
/** @param {Row} row */
export const hidesRow = (row) => Boolean(state.plan?.has(row.id)) && state.blind && !seen.has(key(row.id));

/** Which reading of an image a decision is about. @param {OpenImage | null} image @returns {Reading} */
export const readingOf = (image) => (inSample(image) ? state.reading : "first");

export function reveal() {
  const image = state.image;
  if (!image || !isBlind(image)) return;
  note(image);
  state.left = image.draft ? "draft" : "model0";
  emit("sides");
  emit("rows");
}

/** @param {OpenImage} image */
function note(image) {
  seen.add(key(image.row.id));
  remember("seen", JSON.stringify([...seen].slice(-20_000)));
}

// Shown without its blinds, by whatever way: it has been seen.
on(["image", "sides"], () => {
  const image = state.image;
  if (image && inSample(image) && !isBlind(image)) note(image);
});
onClick("reveal", reveal);
onValue(input("blind"), "change", (field) => {
  state.blind = field.checked;
  emit("sides");
  emit("rows");
});
onValue(select("reading-as"), "change", (field) => {
  state.reading = /** @type {Reading} */ (field.value);
  if (!state.image || !inSample(state.image)) return;
  state.left = state.image.draft ? "draft" : "none";
  emit("sides");
  emit("rows");
});
