// A cursor for those who draw by the keyboard, with any tool: X shows it, arrows move it, I presses where it is, O does
// so to erase.  What a mouse would drag stays pressed, and follows the arrows, until I again.
/** @import { Point } from "./types.d.ts" */
import { paintCursor } from "./cursor_paint.js";
import { context2d, element } from "./dom.js";
import { say } from "./messages.js";
import { bringInView, middle, pointer, redraw, view } from "./stage.js";
import { on, state } from "./state.js";
import { cancelPress, toolInHand } from "./tools.js";

const STEP = 12; // pixels of the screen; with Shift one pixel of the image
/** @type {Record<string, [number, number]>} */
const WAYS = { arrowleft: [-1, 0], arrowright: [1, 0], arrowup: [0, -1], arrowdown: [0, 1] };
const canvas = element("canvas", HTMLCanvasElement);
/** @type {Point | null} */
let at = null;
let down = false; // whether what it does is dragged on

export const isCursorShown = () => at !== null;

/** @param {Point | null} place */
function put(place) {
  const image = state.image;
  if (!image) { at = null; return; }
  /** @param {number} value @param {number} length */
  const within = (value, length) => Math.round(Math.min(length - 1, Math.max(0, value)));
  at = place && { x: within(place.x, image.width), y: within(place.y, image.height) };
  say(at ? `Cursor at ${at.x}, ${at.y}` : "Cursor put away");
  Object.assign(pointer, at, { inside: Boolean(at) }); // a tool shows there what it shows under a mouse
  if (at && down) toolInHand().drag?.(at);
  if (at) bringInView(at);
  redraw();
}

export function hideCursor() {
  endPress();
  if (at) put(null);
}

function show() {
  canvas.focus();
  put(middle());
}

/** @param {boolean} erase @param {boolean} hold */
function press(erase, hold) {
  const tool = toolInHand();
  if (!at) return;
  if (!tool.press) { say("Choose a tool to draw with first"); return; }
  tool.press(at, { erase, reach: 0.5 });
  down = Boolean(tool.drag) && (hold || !tool.taps);
  if (down) say(`${tool.label} begun; arrows go on, I ends it`);
  else tool.lift?.();
}

/** The end of what is dragged, if anything is: whatever a person does next must find it done. */
export function endPress() {
  if (!down) return;
  down = false;
  say(`${toolInHand().label} done`);
  toolInHand().lift?.();
}

function cancel() {
  down = false;
  cancelPress();
}

/** What a key does to the cursor or where it is, if anything. @param {string} key @param {boolean} shift */
export function cursorKey(key, shift) {
  if (key === "x") return at ? hideCursor : show;
  if (!at) return undefined;
  if (down && (key === "enter" || key === "i" || key === "o")) return endPress;
  if (down && key === "escape") return cancel;
  if (key === "i" || key === "o") return () => press(key === "o", shift);
  const way = WAYS[key];
  const step = shift ? 1 : Math.max(1, STEP / view.scale);
  const { x, y } = at;
  return way && (() => put({ x: x + way[0] * step, y: y + way[1] * step }));
}

on("drawn", () => { if (at) paintCursor(context2d(canvas), view, at, down); });
on("image", () => { down = false; hideCursor(); });
canvas.addEventListener("blur", endPress);
canvas.addEventListener("pointerdown", hideCursor); // from here on by hand
