// The tools of the page.  A new one is a module of its own (see Tool in types.d.ts) and a line here; its button, its
// key, its line in the help and its controls follow from it.
/** @import { Tool } from "./types.d.ts" */
import { inSample } from "./blind.js";
import { button, element, make, onValue, select, tick } from "./dom.js";
import { canRedo, canUndo, cancelChange } from "./drafts.js";
import { emit, on, state } from "./state.js";
import { brush, eraser } from "./tool_brush.js";
import { click } from "./tool_click.js";
import { merge, split } from "./tool_cut_join.js";
import { lasso } from "./tool_lasso.js";
import { polygon } from "./tool_polygon.js";
import { region } from "./tool_region.js";

/** @type {Tool} */
const move = { name: "move", label: "Move", key: "v", title: "Move the image" };

/** @type {Tool[]} */
export const TOOLS = [
  move,
  click,
  brush,
  eraser,
  lasso,
  polygon,
  region,
  split,
  merge,
];

export const toolInHand = () => TOOLS.find(({ name }) => name === state.tool) ?? move;

// What is under way was no press.
export function cancelPress() {
  toolInHand().cancel?.();
  cancelChange();
}

/** @param {string} name */
export function setTool(name) {
  state.tool = name;
  state.path = [];
  tick("tool", name);
  for (const { controls } of TOOLS) if (controls) controls.hidden = controls !== toolInHand().controls;
  toolInHand().take?.();
  showDrawing();
  emit("look");
}

/** @param {Tool} tool */
function buttonOf({ name, label, title, key }) {
  const radio = make("input", { type: "radio", name: "tool", value: name, checked: name === "move" });
  radio.addEventListener("change", () => setTool(name));
  return make("label", { title: `${title} (${key.toUpperCase()})` }, radio, make("span", { textContent: label }));
}

/** @param {Tool} tool */
const helpOf = ({ key, label, title }) =>
  make("div", {}, make("dt", {}, make("kbd", { textContent: key.toUpperCase() }), ` ${label}`), make("dd", { textContent: title }));

function showDrawing() {
  const image = state.image;
  element("drawing").hidden = state.tool === "move" && !image?.draft;
  button("save").disabled = !image?.draft || image.uploaded || !state.about.folder;
  button("undo").disabled = !canUndo();
  button("redo").disabled = !canRedo();
  button("discard").disabled = !image?.draft;
  element("canvas").dataset.tool = state.tool;
}

element("tools").append(...TOOLS.map(buttonOf));
element("tool-keys").append(...TOOLS.map(helpOf));
for (const { controls } of TOOLS) {
  if (!controls) continue;
  controls.hidden = true;
  element("tool-controls").append(controls);
}
onValue(select("paint"), "change", ({ value }) => { state.paint = Number(value); });
on("image", () => {
  const follows = toolInHand().stays || inSample(state.image) || state.desk; // these are drawn one after the other
  if (state.tool !== "move" && !follows) setTool("move");
  else toolInHand().take?.();
});
on(["image", "drawing"], showDrawing);
