// "Next batch": the images worth a person's time, as links to them.
/** @import { Batch } from "./types.d.ts" */
import { postJson } from "./api.js";
import { button, element, input, make, onClick, unbroken } from "./dom.js";
import { recall, remember } from "./memory.js";
import { attempt, say } from "./messages.js";
import { on, state } from "./state.js";

const NO_FOLDER = "Images are chosen from a folder: start the viewer with --images DIR.";
const place = () => `batch.${state.about.folder}`;

/** The names of the last batch, also of an earlier visit. @returns {string[]} */
function lastBatch() {
  try {
    const found = JSON.parse(recall(place(), "[]"));
    return Array.isArray(found) ? found.filter((name) => typeof name === "string") : [];
  } catch { return []; }
}

export function showBatch() {
  const rows = new Map(state.rows.map((row) => [row.name, row]));
  const known = lastBatch().flatMap((name) => rows.get(name) ?? []);
  element("batch-list").replaceChildren(...known.map((row) => {
    const link = make("a", { href: imageLink(row.name), textContent: row.name });
    return make("li", {}, link, make("span", { textContent: row.review ? ` ${row.review.decision}` : "" }));
  }));
  const done = known.filter((row) => row.review).length;
  element("batch-note").textContent = known.length ? `${done} of ${known.length} reviewed.` : "";
  if (!state.about.folder) element("batch-note").replaceChildren(...unbroken(NO_FOLDER));
}

/** @param {string} name */
export const imageLink = (name) => `#image=${encodeURIComponent(name)}`;

onClick("batch", () => attempt(async () => {
  button("batch").disabled = true;
  try {
    const count = Number(input("batch-count").value) || 10;
    const found = /** @type {Batch} */ (await postJson("/api/learning/batch", { count }));
    remember(place(), JSON.stringify(found.names));
    showBatch();
    if (!found.names.length) element("batch-note").textContent = "No image is left that could be trained on.";
    say(`${found.names.length} images chosen.`);
  } finally {
    button("batch").disabled = false;
  }
}));
on(["rows", "reviewed"], () => { if (!element("learn").hidden) showBatch(); });
