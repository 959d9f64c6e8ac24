// What this reviewer decided, image after image, so that it can be undone and redone; kept over reloads.
import { putJson } from "./api.js";
import { forget, rowOf, show } from "./list.js";
import { attempt, element, emit, recall, remember, say, state, tell } from "./state.js";

const MOST = 200;
const place = () => `decisions.${state.about.folder}`;
const read = () => JSON.parse(recall(place(), '{"done": [], "undone": []}'));
const write = (stacks) => remember(place(), JSON.stringify(stacks));

// `from` and `to`: numbers of the decisions in force before and after; null is none.
export function noteDecision(image, from, to) {
  write({ done: [...read().done, { id: image.row.id, from, to }].slice(-MOST), undone: [] });
  showStacks();
}

const travel = (source, target, ends, word) => attempt(async () => {
  const stacks = read();
  const entry = stacks[source].pop();
  const row = entry && rowOf(entry.id);
  if (!entry) { tell(`There is no decision of yours to ${word}.`); return; }
  const [now, wanted] = ends(entry);
  if (!row || (row.review?.number ?? null) !== now) {
    write(stacks);
    tell(`${row?.name ?? "The image"} has another decision by now, which stays; look at its history.`);
  } else {
    const told = await putJson(`/api/images/${row.id}/review/version`, { to: wanted, who: element("who").value.trim() || "unnamed" }, row.revision);
    stacks[target].push(entry);
    write(stacks);
    Object.assign(row, told);
    say(`Decision on ${row.name}: ${word === "undo" ? "undone" : "made again"}`);
  }
  showStacks();
  if (!row) return;
  forget(row.id);
  await show(row);
  emit("rows");
  emit("reviewed");
});

export const undoDecision = () => travel("done", "undone", ({ from, to }) => [to, from], "undo");
export const redoDecision = () => travel("undone", "done", ({ from, to }) => [from, to], "make again");

export function showStacks() {
  const { done, undone } = read();
  element("undo-decision").disabled = !done.length;
  element("redo-decision").disabled = !undone.length;
}

element("undo-decision").addEventListener("click", undoDecision);
element("redo-decision").addEventListener("click", redoDecision);
