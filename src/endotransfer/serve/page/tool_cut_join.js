// Split and Merge: a line across a lesion cuts it in two, a line from one lesion to another joins them.  The line is
// dragged, or goes from one point to the next.
/** @import { Mask, Point, Tool } from "./types.d.ts" */
import { cut, join } from "./cut_and_join.js";
import { replaceDraft } from "./drafts.js";
import { dropPath, paintPath } from "./outline.js";
import { say, tell } from "./messages.js";
import { emit, state } from "./state.js";

let reach = 0;
let waits = false; // its first point was set, its second is not yet

/** @typedef {(labels: Mask, width: number, height: number, points: Point[]) => Mask | null} Change */
/** @param {Change} change @param {string} done @param {string} refusal @returns {Omit<Tool, "name" | "label" | "key" | "title">} */
const lineTool = (change, done, refusal) => ({
  taps: true,
  press(at, how) {
    reach = how.reach;
    if (!waits) state.path = [];
    state.path.push(at);
    emit("look");
  },
  drag(at) {
    state.path.push(at);
    emit("look");
  },
  lift() {
    const points = state.path;
    waits = !waits && !isDragged(points);
    if (waits) { say("First point"); return; }
    dropPath();
    if (replaceDraft((draft, { width, height }) => change(draft, width, height, points))) say(done);
    else tell(refusal);
  },
  cancel: forget,
  forget,
  busy: () => waits,
  take: () => { waits = false; },
  paint(context, view, pointer) {
    if (state.path.length) paintPath(context, view, waits && pointer.inside ? [...state.path, pointer] : state.path, false);
  },
});

/** A hand that trembles drags nothing. @param {Point[]} points */
const isDragged = ([first, ...more]) => more.some(({ x, y }) => Math.hypot(x - first.x, y - first.y) > reach);

function forget() {
  waits = false;
  dropPath();
}

/** @type {Tool} */
export const split = {
  ...lineTool(cut, "Lesion split", "No lesion comes apart along this line: begin and end it beside the lesion, right across it."),
  name: "split", label: "Split", key: "w", title: "Draw a line across a lesion: it becomes two",
};

/** @type {Tool} */
export const merge = {
  ...lineTool(join, "Lesions merged", "There are no two lesions on this line: draw it from one to the other."),
  name: "merge", label: "Merge", key: "q", title: "Draw a line from one lesion to another: they become one",
};
