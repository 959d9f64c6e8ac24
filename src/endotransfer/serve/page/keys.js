// One key for everything one does often.  While one types, and in dialogs, keys are letters.
import { reveal } from "./blind.js";
import { redoDecision, undoDecision } from "./decisions.js";
import { closePolygon, dropPath, redo, undo } from "./drawing.js";
import { step } from "./list.js";
import { nextStyle, setThreshold, toggleClass, toggleCompare, toggleMasks } from "./panel.js";
import { holdSpace } from "./pointing.js";
import { accept, reject, saveCorrection, saveEmpty } from "./review.js";
import { fit, pan, zoom, zoomToLesion } from "./stage.js";
import { element, state } from "./state.js";
import { setBrush, setTool } from "./tools.js";

const ACTIONS = {
  ArrowLeft: () => step(-1), ArrowRight: () => step(1),
  "[": () => setThreshold(state.threshold - 0.02), "]": () => setThreshold(state.threshold + 0.02),
  h: toggleMasks, t: nextStyle, c: toggleCompare,
  "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit,
  a: accept, r: reject, s: saveCorrection, n: saveEmpty, m: reveal, z: undo, y: redo, u: undoDecision, f: zoomToLesion,
  v: () => setTool("move"), b: () => setTool("brush"), e: () => setTool("eraser"), p: () => setTool("region"),
  l: () => setTool("lasso"), g: () => setTool("polygon"), Enter: closePolygon, Escape: dropPath,
  "/": () => element("search").focus(),
  ",": () => setBrush(state.brush * 0.8 - 0.5), ".": () => setBrush(state.brush * 1.25 + 0.5),
  "?": () => element("help").showModal(),
};
const SHIFTED = { z: redo, u: redoDecision };
const PAN = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };

// Text fields and menus use every key themselves, sliders and radio buttons the arrows.
function typing(event) {
  const inside = event.target.closest?.("input, select, textarea, dialog");
  if (!inside || inside.type === "checkbox") return false;
  return ["range", "radio"].includes(inside.type) ? event.key.startsWith("Arrow") : true;
}

addEventListener("keydown", (event) => {
  if (typing(event) || event.altKey || element("images").hidden) return;
  if (event.ctrlKey || event.metaKey) {
    const action = { z: event.shiftKey ? redo : undo, y: redo }[event.key.toLowerCase()];
    if (action) { event.preventDefault(); action(); }
    return;
  }
  if (event.key === " " && event.target.closest?.("button, summary, a, input") === null) { event.preventDefault(); holdSpace(true); return; }
  if (["Enter", "Escape"].includes(event.key) && !state.path.length) return;
  if (event.shiftKey && SHIFTED[event.key.toLowerCase()]) { event.preventDefault(); SHIFTED[event.key.toLowerCase()](); return; }
  if (event.shiftKey && PAN[event.key]) { event.preventDefault(); pan(...PAN[event.key]); return; }
  if (event.target.closest?.("[role=tab]") && event.key.startsWith("Arrow")) return;
  const action = /^[1-9]$/.test(event.key) ? () => toggleClass(Number(event.key)) : ACTIONS[event.key] ?? ACTIONS[event.key.toLowerCase()];
  if (!action) return;
  event.preventDefault();
  action();
});

addEventListener("keyup", (event) => { if (event.key === " ") holdSpace(false); });

element("zoom-in").addEventListener("click", () => zoom(1.25));
element("zoom-out").addEventListener("click", () => zoom(0.8));
element("zoom-fit").addEventListener("click", fit);
element("zoom-lesion").addEventListener("click", zoomToLesion);
element("help-open").addEventListener("click", () => element("help").showModal());
