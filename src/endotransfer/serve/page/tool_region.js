// Region: super-pixels of a size to choose, one by a click, many by dragging over them.
/** @import { OpenImage, Point, Tool } from "./types.d.ts" */
import { make, onValue } from "./dom.js";
import { beginChange, changed, endChange } from "./drafts.js";
import { loadRegions } from "./image.js";
import { attempt } from "./messages.js";
import { regionLine } from "./overlay.js";
import { mostly, paintRegion } from "./shapes.js";
import { emit, state } from "./state.js";

/** @typedef {{ value: number, erase: boolean, passed: Set<number> }} Stroke */
/** @type {Stroke | null} */
let stroke = null;
const size = make("select", { id: "region-size" }, new Option("small"), new Option("medium", "medium", true, true), new Option("large"));
const controls = make("label", { className: "line", id: "region-field" }, "Regions ", size);

/** @param {OpenImage} image @param {Point} at @param {Stroke} current */
async function pass(image, at, current) {
  const [x, y] = [Math.round(at.x), Math.round(at.y)];
  if (x < 0 || y < 0 || x >= image.width || y >= image.height) return;
  const regions = await attempt(() => loadRegions(image));
  if (!regions || state.image !== image || !image.draft) return;
  const region = regions[y * image.width + x];
  if (current.passed.has(region)) return;
  // The first region decides: one that is painted already is cleared, and so are those that follow.
  if (!current.passed.size && !current.erase && mostly(image.draft, regions, region, state.paint)) current.value = 0;
  current.passed.add(region);
  paintRegion(image.draft, regions, region, current.value);
  changed();
}

// Fetched before it is needed, so that the pointer can show one.
function take() {
  const image = state.image;
  if (image) attempt(() => loadRegions(image)).then(() => emit("look"));
}

/** @param {Point} at */
const drag = (at) => { if (stroke && state.image) pass(state.image, at, stroke); };

/** @type {Tool} */
export const region = {
  name: "region", label: "Region", key: "p", title: "Paint super-pixels", taps: true,
  controls, take, drag,
  press(at, { erase }) {
    if (!beginChange()) return;
    stroke = { value: erase ? 0 : state.paint, erase, passed: new Set() };
    drag(at);
  },
  lift: () => { stroke = null; endChange(); },
  cancel: () => { stroke = null; },
  paint(context, view, pointer) {
    const image = state.image;
    const line = image && pointer.inside ? regionLine(image, pointer, view.scale) : null;
    if (line) context.drawImage(line, view.x, view.y, line.width * view.scale, line.height * view.scale);
  },
};

onValue(size, "change", ({ value }) => { state.regionSize = value; take(); });
