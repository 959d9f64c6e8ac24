// "Label 30 images, chosen at random": the draw, how far one is, and the IoU with its interval.
/** @import { Estimate, Plan, Readers, Reading, Row } from "./types.d.ts" */
import { getJson, postJson } from "./api.js";
import { details, element, input, make, onClick, select } from "./dom.js";
import { visibleRows } from "./filters.js";
import { show } from "./list.js";
import { attempt, tell } from "./messages.js";
import { reviewerName } from "./reviewer.js";
import { emit, on, state } from "./state.js";

const choice = /** @type {HTMLOptionElement} */ (select("filter").querySelector("[value=sample]"));

export async function loadSample() {
  if (!state.about.folder) {
    element("sample").hidden = true;
    choice.disabled = true;
    return;
  }
  try {
    take((await getJson("/api/sample")).plan);
  } catch (error) { // a draw that cannot be read: nothing may be drawn over it
    take(null);
    element("draw-row").hidden = true;
    details("sample").open = true;
    element("sample-fault").textContent = error instanceof Error ? error.message : String(error);
    tell(element("sample-fault").textContent);
  }
}

/** @param {Plan | null} plan */
function take(plan) {
  state.plan = plan ? new Set(plan.ids) : null;
  choice.disabled = !plan;
  element("draw-row").hidden = Boolean(plan);
  element("drawn").hidden = !plan;
  if (plan) attempt(showEstimate); // the models may still have to see its images: nobody waits for that
}

async function showEstimate() {
  const found = /** @type {Estimate} */ (await getJson("/api/sample/estimate"));
  Object.assign(element("sample-progress", HTMLProgressElement), { max: found.planned, value: found.reviewed });
  const done = `${found.reviewed} of ${found.planned} drawn images labelled, ${found.blind} of them blind.`;
  element("sample-note").textContent = [done, ...remarks(found)].join(" ");
  element("estimate").replaceChildren(...estimate(found));
  element("readers").textContent = readers(found.readers);
}

/** @param {Estimate} found */
function remarks({ rejected, accepted_unchanged: accepted, corrected_seen: corrected }) {
  const found = [];
  if (accepted) found.push(`${accepted} accepted unchanged: agreement, not accuracy.`);
  if (corrected) found.push(`${corrected} corrected in sight of the model's mask: not counted.`);
  if (rejected) found.push(`${rejected} rejected: they need a drawing to count.`);
  return found;
}

/** @param {[number, number] | null | undefined} ends */
const interval = (ends) => (ends ? ` (95\u00a0%: ${ends[0].toFixed(1)} to ${ends[1].toFixed(1)})` : "");

/** @param {Estimate} found @returns {(string | HTMLElement)[]} */
function estimate({ figures, intervals, blind, planned }) {
  if (!figures) return ["No IoU yet: it takes images that were drawn blind."];
  const known = state.about.classes.length === 2 ? "iou_lesion" : "miou";
  const value = figures[known];
  if (value === null || value === undefined) return ["No lesion in any of them so far."];
  const line = make("strong", { textContent: `${known === "miou" ? "mIoU" : "IoU of the lesion"} ${value.toFixed(1)} %` });
  const between = interval(intervals?.[known]) || " (one patient: no interval)";
  return [line, blind > 1 ? between : "", ` over ${blind} blind`, blind < planned ? ", so far" : ""];
}

/** @param {Readers} found */
function readers({ images, adjudicated, iou, interval: ends }) {
  if (!images) return "";
  const value = iou === null ? "no lesion in either" : `IoU ${iou.toFixed(1)} %${images > 1 ? interval(ends) : ""}`;
  return `Two readers on ${images}: ${value}; ${adjudicated} settled.`;
}

onClick("draw", () => attempt(async () => {
  const { plan } = await postJson("/api/sample", { count: Number(input("count").value) || 30 });
  take(plan);
  await showDrawn();
}));

async function showDrawn() {
  state.filter = "sample";
  select("filter").value = "sample";
  emit("rows");
  const mine = reviewerName();
  /** @type {Record<Reading, (row: Row) => boolean>} */
  const open = {
    first: (row) => !row.review,
    second: (row) => !row.second.some(({ who }) => who === mine),
    adjudicate: (row) => row.second.length > 0 && !row.review?.adjudicated,
  };
  const [first] = visibleRows().filter(open[state.reading]);
  if (first) await show(first);
}

onClick("sample-show", () => attempt(showDrawn));
on("reviewed", () => { if (state.plan) attempt(showEstimate); });
