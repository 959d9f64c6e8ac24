// The correction in hand: how it begins, what a tool changes of it, undo and redo.  It begins as a copy of what is shown
// on the left.
/** @import { Mask, OpenImage } from "./types.d.ts" */
import { isBlind } from "./blind.js";
import { onClick } from "./dom.js";
import { labelsOf, modelOf } from "./image.js";
import { emit, on, state } from "./state.js";

const UNDO_BYTES = 60_000_000;
let began = false; // whether the change under way began the correction
let under = false; // whether a change is under way

export function beginDraft(empty = false) {
  const image = state.image;
  if (!image || (image.draft && !empty)) return;
  const start = empty ? new Uint8Array(image.width * image.height) : shownMask(image);
  if (image.draft) keep(image, image.draft);
  else Object.assign(image, { past: [], future: [], before: state.left });
  image.draftFrom = empty ? null : modelOf(state.left);
  image.draft = start;
  image.start = image.draft; // never changed in place: each change is a copy
  state.left = "draft";
  changed();
  emit("sides");
}

export function discardDraft(image = state.image) {
  if (!image?.draft) return;
  const former = image.before ?? "model0";
  Object.assign(image, { draft: null, start: null, before: null, past: [], future: [] });
  image.version += 1;
  if (state.image !== image) return; // the reader has gone on meanwhile
  if (state.left === "draft") state.left = former;
  if (state.right === "draft") state.right = "";
  state.path = [];
  changed();
  emit("sides");
}

/**
 * The correction, to be changed in place by a tool: a copy, so that what it was before can be returned to.  Call
 * `changed` after each change of it.
 * @returns {Mask | null}
 */
export function beginChange() {
  const image = state.image;
  began = !image?.draft;
  beginDraft();
  if (!image?.draft) return null;
  under = true;
  keep(image, image.draft);
  image.draft = Uint8Array.from(image.draft);
  return image.draft;
}

export function endChange() {
  under = false;
  emit("drawing");
}

// The change was none: a second finger came.
export function cancelChange() {
  const image = state.image;
  if (!under || !image?.draft) return;
  under = false;
  image.draft = image.past.pop() ?? image.draft;
  if (began) discardDraft();
  changed();
}

/**
 * Another mask in place of the correction, in one step that can be undone; none, and nothing begins, where `make` gives
 * null.
 * @param {(draft: Mask, image: OpenImage) => Mask | null} make
 */
export function replaceDraft(make) {
  const image = state.image;
  const made = image && make(image.draft ?? shownMask(image), image);
  if (!image || !made || !beginChange()) return false;
  image.draft = made;
  changed();
  endChange();
  return true;
}

/** What a correction begins with. @param {OpenImage} image @returns {Mask} */
function shownMask(image) {
  const shown = labelsOf(image, state.left) ?? (isBlind(image) ? null : labelsOf(image, "model0"));
  return shown ? Uint8Array.from(shown) : new Uint8Array(image.width * image.height);
}

/** Changes whose masks are still waited for. @type {Set<Promise<unknown>>} */
const awaited = new Set();

/** @param {Promise<unknown>} change */
export function waitFor(change) {
  awaited.add(change);
  change.finally(() => awaited.delete(change));
}

// Before a drawing is saved: everything that was asked for is in it.
export const settled = () => Promise.all(awaited);

export const undo = () => travel("past", "future");
export const redo = () => travel("future", "past");
export const canUndo = () => Boolean(state.image?.draft && state.image.past.length);
export const canRedo = () => Boolean(state.image?.draft && state.image.future.length);

/** @param {"past" | "future"} from @param {"past" | "future"} to */
function travel(from, to) {
  const image = state.image;
  const other = image?.draft && image[from].pop();
  if (!other || !image.draft) return;
  image[to].push(image.draft);
  image.draft = other;
  changed();
}

/** @param {OpenImage} image @param {Mask} draft */
function keep(image, draft) {
  image.past.push(draft);
  image.future = [];
  while (image.past.length > 1 && image.past.length * draft.length > UNDO_BYTES) image.past.shift();
}

export function changed() {
  if (state.image) state.image.version += 1;
  emit("look");
  emit("drawing");
}

on("image", () => { under = false; state.path = []; });
onClick("undo", undo);
onClick("redo", redo);
onClick("blank", () => beginDraft(true));
onClick("discard", () => discardDraft());
