// Points and box of the tool Click, over the image.
/** @import { Box, Click, ClickedObject, Point, View } from "./types.d.ts" */

const RADIUS = 7;
const COLOURS = { on: "#0b7a4b", beside: "#b3261e" };

/** @param {View} view @param {Point} at */
const onScreen = (view, { x, y }) => ({ x: view.x + (x + 0.5) * view.scale, y: view.y + (y + 0.5) * view.scale });

/** @param {CanvasRenderingContext2D} context @param {View} view @param {ClickedObject} object */
export function paintObject(context, view, { points, box, waiting }) {
  if (box) paintBox(context, view, box);
  points.forEach((point, index) => paintPoint(context, view, point, waiting && index === points.length - 1));
}

/**
 * A plus or a minus: colour alone would not tell them apart for everybody.
 * @param {CanvasRenderingContext2D} context @param {View} view @param {Click} point @param {boolean} waiting
 */
function paintPoint(context, view, point, waiting) {
  const { x, y } = onScreen(view, point);
  context.beginPath();
  context.arc(x, y, RADIUS, 0, 2 * Math.PI);
  context.globalAlpha = waiting ? 0.55 : 1;
  context.fillStyle = point.positive ? COLOURS.on : COLOURS.beside;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = "#fff";
  context.lineWidth = 1.5;
  context.stroke();
  context.fillStyle = "#fff";
  context.fillRect(x - 3.5, y - 0.75, 7, 1.5);
  if (point.positive) context.fillRect(x - 0.75, y - 3.5, 1.5, 7);
}

/** @param {CanvasRenderingContext2D} context @param {View} view @param {Box} box */
export function paintBox(context, view, [left, top, right, bottom]) {
  const [from, to] = [onScreen(view, { x: left, y: top }), onScreen(view, { x: right, y: bottom })];
  for (const [colour, width, dash] of /** @type {[string, number, number[]][]} */ ([["#000", 3, []], ["#fff", 1.5, [6, 4]]])) {
    context.setLineDash(dash);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.strokeRect(from.x, from.y, to.x - from.x, to.y - from.y);
  }
  context.setLineDash([]);
}
