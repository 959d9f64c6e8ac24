// "Label 30 images, chosen at random": the draw, how far one is, and the IoU with its interval.
import { getJson, postJson } from "./api.js";
import { show, visibleRows } from "./list.js";
import { attempt, element, emit, on, state } from "./state.js";

export async function loadSample() {
  if (!state.about.folder) {
    element("sample").hidden = true;
    element("filter").querySelector("[value=sample]").disabled = true;
    return;
  }
  const { plan } = await getJson("/api/sample");
  await take(plan);
}

async function take(plan) {
  state.plan = plan ? new Set(plan.ids) : null;
  element("filter").querySelector("[value=sample]").disabled = !plan;
  element("draw-row").hidden = Boolean(plan);
  element("drawn").hidden = !plan;
  if (plan) await showEstimate();
}

async function showEstimate() {
  const found = await getJson("/api/sample/estimate");
  element("sample-progress").max = found.planned;
  element("sample-progress").value = found.reviewed;
  const rejected = found.rejected ? ` ${found.rejected} rejected: they need a correction to count.` : "";
  element("sample-note").textContent = `${found.reviewed} of ${found.planned} drawn images labelled.${rejected}`;
  element("estimate").replaceChildren(...estimate(found));
}

function estimate({ figures, intervals, reviewed, planned }) {
  if (!figures) return [];
  const known = state.about.classes.length === 2 ? "iou_lesion" : "miou";
  const value = figures[known];
  if (value === null) return ["No lesion in any of them so far."];
  const line = document.createElement("strong");
  line.textContent = `${known === "miou" ? "mIoU" : "IoU of the lesion"} ${value.toFixed(1)} %`;
  const between = intervals[known];
  const rest = between && reviewed > 1 ? ` (95 %: ${between[0].toFixed(1)} to ${between[1].toFixed(1)})` : "";
  return [line, rest, reviewed < planned ? ", so far" : ""];
}

element("draw").addEventListener("click", () => attempt(async () => {
  const { plan } = await postJson("/api/sample", { count: Number(element("count").value) || 30 });
  await take(plan);
  await showDrawn();
}));

async function showDrawn() {
  state.filter = "sample";
  element("filter").value = "sample";
  emit("rows");
  const [first] = visibleRows().filter((row) => !row.review);
  if (first) await show(first);
}

element("sample-show").addEventListener("click", () => attempt(showDrawn));
on("reviewed", () => { if (state.plan) attempt(showEstimate); });
