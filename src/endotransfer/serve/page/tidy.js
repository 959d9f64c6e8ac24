// One-step changes of the whole correction: smooth, fill, grow, shrink.  Each is a button and a pure function.
/** @import { Mask, OpenImage } from "./types.d.ts" */
import { element, make } from "./dom.js";
import { replaceDraft } from "./drafts.js";
import { fillHoles, grow, shrink, smooth } from "./shapes.js";
import { state } from "./state.js";

/** @param {OpenImage} image */
const smoothing = ({ width, height }) => Math.max(1, Math.round(Math.min(width, height) / 100));

/** @type {[id: string, label: string, title: string, change: (draft: Mask, image: OpenImage) => Mask][]} */
const STEPS = [
  ["smooth", "Smooth", "Smooth the edges, remove specks", (draft, image) => smooth(draft, image.width, image.height, state.paint, smoothing(image))],
  ["fill", "Fill", "Fill holes", (draft, { width, height }) => fillHoles(draft, width, height, state.paint)],
  ["grow", "Grow", "Grow by one pixel", (draft, { width, height }) => grow(draft, width, height, state.paint)],
  ["shrink", "Shrink", "Shrink by one pixel", (draft, { width, height }) => shrink(draft, width, height, state.paint)],
];

for (const [id, label, title, change] of STEPS) {
  const step = make("button", { type: "button", id, title, textContent: label });
  step.addEventListener("click", () => replaceDraft(change));
  element("tidy").append(step);
}
