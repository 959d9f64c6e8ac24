// Mouse, pen and fingers on the canvas: move, pinch, swipe, draw.  The right button and Alt erase; two fingers never draw.
/** @import { Point } from "./types.d.ts" */
import { element, input, onValue } from "./dom.js";
import { cancelChange } from "./drafts.js";
import { fit, onScreen, pan, pointer, redraw, scale, swipeAt, toImage, zoom } from "./stage.js";
import { emit, state } from "./state.js";
import { setBrush } from "./tool_brush.js";
import { toolInHand } from "./tools.js";

const RIGHT = 2;
const canvas = element("canvas", HTMLCanvasElement);
/** @type {Map<number, Point>} */
const fingers = new Map();
const held = { space: false };
/** @typedef {"pan" | "pinch" | "swipe" | "draw" | null} Action null with fingers left on the glass after a pinch */
/** @type {Action} */
let action = null;

canvas.addEventListener("pointerdown", (event) => {
  if (!state.image) return;
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, onScreen(event));
  if (fingers.size > 1) {
    if (action === "draw") cancelDrawing();
    action = fingers.size === 2 ? "pinch" : null;
    return;
  }
  Object.assign(pointer, toImage(event), { inside: true });
  action = chooseAction(event);
  if (action === "draw") toolInHand().press?.(toImage(event), { erase: event.button === RIGHT || event.altKey, reach: 8 / scale() });
});

function cancelDrawing() {
  toolInHand().cancel?.();
  cancelChange();
}

/** @param {PointerEvent} event @returns {Action} */
function chooseAction(event) {
  if (nearDivider(onScreen(event))) return "swipe";
  if (event.button === 1 || held.space) return "pan";
  if (event.button !== 0 && event.button !== RIGHT) return null;
  if (toolInHand().press) return "draw";
  return event.button === RIGHT ? null : "pan";
}

canvas.addEventListener("pointermove", (event) => {
  Object.assign(pointer, toImage(event), { inside: true });
  const before = fingers.get(event.pointerId);
  const now = onScreen(event);
  if (before && action === "pan") pan(now.x - before.x, now.y - before.y);
  else if (before && action === "pinch") pinch(event.pointerId, before, now);
  else if (before && action === "swipe") setSwipe(now.x / canvas.clientWidth);
  else if (before && action === "draw") toolInHand().drag?.(toImage(event));
  if (toolInHand().paint) redraw();
  if (before) fingers.set(event.pointerId, now);
  canvas.classList.toggle("on-divider", nearDivider(now));
  emit("pointer");
});

/** @param {Point} at */
function nearDivider({ x }) {
  const divider = swipeAt();
  return divider !== null && Math.abs(x - divider) < 14;
}

for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) {
  canvas.addEventListener(name, (event) => {
    fingers.delete(event.pointerId);
    if (action === "draw" && name === "pointerup") toolInHand().lift?.();
    else if (action === "draw") cancelDrawing();
    action = null; // a finger that stays after a pinch does nothing until it is lifted
  });
}

canvas.addEventListener("contextmenu", (event) => event.preventDefault());
canvas.addEventListener("pointerleave", () => { pointer.inside = false; redraw(); emit("pointer"); });
canvas.addEventListener("dblclick", () => { if (toolInHand().press) toolInHand().finish?.(); else fit(); });
canvas.addEventListener("wheel", (event) => {
  if (!state.image) return;
  event.preventDefault();
  const by = Math.max(-80, Math.min(80, event.deltaY || event.deltaX));
  if (event.altKey) setBrush(state.brush * Math.exp(-by / 300) - Math.sign(by) * 0.5);
  else zoom(Math.exp(-by / 300), onScreen(event));
}, { passive: false });

/** @param {number} id @param {Point} before @param {Point} now */
function pinch(id, before, now) {
  const other = [...fingers].find(([finger]) => finger !== id)?.[1];
  if (!other) return;
  const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
  zoom(Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y)), middle);
  pan((now.x - before.x) / 2, (now.y - before.y) / 2);
}

/** While the space bar is down, dragging moves the image, whatever the tool. @param {boolean} down */
export function holdSpace(down) {
  held.space = down;
  canvas.classList.toggle("panning", down);
}

/** @param {number} part */
export function setSwipe(part) {
  state.swipe = Math.min(1, Math.max(0, part));
  input("swipe").value = String(Math.round(state.swipe * 100));
  redraw();
}

onValue(input("swipe"), "input", ({ value }) => setSwipe(Number(value) / 100));
addEventListener("blur", () => holdSpace(false));
