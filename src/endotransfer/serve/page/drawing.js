// Correcting a mask: brush, eraser, regions, undo.  The drawing begins as a copy of what is shown on the left.
import { labelsOf, loadRegions, modelOf } from "./image.js";
import { stampLine, toggleRegion } from "./masks.js";
import { attempt, element, emit, on, state } from "./state.js";

const UNDO_BYTES = 60_000_000;
let last = null; // the stroke's last point
let history = [];

export function beginDraft(empty = false) {
  const image = state.image;
  if (!image || (image.draft && !empty)) return;
  const shown = labelsOf(image, state.left) ?? labelsOf(image, "model0");
  history = image.draft ? [...history, image.draft] : [];
  image.draftFrom = empty ? null : modelOf(state.left);
  image.draft = empty ? new Uint8Array(image.width * image.height) : Uint8Array.from(shown);
  image.before = image.before ?? state.left;
  state.left = "draft";
  changed();
  emit("sides");
}

export function discardDraft() {
  const image = state.image;
  if (!image?.draft) return;
  image.draft = null;
  history = [];
  if (state.left === "draft") state.left = image.before ?? "model0";
  if (state.right === "draft") state.right = "";
  image.before = null;
  changed();
  emit("sides");
}

export function draftPoint(point, first) {
  const image = state.image;
  if (first) {
    beginDraft();
    keep();
    if (state.tool === "region") return paintRegion(image, point);
  } else if (!last || state.tool === "region") return undefined;
  const value = state.tool === "eraser" ? 0 : state.paint;
  stampLine(image.draft, image.width, image.height, last ?? point, point, state.brush, value);
  last = point;
  changed();
  return undefined;
}

export function endStroke() {
  last = null;
  emit("drawing");
}

export function undo() {
  const image = state.image;
  if (!image?.draft || !history.length) return;
  image.draft = history.pop();
  changed();
}

export const canUndo = () => history.length > 0;

function keep() {
  const image = state.image;
  history.push(Uint8Array.from(image.draft));
  while (history.length > 1 && history.length * image.draft.length > UNDO_BYTES) history.shift();
}

async function paintRegion(image, point) {
  const [x, y] = [Math.round(point.x), Math.round(point.y)];
  if (x < 0 || y < 0 || x >= image.width || y >= image.height) return;
  const regions = await attempt(() => loadRegions(image));
  if (!regions || state.image !== image || !image.draft) return;
  toggleRegion(image.draft, regions, y * image.width + x, state.paint);
  changed();
}

function changed() {
  state.image.version += 1;
  emit("look");
  emit("drawing");
}

on("image", () => { history = []; last = null; });
element("undo").addEventListener("click", undo);
element("blank").addEventListener("click", () => beginDraft(true));
element("discard").addEventListener("click", discardDraft);
