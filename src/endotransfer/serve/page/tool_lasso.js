// Lasso: draw around it; what lies within is painted, or with the right button erased.
/** @import { Tool } from "./types.d.ts" */
import { beginChange, endChange } from "./drafts.js";
import { dropPath, fillPath, paintPath } from "./outline.js";
import { emit, state } from "./state.js";

let value = 1;

/** @type {Tool} */
export const lasso = {
  name: "lasso", label: "Lasso", key: "l", title: "Draw around it",
  press(at, { erase }) {
    if (!beginChange()) return;
    value = erase ? 0 : state.paint;
    state.path = [at];
  },
  drag(at) {
    state.path.push(at);
    emit("look");
  },
  lift() {
    fillPath(value);
    endChange();
  },
  cancel: dropPath,
  paint: (context, view) => { if (state.path.length) paintPath(context, view, state.path, true); },
};
