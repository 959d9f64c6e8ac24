// The canvas: picture, masks, swipe; zoom and pan by wheel, fingers and keys.
/** @import { OpenImage, Point, Pointer, View } from "./types.d.ts" */
import { isBlind } from "./blind.js";
import { context2d, element } from "./dom.js";
import { labelsOf, sides } from "./image.js";
import { IGNORE, parts } from "./masks.js";
import { tell } from "./messages.js";
import { overlay, truthLine } from "./overlay.js";
import { emit, on, state } from "./state.js";
import { toolInHand } from "./tools.js";

const MARGIN = 24; // pixels of the screen around what is looked at
const canvas = element("canvas", HTMLCanvasElement);
const viewport = element("viewport");
/** @type {View & { fitted: boolean }} */
export const view = { scale: 1, x: 0, y: 0, fitted: true };
let asked = false;
let zoomed = 0; // how often this image's lesions were looked for
let shown = ""; // the size of the frame of a video before
const room = { width: 0, height: 0 }; // of the viewport
/** In image pixels. @type {Pointer} */
export const pointer = { x: -1, y: -1, inside: false };

export function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; draw(); });
}

export function fit() {
  zoomed = 0;
  if (state.image) showWhole(state.image);
}

/** @param {OpenImage} image */
function whole(image) {
  return Math.min(viewport.clientWidth / image.width, viewport.clientHeight / image.height);
}

/** @param {OpenImage} image */
function showWhole(image) {
  const { clientWidth: width, clientHeight: height } = viewport;
  view.scale = whole(image);
  view.x = (width - image.width * view.scale) / 2;
  view.y = (height - image.height * view.scale) / 2;
  view.fitted = true;
  redraw();
}

// The lesion of the left side, with some room around it; each time the next one, the largest first.  Of a lesion that
// fills the view the whole image is shown: it would else become smaller, and move aside.
export function zoomToLesion() {
  const image = state.image;
  if (!image) return;
  const labels = labelsOf(image, state.left);
  const found = labels ? parts(labels, image.width).filter(({ size }, _, [largest]) => size >= largest.size / 50) : [];
  const box = found[zoomed % found.length];
  zoomed += 1;
  if (!box) { tell("Nothing is marked on the left side."); return; }
  const { clientWidth: width, clientHeight: height } = viewport;
  const [across, down] = [box.right - box.left + 1, box.bottom - box.top + 1];
  const scale = Math.min(64, 0.7 * Math.min(width / across, height / down));
  if (scale <= whole(image)) { showWhole(image); return; }
  view.scale = scale;
  view.x = width / 2 - (box.left + across / 2) * view.scale;
  view.y = height / 2 - (box.top + down / 2) * view.scale;
  view.fitted = false;
  redraw();
}

export const scale = () => view.scale;

/** @param {number} factor @param {Point} [at] on the screen */
export function zoom(factor, at = { x: viewport.clientWidth / 2, y: viewport.clientHeight / 2 }) {
  const least = state.image ? 0.5 * whole(state.image) : 0;
  const scale = Math.min(64, Math.max(least, view.scale * factor));
  view.x = at.x - (at.x - view.x) * (scale / view.scale);
  view.y = at.y - (at.y - view.y) * (scale / view.scale);
  view.scale = scale;
  view.fitted = false;
  redraw();
}

/** @param {number} dx @param {number} dy */
export function pan(dx, dy) {
  view.x += dx;
  view.y += dy;
  view.fitted = false;
  redraw();
}

/** @param {{ clientX: number, clientY: number }} event @returns {Point} */
export function toImage(event) {
  const box = canvas.getBoundingClientRect();
  return { x: (event.clientX - box.left - view.x) / view.scale - 0.5, y: (event.clientY - box.top - view.y) / view.scale - 0.5 };
}

/** @param {{ clientX: number, clientY: number }} event @returns {Point} */
export const onScreen = (event) => {
  const box = canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
};

/** What lies in the middle, in pixels of the image. @returns {Point} */
export const middle = () => ({
  x: (viewport.clientWidth / 2 - view.x) / view.scale - 0.5, y: (viewport.clientHeight / 2 - view.y) / view.scale - 0.5,
});

/** Moves the image as little as shows a place of it. @param {Point} at */
export function bringInView({ x, y }) {
  /** @param {number} place @param {number} length */
  const off = (place, length) => Math.max(0, MARGIN - place) - Math.max(0, place - length + MARGIN);
  const [across, down] = [off(view.x + (x + 0.5) * view.scale, viewport.clientWidth), off(view.y + (y + 0.5) * view.scale, viewport.clientHeight)];
  if (!view.fitted && (across || down)) pan(across, down);
}

