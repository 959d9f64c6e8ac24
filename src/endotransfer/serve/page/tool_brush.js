// Brush and eraser: strokes as wide as one likes.  The right button erases with either.
/** @import { Point, Pointer, Tool, View } from "./types.d.ts" */
import { make, onValue } from "./dom.js";
import { beginChange, changed, endChange } from "./drafts.js";
import { stampLine } from "./masks.js";
import { emit, on, state } from "./state.js";

/** @type {{ value: number, last: Point } | null} */
let stroke = null;
const size = make("input", { type: "range", id: "brush", min: "1", max: "100", value: "20" });
const controls = make("label", { className: "line", id: "brush-field" }, "Size ", size);

/** @param {number} wanted */
export function setBrush(wanted) {
  state.brush = Math.min(100, Math.max(1, Math.round(wanted)));
  size.value = String(state.brush);
  emit("look");
}

/** @param {Point} at @param {number} value */
function begin(at, value) {
  if (!beginChange()) return;
  stroke = { value, last: at };
  drag(at);
}

/** @param {Point} at */
function drag(at) {
  const image = state.image;
  if (!stroke || !image?.draft) return;
  stampLine(image.draft, image.width, image.height, stroke.last, at, state.brush, stroke.value);
  stroke.last = at;
  changed();
}

/** @param {CanvasRenderingContext2D} context @param {View} view @param {Pointer} pointer */
function paint(context, view, pointer) {
  if (!pointer.inside) return;
  const [x, y] = [view.x + (pointer.x + 0.5) * view.scale, view.y + (pointer.y + 0.5) * view.scale];
  for (const [colour, extra] of /** @type {const} */ ([["#000", 1], ["#fff", 0]])) {
    context.beginPath();
    context.arc(x, y, Math.max(2, state.brush * view.scale) + extra, 0, 2 * Math.PI);
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.stroke();
  }
}

const strokes = { controls, drag, paint, lift: () => { stroke = null; endChange(); }, cancel: () => { stroke = null; } };

/** @type {Tool} */
export const brush = {
  ...strokes, name: "brush", label: "Brush", key: "b", title: "Paint; the right button erases",
  press: (at, { erase }) => begin(at, erase ? 0 : state.paint),
};

/** @type {Tool} */
export const eraser = { ...strokes, name: "eraser", label: "Erase", key: "e", title: "Erase", press: (at) => begin(at, 0) };

onValue(size, "input", ({ value }) => setBrush(Number(value)));
on("image", () => { if (state.image && !state.desk) setBrush(Math.max(2, Math.min(state.image.width, state.image.height) / 25)); });
