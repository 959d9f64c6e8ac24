// One key for everything one does often.  While one types, and in dialogs, keys are letters.
import { reveal } from "./blind.js";
import { cursorKey, endPress, hideCursor, isCursorShown } from "./cursor.js";
import { redoDecision, undoDecision } from "./decisions.js";
import { dialog, element, input, onClick } from "./dom.js";
import { redo, undo } from "./drafts.js";
import { inGrid, toggleGrid } from "./grid.js";
import { step } from "./list.js";
import { nextStyle, setThreshold, toggleClass, toggleCompare, toggleMasks } from "./panel.js";
import { holdSpace } from "./pointing.js";
import { accept, reject, saveCorrection, saveEmpty } from "./review.js";
import { fit, pan, zoom, zoomToLesion } from "./stage.js";
import { state } from "./state.js";
import { setBrush } from "./tool_brush.js";
import { TOOLS, setTool, toolInHand } from "./tools.js";

/** @typedef {Record<string, () => unknown>} Actions */

function help() {
  dialog("help").showModal();
  dialog("help").scrollTop = 0; // the button that has the focus is at its end
}

/** @type {Actions} */
const ACTIONS = {
  ArrowLeft: () => step(-1), ArrowRight: () => step(1),
  "[": () => setThreshold(state.threshold - 0.02), "]": () => setThreshold(state.threshold + 0.02),
  h: toggleMasks, t: nextStyle, c: toggleCompare,
  "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit,
  a: accept, r: reject, s: saveCorrection, n: saveEmpty, m: reveal, z: undo, y: redo, u: undoDecision, f: zoomToLesion,
  "/": () => input("search").focus(),
  ",": () => setBrush(state.brush * 0.8 - 0.5), ".": () => setBrush(state.brush * 1.25 + 0.5),
  "?": help, d: toggleGrid,
};
for (const { key, name } of TOOLS) {
  if (key in ACTIONS) throw new Error(`The key ${key} of the tool ${name} has another use.`);
  ACTIONS[key] = () => setTool(name);
}
for (const digit of "123456789") ACTIONS[digit] = () => toggleClass(Number(digit));
/** @type {Actions} */
const SHIFTED = {
  z: redo, u: redoDecision,
  arrowleft: () => pan(40, 0), arrowright: () => pan(-40, 0), arrowup: () => pan(0, 40), arrowdown: () => pan(0, -40),
};
/** @type {Actions} */
const WITH_CONTROL = { z: undo, y: redo };
const OF_THE_GRID = new Set(["ArrowLeft", "ArrowRight", "/", "?", "d", "D"]); // the open image is not to be seen
/** Of a tool that is in the middle of something. @type {Actions} */
const IN_HAND = { Enter: () => toolInHand().finish?.(), Escape: () => toolInHand().forget?.() };

/** @param {KeyboardEvent} event @param {string} selector */
const within = (event, selector) => (event.target instanceof Element ? event.target.closest(selector) : null);

/** Whether a button takes the key as its own click. @param {KeyboardEvent} event */
const onButton = (event) => event.key === "Enter" && within(event, "button, summary, a");

/**
 * Text fields and menus use every key themselves, sliders and radio buttons the arrows.
 * @param {KeyboardEvent} event
 */
export function typing(event) {
  const inside = within(event, "input, select, textarea, dialog[open]"); // one that closes may still have the focus
  const type = inside instanceof HTMLInputElement ? inside.type : "";
  if (!inside || type === "checkbox") return false;
  return ["range", "radio"].includes(type) ? event.key.startsWith("Arrow") : true;
}

/** What a key does now, if anything. @param {KeyboardEvent} event @returns {(() => unknown) | undefined} */
function actionOf(event) {
  const { ctrlKey, key, metaKey, shiftKey } = event;
  const others = ctrlKey || metaKey || inGrid() || onButton(event);
  const own = others ? undefined : cursorKey(key.toLowerCase(), shiftKey);
  if (own) return own;
  const action = usualAction(event);
  return action && (() => { endPress(); action(); });
}

/** The same without the keyboard's cursor. @param {KeyboardEvent} event @returns {(() => unknown) | undefined} */
function usualAction(event) {
  const { key, shiftKey } = event;
  const small = key.toLowerCase();
  if (event.ctrlKey || event.metaKey) return shiftKey && small === "z" ? redo : WITH_CONTROL[small];
  if (inGrid()) return key === "Escape" ? toggleGrid : OF_THE_GRID.has(key) ? ACTIONS[small] ?? ACTIONS[key] : undefined;
  if (key === " ") return within(event, "button, summary, a, input") ? undefined : () => holdSpace(true);
  if (key in IN_HAND && toolInHand().busy?.() && !onButton(event)) return IN_HAND[key];
  if (key === "Escape" && isCursorShown()) return hideCursor;
  if (shiftKey && SHIFTED[small]) return SHIFTED[small];
  if (within(event, "[role=tab]") && key.startsWith("Arrow")) return undefined;
  return ACTIONS[key] ?? ACTIONS[small];
}

/** Whether the image, wherever it is at home now, or the grid in its place is to be seen. */
const inView = () => Boolean(element("viewport").offsetParent) || (inGrid() && !element("images").hidden);

addEventListener("keydown", (event) => {
  if (typing(event) || event.altKey || !inView()) return;
  const action = actionOf(event);
  if (!action) return;
  event.preventDefault();
  action();
});
addEventListener("keyup", (event) => { if (event.key === " ") holdSpace(false); });

onClick("zoom-in", () => zoom(1.25));
onClick("zoom-out", () => zoom(0.8));
onClick("zoom-fit", fit);
onClick("zoom-lesion", zoomToLesion);
onClick("help-open", help);
