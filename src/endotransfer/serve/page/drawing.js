// Correcting a mask: strokes, areas, what tidies them up; undo and redo.  It begins as a copy of what is on the left.
import { isBlind } from "./blind.js";
import { labelsOf, loadRegions, modelOf } from "./image.js";
import { stampLine } from "./masks.js";
import { fillHoles, fillPolygon, grow, mostly, paintRegion, shrink, smooth } from "./shapes.js";
import { attempt, element, emit, on, state } from "./state.js";

const UNDO_BYTES = 60_000_000;
let stroke = null; // what the pointer is at: value, last point, whether it began the drawing, regions passed

export function beginDraft(empty = false) {
  const image = state.image;
  if (!image || (image.draft && !empty)) return;
  const shown = labelsOf(image, state.left) ?? (isBlind(image) ? null : labelsOf(image, "model0"));
  if (image.draft) keep();
  else Object.assign(image, { past: [], future: [], before: state.left });
  image.draftFrom = empty ? null : modelOf(state.left);
  image.draft = empty || !shown ? new Uint8Array(image.width * image.height) : Uint8Array.from(shown);
  state.left = "draft";
  changed();
  emit("sides");
}

export function discardDraft(image = state.image) {
  if (!image?.draft) return;
  const former = image.before ?? "model0";
  Object.assign(image, { draft: null, before: null, past: [], future: [] });
  image.version += 1;
  if (state.image !== image) return; // the reader has gone on meanwhile
  if (state.left === "draft") state.left = former;
  if (state.right === "draft") state.right = "";
  state.path = [];
  changed();
  emit("sides");
}

export function beginStroke(point, erase) {
  const image = state.image;
  const began = !image.draft;
  beginDraft();
  keep();
  const value = erase || state.tool === "eraser" ? 0 : state.paint;
  stroke = { value, erase, began, last: null, regions: new Map() };
  if (state.tool === "lasso") state.path = [point];
  extendStroke(point);
}

export function extendStroke(point) {
  const image = state.image;
  if (!stroke || !image?.draft) return;
  if (state.tool === "lasso") state.path.push(point);
  else if (state.tool === "region") passRegion(image, point, stroke);
  else stampLine(image.draft, image.width, image.height, stroke.last ?? point, point, state.brush, stroke.value);
  stroke.last = point;
  changed();
}

export function endStroke() {
  if (stroke && state.tool === "lasso") fillPath(stroke.value);
  stroke = null;
  emit("drawing");
}

// The stroke was none: a second finger came.
export function cancelStroke() {
  const image = state.image;
  if (!stroke || !image?.draft) return;
  const { began } = stroke;
  stroke = null;
  state.path = [];
  image.draft = image.past.pop();
  if (began) discardDraft();
  changed();
}

// A polygon is set corner by corner; near its first corner it closes.
export function addCorner(point, reach) {
  const [first] = state.path;
  if (state.path.length > 2 && Math.hypot(first.x - point.x, first.y - point.y) <= reach) return closePolygon();
  state.path.push(point);
  emit("look");
  return undefined;
}

export function closePolygon() {
  if (state.path.length > 2) {
    beginDraft();
    keep();
    fillPath(state.paint);
  }
  dropPath();
}

export function dropPath() {
  state.path = [];
  emit("look");
}

function fillPath(value) {
  const { draft, width, height } = state.image;
  if (state.path.length > 2) fillPolygon(draft, width, height, state.path, value);
  state.path = [];
  changed();
}

async function passRegion(image, point, current) {
  const [x, y] = [Math.round(point.x), Math.round(point.y)];
  if (x < 0 || y < 0 || x >= image.width || y >= image.height) return;
  const regions = await attempt(() => loadRegions(image));
  if (!regions || state.image !== image || !image.draft) return;
  const region = regions[y * image.width + x];
  if (current.regions.has(region)) return;
  // The first region decides: one that is painted already is cleared, and so are those that follow.
  if (!current.regions.size && !current.erase && mostly(image.draft, regions, region, state.paint)) current.value = 0;
  current.regions.set(region, true);
  paintRegion(image.draft, regions, region, current.value);
  changed();
}

const TIDY = {
  smooth: (image) => smooth(image.draft, image.width, image.height, state.paint, Math.max(1, Math.round(Math.min(image.width, image.height) / 100))),
  fill: (image) => fillHoles(image.draft, image.width, image.height, state.paint),
  grow: (image) => grow(image.draft, image.width, image.height, state.paint),
  shrink: (image) => shrink(image.draft, image.width, image.height, state.paint),
};

function tidy(how) {
  if (!state.image) return;
  beginDraft();
  keep();
  state.image.draft = TIDY[how](state.image);
  changed();
}

export const undo = () => travel("past", "future");
export const redo = () => travel("future", "past");
export const canUndo = () => Boolean(state.image?.draft && state.image.past.length);
export const canRedo = () => Boolean(state.image?.draft && state.image.future.length);

function travel(from, to) {
  const image = state.image;
  if (!image?.draft || !image[from].length) return;
  image[to].push(image.draft);
  image.draft = image[from].pop();
  changed();
}

function keep() {
  const image = state.image;
  image.past.push(Uint8Array.from(image.draft));
  image.future = [];
  while (image.past.length > 1 && image.past.length * image.draft.length > UNDO_BYTES) image.past.shift();
}

function changed() {
  state.image.version += 1;
  emit("look");
  emit("drawing");
}

on("image", () => { stroke = null; state.path = []; });
element("undo").addEventListener("click", undo);
element("redo").addEventListener("click", redo);
element("blank").addEventListener("click", () => beginDraft(true));
element("discard").addEventListener("click", () => discardDraft());
for (const how of Object.keys(TIDY)) element(how).addEventListener("click", () => tidy(how));
