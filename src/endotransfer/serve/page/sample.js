// "Label 30 images, chosen at random": the draw, how far one is, and the IoU with its interval.
import { getJson, postJson } from "./api.js";
import { show, visibleRows } from "./list.js";
import { attempt, element, emit, on, state, tell } from "./state.js";

export async function loadSample() {
  if (!state.about.folder) {
    element("sample").hidden = true;
    element("filter").querySelector("[value=sample]").disabled = true;
    return;
  }
  try {
    take((await getJson("/api/sample")).plan);
  } catch (error) { // a draw that cannot be read: nothing may be drawn over it
    take(null);
    element("draw-row").hidden = true;
    element("sample").open = true;
    element("sample-fault").textContent = error.message;
    tell(error.message);
  }
}

function take(plan) {
  state.plan = plan ? new Set(plan.ids) : null;
  element("filter").querySelector("[value=sample]").disabled = !plan;
  element("draw-row").hidden = Boolean(plan);
  element("drawn").hidden = !plan;
  if (plan) attempt(showEstimate); // the models may still have to see its images: nobody waits for that
}

async function showEstimate() {
  const found = await getJson("/api/sample/estimate");
  element("sample-progress").max = found.planned;
  element("sample-progress").value = found.reviewed;
  element("sample-note").textContent = [`${found.reviewed} of ${found.planned} drawn images labelled, ${found.blind} of them blind.`, ...remarks(found)].join(" ");
  element("estimate").replaceChildren(...estimate(found));
  element("readers").textContent = readers(found.readers);
}

function remarks({ rejected, accepted_unchanged: accepted, corrected_seen: corrected }) {
  const found = [];
  if (accepted) found.push(`${accepted} accepted unchanged: agreement, not accuracy.`);
  if (corrected) found.push(`${corrected} corrected in sight of the model's mask: not counted.`);
  if (rejected) found.push(`${rejected} rejected: they need a drawing to count.`);
  return found;
}

const interval = (ends) => (ends ? ` (95 %: ${ends[0].toFixed(1)} to ${ends[1].toFixed(1)})` : "");

function estimate({ figures, intervals, blind, planned }) {
  if (!figures) return ["No IoU yet: it takes images that were drawn blind."];
  const known = state.about.classes.length === 2 ? "iou_lesion" : "miou";
  const value = figures[known];
  if (value === null) return ["No lesion in any of them so far."];
  const line = document.createElement("strong");
  line.textContent = `${known === "miou" ? "mIoU" : "IoU of the lesion"} ${value.toFixed(1)} %`;
  const between = interval(intervals[known]) || " (one patient: no interval)";
  return [line, blind > 1 ? between : "", ` over ${blind} blind`, blind < planned ? ", so far" : ""];
}

function readers({ images, adjudicated, iou, interval: ends }) {
  if (!images) return "";
  const value = iou === null ? "no lesion in either" : `IoU ${iou.toFixed(1)} %${images > 1 ? interval(ends) : ""}`;
  return `Two readers on ${images}: ${value}; ${adjudicated} settled.`;
}

element("draw").addEventListener("click", () => attempt(async () => {
  const { plan } = await postJson("/api/sample", { count: Number(element("count").value) || 30 });
  take(plan);
  await showDrawn();
}));

async function showDrawn() {
  state.filter = "sample";
  element("filter").value = "sample";
  emit("rows");
  const mine = element("who").value.trim();
  const open = { first: (row) => !row.review, second: (row) => !row.second?.some(({ who }) => who === mine), adjudicate: (row) => row.second?.length && !row.review?.adjudicated };
  const [first] = visibleRows().filter(open[state.reading]);
  if (first) await show(first);
}

element("sample-show").addEventListener("click", () => attempt(showDrawn));
on("reviewed", () => { if (state.plan) attempt(showEstimate); });
