// What this reviewer decided, image after image, so that it can be undone and redone; kept over reloads.
/** @import { OpenImage } from "./types.d.ts" */
/** @import { Stacks } from "./decision_stacks.js" */
import { putJson } from "./api.js";
import { noted, parseStacks, travelled } from "./decision_stacks.js";
import { button, onClick } from "./dom.js";
import { forget, rowOf, show } from "./list.js";
import { recall, remember } from "./memory.js";
import { attempt, say, tell } from "./messages.js";
import { nameOrNone } from "./reviewer.js";
import { emit, state } from "./state.js";

const place = () => `decisions.${state.about.folder}${state.desk ? `.${state.desk.name}` : ""}`;
const read = () => parseStacks(recall(place(), ""));
/** @param {Stacks} stacks */
const write = (stacks) => remember(place(), JSON.stringify(stacks));

/**
 * `from` and `to`: numbers of the decisions in force before and after; null is none.
 * @param {OpenImage} image @param {number | null} from @param {number | null} to
 */
export const noteDecision = (image, from, to) => noteDecisionOn(image.row.id, from, to);

/** @param {string} id of the image @param {number | null} from @param {number | null} to */
export function noteDecisionOn(id, from, to) {
  write(noted(read(), { id, from, to }));
  showStacks();
}

/** @param {"undo" | "redo"} way */
const travel = (way) => attempt(async () => {
  const trip = travelled(read(), way);
  if (!trip) return tell(`There is no decision of yours to ${way === "undo" ? "undo" : "make again"}.`);
  const row = rowOf(trip.entry.id);
  if (!row || (row.review?.number ?? null) !== trip.expects) {
    write(trip.without);
    tell(`${row?.name ?? "The image"} has another decision by now, which stays; look at its history.`);
  } else {
    Object.assign(row, await putJson(`/api/images/${row.id}/review/version`, { to: trip.wants, who: nameOrNone() }, row.revision));
    write(trip.after);
    say(`Decision on ${row.name}: ${way === "undo" ? "undone" : "made again"}`);
  }
  showStacks();
  if (!row) return undefined;
  forget(row.id);
  await show(row);
  emit("rows");
  emit("reviewed");
  return undefined;
});

export const undoDecision = () => travel("undo");
export const redoDecision = () => travel("redo");

export function showStacks() {
  const { done, undone } = read();
  button("undo-decision").disabled = !done.length;
  button("redo-decision").disabled = !undone.length;
}

onClick("undo-decision", undoDecision);
onClick("redo-decision", redoDecision);
