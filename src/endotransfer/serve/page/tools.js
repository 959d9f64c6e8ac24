// Which tool is in hand, how large it is, and the controls that go with it.
import { inSample } from "./blind.js";
import { canRedo, canUndo } from "./drawing.js";
import { loadRegions } from "./image.js";
import { attempt, element, emit, on, state } from "./state.js";

function showDrawing() {
  const image = state.image;
  element("drawing").hidden = state.tool === "move" && !image?.draft;
  element("brush-field").hidden = !["brush", "eraser"].includes(state.tool);
  element("region-field").hidden = state.tool !== "region";
  element("save").disabled = !image?.draft || image.uploaded || !state.about.folder;
  element("undo").disabled = !canUndo();
  element("redo").disabled = !canRedo();
  element("discard").disabled = !image?.draft;
  element("canvas").dataset.tool = state.tool;
}

export function setTool(tool) {
  state.tool = tool;
  state.path = [];
  document.querySelector(`input[name=tool][value=${tool}]`).checked = true;
  if (tool === "region" && state.image) attempt(() => loadRegions(state.image)); // so that the pointer can show one
  showDrawing();
  emit("look");
}

export function setBrush(size) {
  state.brush = Math.min(100, Math.max(1, Math.round(size)));
  element("brush").value = state.brush;
  emit("look");
}

element("tools").addEventListener("change", (event) => setTool(event.target.value));
element("paint").addEventListener("change", (event) => { state.paint = Number(event.target.value); });
element("brush").addEventListener("input", (event) => setBrush(Number(event.target.value)));
element("region-size").addEventListener("change", (event) => { state.regionSize = event.target.value; setTool("region"); });
on("image", () => {
  if (state.tool !== "move" && !inSample(state.image)) setTool("move"); // a sample is drawn image after image
  else if (state.tool === "region") setTool("region");
  setBrush(Math.max(2, Math.min(state.image.width, state.image.height) / 25));
});
on("image drawing", showDrawing);
