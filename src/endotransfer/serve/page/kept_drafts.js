// Unsaved drawings by image, with their undo and redo: kept while one goes on to other images, and by this browser over a
// reload, a crash or the end of the day.
/** @import { Drawing, Mask, OpenImage } from "./types.d.ts" */
import { isBlind } from "./blind.js";
import { readDraft, removeDraft, writeDraft } from "./draft_store.js";
import { tell } from "./messages.js";
import { fromRuns, toRuns } from "./run_lengths.js";
import { on, state } from "./state.js";

const PAUSE = 600; // milliseconds after a stroke
const STEPS = 12; // of undo and of redo that outlast a reload
/**
 * @typedef {object} Kept
 * @property {number | null} draftFrom
 * @property {string | null} before
 * @property {number} revision
 * @property {Uint32Array} draft
 * @property {Uint32Array} start
 * @property {Uint32Array[]} past
 * @property {Uint32Array[]} future
 */
/** @type {Map<string, Drawing>} */
const drafts = new Map();
/** Images whose drawing was asked for: from then on the page knows better. @type {Set<string>} */
const asked = new Set();
/** @type {number | undefined} */
let timer;

/** @param {string} id */
const key = (id) => `${state.about.folder} ${id}`;

/** What is drawn on the open image, before another one is opened. */
export function keepDraft() {
  const image = state.image;
  if (!image) return;
  const { draft, start, draftFrom, before, past, future } = image;
  if (draft) drafts.set(image.row.id, { draft, start, draftFrom, before, past, future });
  else drafts.delete(image.row.id);
  write(image);
}

/** @param {string} id */
export function dropDraft(id) {
  drafts.delete(id);
  removeDraft(key(id));
}

/** The drawing that an image was left with, if any. @param {OpenImage} image */
export async function takeUpDraft(image) {
  const { id } = image.row;
  const known = drafts.get(id);
  if (known) Object.assign(image, known);
  if (known || image.draft || image.uploaded || asked.has(id)) return;
  asked.add(id);
  const kept = /** @type {Kept | undefined} */ (await readDraft(key(id)));
  const drawing = kept && unpacked(kept, image.width * image.height);
  if (!drawing || (isBlind(image) && drawing.draftFrom !== null)) return; // or a model's mask would be seen
  Object.assign(image, drawing); // with the revision that it began from: a decision made since is not overwritten
  tell(`Your unsaved drawing of ${image.row.name} is back: save it, or discard it.`);
}

/** @param {OpenImage} image */
function write(image) {
  clearTimeout(timer);
  const { draft, start, draftFrom, before, past, future, revision } = image;
  if (image.uploaded) return;
  if (!draft || !start) {
    if (asked.has(image.row.id)) removeDraft(key(image.row.id));
    return;
  }
  /** @param {Mask[]} steps */
  const last = (steps) => steps.slice(-STEPS).map(toRuns);
  const kept = { draftFrom, before, revision, draft: toRuns(draft), start: toRuns(start), past: last(past), future: last(future) };
  writeDraft(key(image.row.id), kept);
}

/** @param {Kept} kept @param {number} size @returns {(Drawing & { revision: number }) | null} */
function unpacked({ draftFrom, before, revision, draft, start, past, future }, size) {
  const masks = [draft, start, ...past, ...future].map((runs) => fromRuns(runs, size));
  if (!masks.every((mask) => mask !== null)) return null; // the image was exchanged
  const [drawn, began, ...steps] = masks;
  return { draftFrom, before, revision, draft: drawn, start: began, past: steps.slice(0, past.length), future: steps.slice(past.length) };
}

on("drawing", () => {
  clearTimeout(timer);
  timer = setTimeout(() => { if (state.image) write(state.image); }, PAUSE);
});
addEventListener("pagehide", keepDraft);
addEventListener("beforeunload", (event) => { keepDraft(); if (drafts.size) event.preventDefault(); });
