// Mouse, pen and fingers on the canvas: move, pinch, swipe, draw.  The right button, Alt and the other end of a pen erase;
// two fingers never draw, one does until a pen has.
/** @import { Point } from "./types.d.ts" */
import { element, input, onValue } from "./dom.js";
import { fit, onScreen, pan, pointer, redraw, scale, swipeAt, toImage, zoom } from "./stage.js";
import { emit, state } from "./state.js";
import { setBrush } from "./tool_brush.js";
import { cancelPress, toolInHand } from "./tools.js";

const RIGHT = 2; // buttons
const PEN_ERASER = 5; // the other end of a pen
const canvas = element("canvas", HTMLCanvasElement);
/** @type {Map<number, Point>} */
const fingers = new Map();
const held = { space: false };
/** @typedef {"pan" | "pinch" | "swipe" | "draw" | null} Action null with fingers left on the glass after a pinch */
/** @type {Action} */
let action = null;

/** The pen that is on the glass: as long as it is, a hand that rests there is no finger. @type {number | null} */
let pen = null;
let penKnown = false; // who has a pen draws with it, and moves the image with a finger

canvas.addEventListener("pointerdown", (event) => {
  if (!state.image || isPalm(event)) return;
  canvas.setPointerCapture(event.pointerId);
  if (event.pointerType === "pen") takePen(event.pointerId);
  fingers.set(event.pointerId, onScreen(event));
  if (fingers.size > 1) {
    if (action === "draw") cancelPress();
    action = fingers.size === 2 ? "pinch" : null;
    return;
  }
  Object.assign(pointer, toImage(event), { inside: true });
  action = chooseAction(event);
  if (action === "draw") toolInHand().press?.(toImage(event), { erase: erases(event), reach: 8 / scale() });
});

/** @param {PointerEvent} event */
const isPalm = ({ pointerType }) => pen !== null && pointerType === "touch";

/** The hand often touches the glass before its pen does: that was no stroke. @param {number} id */
function takePen(id) {
  if (action === "draw") cancelPress();
  fingers.clear();
  pen = id;
  penKnown = true;
}

/** @param {PointerEvent} event */
const erases = ({ altKey, button }) => altKey || button === RIGHT || button === PEN_ERASER;

/** @param {PointerEvent} event @returns {Action} */
function chooseAction(event) {
  if (nearDivider(onScreen(event))) return "swipe";
  if (event.button === 1 || held.space) return "pan";
  if (![0, RIGHT, PEN_ERASER].includes(event.button)) return null;
  if (toolInHand().press && !(penKnown && event.pointerType === "touch")) return "draw";
  return event.button === RIGHT ? null : "pan";
}

canvas.addEventListener("pointermove", (event) => {
  if (isPalm(event)) return;
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
    if (!fingers.delete(event.pointerId)) return; // a palm's
    if (event.pointerId === pen) pen = null;
    if (action === "draw" && name === "pointerup") toolInHand().lift?.();
    else if (action === "draw") cancelPress();
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
