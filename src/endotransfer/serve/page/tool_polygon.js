// Polygon: corner by corner; near its first corner, with Enter or a double click it closes.  It erases if its first corner
// was set by the right button.
/** @import { Tool } from "./types.d.ts" */
import { beginChange, endChange } from "./drafts.js";
import { dropPath, fillPath, paintPath } from "./outline.js";
import { emit, state } from "./state.js";

let erases = false; // its first corner was set to

function close() {
  if (state.path.length > 2 && beginChange()) {
    fillPath(erases ? 0 : state.paint);
    endChange();
  }
  dropPath();
}

/** @type {Tool} */
export const polygon = {
  name: "polygon", label: "Polygon", key: "g", title: "Corner by corner; Enter closes, Esc forgets", taps: true,
  press(at, { erase, reach }) {
    const [first] = state.path;
    if (!first) erases = erase;
    if (state.path.length > 2 && Math.hypot(first.x - at.x, first.y - at.y) <= reach) return close();
    state.path.push(at);
    return emit("look");
  },
  cancel: () => { state.path.pop(); },
  finish: close,
  forget: dropPath,
  busy: () => state.path.length > 0,
  paint(context, view, pointer) {
    if (!state.path.length) return;
    paintPath(context, view, pointer.inside ? [...state.path, pointer] : state.path, false);
    for (const point of state.path) {
      context.fillStyle = point === state.path[0] ? "#ffd34d" : "#fff";
      context.fillRect(view.x + (point.x + 0.5) * view.scale - 3, view.y + (point.y + 0.5) * view.scale - 3, 6, 6);
    }
  },
};
