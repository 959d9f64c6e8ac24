// The keyboard's cursor over the image: a cross with its middle free, ringed while it draws.
/** @import { Point, View } from "./types.d.ts" */

/** @param {CanvasRenderingContext2D} context @param {View} view @param {Point} at @param {boolean} down */
export function paintCursor(context, view, at, down) {
  const [x, y] = [view.x + (at.x + 0.5) * view.scale, view.y + (at.y + 0.5) * view.scale];
  for (const [colour, width] of /** @type {[string, number][]} */ ([["#000", 4], ["#ffd34d", 2]])) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 4 * dx, y + 4 * dy);
      context.lineTo(x + 16 * dx, y + 16 * dy);
    }
    context.stroke();
    if (!down) continue;
    context.beginPath();
    context.arc(x, y, 9, 0, 2 * Math.PI);
    context.stroke();
  }
}