export const swipeAt = () => (state.right ? state.swipe * viewport.clientWidth : null);

function draw() {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = viewport;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = context2d(canvas);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  const image = state.image;
  if (!image) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.filter = `brightness(${state.brightness}) contrast(${state.contrast})`;
  lay(context, image, image.picture);
  context.filter = "none";
  if (!state.masksOff) drawSides(context, image, width, height);
  if (state.truthOutline && image.truth && !state.masksOff && !isBlind(image)) lay(context, image, truthLine(image, image.truth, view.scale));
  const at = swipeAt();
  if (at !== null) drawDivider(context, at, height);
  toolInHand().paint?.(context, view, pointer);
  emit("drawn");
}

/** @param {CanvasRenderingContext2D} context @param {OpenImage} image @param {CanvasImageSource} layer */
function lay(context, image, layer) {
  context.imageSmoothingEnabled = view.scale < 3;
  context.drawImage(layer, view.x, view.y, image.width * view.scale, image.height * view.scale);
}

/** @param {CanvasRenderingContext2D} context @param {OpenImage} image @param {number} width @param {number} height */
function drawSides(context, image, width, height) {
  const at = swipeAt() ?? width;
  for (const [side, from, to] of /** @type {[string, number, number][]} */ ([[state.left, 0, at], [state.right, at, width]])) {
    if (!side || to <= from || !labelsOf(image, side)) continue;
    context.save();
    context.beginPath();
    context.rect(from, 0, to - from, height);
    context.clip();
    lay(context, image, overlay(image, side, view.scale));
    context.restore();
  }
}

/** @param {CanvasRenderingContext2D} context @param {number} at @param {number} height */
function drawDivider(context, at, height) {
  context.fillStyle = "rgba(0, 0, 0, .55)";
  context.fillRect(at - 1.5, 0, 3, height);
  context.fillStyle = "#fff";
  context.fillRect(at - 0.75, 0, 1.5, height);
  context.beginPath();
  context.arc(at, height / 2, 13, 0, 2 * Math.PI);
  context.fill();
  context.fillStyle = "#1d2127";
  context.font = "600 13px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText("‹ ›", at, height / 2);
}

// What lies under the pointer, in words.
function read() {
  const image = state.image;
  const x = Math.round(pointer.x);
  const y = Math.round(pointer.y);
  if (!image || !pointer.inside || x < 0 || y < 0 || x >= image.width || y >= image.height) {
    element("reading").textContent = image ? `${image.size[1]} × ${image.size[0]}, ${Math.round(view.scale * 100)} %` : "";
    return;
  }
  const place = y * image.width + x;
  if (isBlind(image)) {
    element("reading").textContent = `${x}, ${y}`;
    return;
  }
  const probability = ((image.maps[0].code[place] + 0.5) / 256).toFixed(2);
  const label = image.truth ? image.truth[place] : null;
  const truth = label === null ? "" : ` · truth ${label === IGNORE ? "unlabelled" : state.about.classes[label]}`;
  element("reading").textContent = `${x}, ${y} · ${state.about.classes[image.maps[0].best[place]]} ${probability}${truth}`;
}

function nameSides() {
  const names = new Map(sides(state.image));
  const [left, right] = [element("side-left"), element("side-right")];
  left.textContent = names.get(state.left) ?? "";
  right.textContent = names.get(state.right) ?? "";
  left.hidden = !state.image || !state.right;
  right.hidden = !state.image || !state.right;
  element("swipe-field").hidden = !state.right;
}

/** What was in the middle stays there. */
function keepMiddle() {
  const { clientWidth: width, clientHeight: height } = viewport;
  if (view.fitted) fit();
  else pan((width - room.width) / 2, (height - room.height) / 2);
  Object.assign(room, { width, height });
}

new ResizeObserver(keepMiddle).observe(viewport);
on("image", () => {
  zoomed = 0;
  const size = `${state.image?.width} ${state.image?.height}`;
  if (!state.desk || size !== shown) fit(); // from frame to frame one looks at the same place
  else redraw();
  shown = state.desk ? size : "";
  nameSides();
});
on("look", () => { nameSides(); redraw(); });
on("sides", nameSides);
on("drawn", read);
on("pointer", read);
