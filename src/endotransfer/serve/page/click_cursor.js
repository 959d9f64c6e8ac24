// A cursor for those who click by the keyboard: X shows it in the middle of the view, arrows move it.
/** @import { Point, View } from "./types.d.ts" */
import { element } from "./dom.js";
import { say } from "./messages.js";
import { emit, state } from "./state.js";

const STEP = 12; // pixels of the screen; with Shift one pixel of the image
/** @type {Record<string, [number, number]>} */
const WAYS = { arrowleft: [-1, 0], arrowright: [1, 0], arrowup: [0, -1], arrowdown: [0, 1] };
/** @type {Point | null} */
let at = null;
/** @type {View} */
let view = { scale: 1, x: 0, y: 0 };

export const cursor = () => at;

/** The view as it is drawn just now. @param {View} now */
export function noteView(now) {
  view = now;
}

/** @param {Point | null} place */
function put(place) {
  const image = state.image;
  if (!image) return;
  /** @param {number} value @param {number} length */
  const within = (value, length) => Math.round(Math.min(length - 1, Math.max(0, value)));
  at = place && { x: within(place.x, image.width), y: within(place.y, image.height) };
  say(at ? `Cursor at ${at.x}, ${at.y}` : "Cursor put away");
  emit("look");
}

export function hideCursor() {
  if (at) put(null);
}

export function showCursor() {
  const canvas = element("canvas");
  canvas.focus();
  put({ x: (canvas.clientWidth / 2 - view.x) / view.scale - 0.5, y: (canvas.clientHeight / 2 - view.y) / view.scale - 0.5 });
}

/** What a key does to the cursor, if anything. @param {string} key @param {boolean} shift */
export function cursorKey(key, shift) {
  if (key === "x") return at ? hideCursor : showCursor;
  const way = WAYS[key];
  if (!at || !way) return undefined;
  const step = shift ? 1 : Math.max(1, STEP / view.scale);
  const { x, y } = at;
  return () => put({ x: x + way[0] * step, y: y + way[1] * step });
}
