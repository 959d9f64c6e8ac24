// The list as a grid of larger thumbnails with masks, in place of the open image.
import { button, element, onClick } from "./dom.js";
import { showCurrent } from "./strip.js";
import { emit, on } from "./state.js";

const root = element("images");

export const inGrid = () => "grid" in root.dataset;

/** @param {boolean} wanted */
function lay(wanted) {
  if (wanted) root.dataset.grid = "";
  else delete root.dataset.grid;
  button("grid").setAttribute("aria-pressed", String(wanted));
  showCurrent();
  emit("look");
}

export const toggleGrid = () => lay(!inGrid());

onClick("grid", toggleGrid);
// An image that is chosen among them is opened.
element("strip").addEventListener("click", ({ target }) => {
  if (inGrid() && target instanceof Element && target.closest("button")) lay(false);
});
on("image", () => { if (inGrid()) showCurrent(); });
