// Mouse, pen and fingers on the canvas: move, pinch, swipe, draw.
import { draftPoint, endStroke } from "./drawing.js";
import { fit, onScreen, pan, pointer, redraw, swipeAt, toImage, zoom } from "./stage.js";
import { element, emit, state } from "./state.js";

const canvas = element("canvas");
const fingers = new Map();
let action = null; // "pan", "pinch", "swipe" or "draw"

canvas.addEventListener("pointerdown", (event) => {
  if (!state.image) return;
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, onScreen(event));
  if (fingers.size === 2) {
    if (action === "draw") endStroke();
    action = "pinch";
    return;
  }
  const at = swipeAt();
  if (at !== null && Math.abs(onScreen(event).x - at) < 14) action = "swipe";
  else if (state.tool === "move" || event.button === 1) action = "pan";
  else {
    action = "draw";
    draftPoint(toImage(event), true);
  }
});

canvas.addEventListener("pointermove", (event) => {
  Object.assign(pointer, toImage(event), { inside: true });
  const before = fingers.get(event.pointerId);
  const now = onScreen(event);
  if (before && action === "pan") pan(now.x - before.x, now.y - before.y);
  else if (before && action === "pinch") pinch(event.pointerId, before, now);
  else if (before && action === "swipe") setSwipe(now.x / canvas.clientWidth);
  else if (before && action === "draw") draftPoint(toImage(event), false);
  else if (state.tool !== "move") redraw();
  if (before) fingers.set(event.pointerId, now);
  canvas.classList.toggle("on-divider", swipeAt() !== null && Math.abs(now.x - swipeAt()) < 14);
  emit("pointer");
});

for (const name of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(name, (event) => {
    fingers.delete(event.pointerId);
    if (action === "draw") endStroke();
    action = null;
  });
}

canvas.addEventListener("pointerleave", () => { pointer.inside = false; redraw(); emit("pointer"); });
canvas.addEventListener("dblclick", () => { if (state.tool === "move") fit(); });
canvas.addEventListener("wheel", (event) => {
  if (!state.image) return;
  event.preventDefault();
  zoom(Math.exp(-Math.max(-80, Math.min(80, event.deltaY)) / 300), onScreen(event));
}, { passive: false });

function pinch(id, before, now) {
  const other = [...fingers].find(([finger]) => finger !== id)?.[1];
  if (!other) return;
  const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
  zoom(Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y)), middle);
  pan((now.x - before.x) / 2, (now.y - before.y) / 2);
}

export function setSwipe(part) {
  state.swipe = Math.min(1, Math.max(0, part));
  element("swipe").value = Math.round(state.swipe * 100);
  redraw();
}

element("swipe").addEventListener("input", (event) => setSwipe(event.target.value / 100));
