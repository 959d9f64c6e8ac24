// The line of a lasso or polygon in hand: its corners are `state.path`, in pixels of the image.
/** @import { Point, View } from "./types.d.ts" */
import { changed } from "./drafts.js";
import { fillPolygon } from "./shapes.js";
import { emit, state } from "./state.js";

export function dropPath() {
  state.path = [];
  emit("look");
}

/** What lies within the line takes a value; the line goes. @param {number} value */
export function fillPath(value) {
  const image = state.image;
  if (image?.draft && state.path.length > 2) fillPolygon(image.draft, image.width, image.height, state.path, value);
  state.path = [];
  changed();
}

/** @param {CanvasRenderingContext2D} context @param {View} view @param {Point[]} points @param {boolean} closed */
export function paintPath(context, view, points, closed) {
  for (const [colour, thick, dash] of /** @type {[string, number, number[]][]} */ ([["#000", 3, []], ["#fff", 1.5, [5, 3]]])) {
    context.beginPath();
    for (const { x, y } of points) context.lineTo(view.x + (x + 0.5) * view.scale, view.y + (y + 0.5) * view.scale);
    if (closed) context.closePath();
    context.setLineDash(dash);
    context.strokeStyle = colour;
    context.lineWidth = thick;
    context.stroke();
  }
  context.setLineDash([]);
}
