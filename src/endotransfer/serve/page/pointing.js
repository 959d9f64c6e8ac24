// Mouse, pen and fingers on the canvas: move, pinch, swipe, draw.  The right button erases; two fingers never draw.
import { addCorner, beginStroke, cancelStroke, closePolygon, dropPath, endStroke, extendStroke } from "./drawing.js";
import { fit, onScreen, pan, pointer, redraw, scale, swipeAt, toImage, zoom } from "./stage.js";
import { element, emit, state } from "./state.js";
import { setBrush } from "./tools.js";

const RIGHT = 2;
const canvas = element("canvas");
const fingers = new Map();
const held = { space: false };
let action = null; // "pan", "pinch", "swipe" or "draw"; null with fingers left on the glass after a pinch

canvas.addEventListener("pointerdown", (event) => {
  if (!state.image) return;
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, onScreen(event));
  if (fingers.size > 1) {
    if (action === "draw") cancelStroke();
    action = fingers.size === 2 ? "pinch" : null;
    return;
  }
  Object.assign(pointer, toImage(event), { inside: true });
  action = chooseAction(event);
  if (action === "draw") draw(event);
});

function chooseAction(event) {
  const at = swipeAt();
  if (at !== null && Math.abs(onScreen(event).x - at) < 14) return "swipe";
  if (event.button === 1 || held.space) return "pan";
  if (event.button !== 0 && event.button !== RIGHT) return null;
  return state.tool === "move" ? (event.button === RIGHT ? null : "pan") : "draw";
}

function draw(event) {
  const erase = event.button === RIGHT;
  if (state.tool !== "polygon") beginStroke(toImage(event), erase);
  else if (erase) state.path.length ? dropPath() : null;
  else addCorner(toImage(event), 8 / scale());
}

canvas.addEventListener("pointermove", (event) => {
  Object.assign(pointer, toImage(event), { inside: true });
  const before = fingers.get(event.pointerId);
  const now = onScreen(event);
  if (before && action === "pan") pan(now.x - before.x, now.y - before.y);
  else if (before && action === "pinch") pinch(event.pointerId, before, now);
  else if (before && action === "swipe") setSwipe(now.x / canvas.clientWidth);
  else if (before && action === "draw" && state.tool !== "polygon") extendStroke(toImage(event));
  else if (state.tool !== "move") redraw();
  if (before) fingers.set(event.pointerId, now);
  canvas.classList.toggle("on-divider", swipeAt() !== null && Math.abs(now.x - swipeAt()) < 14);
  emit("pointer");
});

for (const name of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(name, (event) => {
    fingers.delete(event.pointerId);
    if (action === "draw" && state.tool !== "polygon") (name === "pointerup" ? endStroke : cancelStroke)();
    action = null; // a finger that stays after a pinch does nothing until it is lifted
  });
}

canvas.addEventListener("contextmenu", (event) => event.preventDefault());
canvas.addEventListener("pointerleave", () => { pointer.inside = false; redraw(); emit("pointer"); });
canvas.addEventListener("dblclick", () => { if (state.tool === "move") fit(); else if (state.tool === "polygon") closePolygon(); });
canvas.addEventListener("wheel", (event) => {
  if (!state.image) return;
  event.preventDefault();
  const by = Math.max(-80, Math.min(80, event.deltaY || event.deltaX));
  if (event.altKey) setBrush(state.brush * Math.exp(-by / 300) - Math.sign(by) * 0.5);
  else zoom(Math.exp(-by / 300), onScreen(event));
}, { passive: false });

function pinch(id, before, now) {
  const other = [...fingers].find(([finger]) => finger !== id)?.[1];
  if (!other) return;
  const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
  zoom(Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y)), middle);
  pan((now.x - before.x) / 2, (now.y - before.y) / 2);
}

// While the space bar is down, dragging moves the image, whatever the tool.
export function holdSpace(down) {
  held.space = down;
  canvas.classList.toggle("panning", down);
}

export function setSwipe(part) {
  state.swipe = Math.min(1, Math.max(0, part));
  element("swipe").value = Math.round(state.swipe * 100);
  redraw();
}

element("swipe").addEventListener("input", (event) => setSwipe(event.target.value / 100));
addEventListener("blur", () => holdSpace(false));
