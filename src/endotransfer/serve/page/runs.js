// The second tab: how the models were trained.  Losses, pseudo-labels in figures, pseudo-labels in pictures.
/** @import { Run } from "./types.d.ts" */
/** @import { Line } from "./chart.js" */
import { getJson } from "./api.js";
import { chart } from "./chart.js";
import { element, make } from "./dom.js";
import { state } from "./state.js";

const NOTES = {
  passes: "What each pass over the target images labelled. Coverage is the share of their pixels that carry a label.",
  losses: "Every term as it enters the sum, over the training steps; each chart has its own scale.",
  growth: "Coloured: labelled, and as what. Clear: not labelled yet.",
};

const ALONE = "The model alone: how it was trained is in its run folder, which is not here.";

/** @param {string} text */
const note = (text) => make("p", { className: "note", textContent: text });

export async function showRuns() {
  const { runs } = /** @type {{ runs: Run[] }} */ (await getJson("/api/runs"));
  /** @type {(HTMLElement | null)[]} */
  const parts = [make("section", { className: "heads" }, ...runs.map(head))];
  parts.push(section("Pseudo-labels", NOTES.passes, passCharts(runs)));
  parts.push(section("Losses", NOTES.losses, lossCharts(runs)));
  runs.forEach((run, index) => {
    if (run.propagation.length) parts.push(growth(run, index));
  });
  element("runs").replaceChildren(...parts.filter((part) => part !== null));
}

/** @param {Run} run @param {number} index */
function head(run, index) {
  const { results } = run;
  const figures = results.figures ?? [];
  const preset = results.preset === "default" ? "" : results.preset;
  const facts = [results.method, preset, results.seed !== undefined && `seed ${results.seed}`, results.date].filter(Boolean);
  const list = figures.map(({ title, value, unit }) =>
    make("div", {}, make("dt", { textContent: title }), make("dd", { textContent: `${value.toFixed(1)} ${unit}` })));
  const mark = make("i", { className: `key run${index}` });
  const unknown = Object.keys(run.curves).length ? "not finished" : ALONE;
  const called = make("h2", {}, mark, run.name);
  return make("article", {}, called, note(facts.join(" · ") || unknown), make("dl", { className: "facts" }, ...list));
}

/** @param {string} title @param {string} text @param {HTMLElement[]} charts */
function section(title, text, charts) {
  if (!charts.length) return null;
  return make("section", {}, make("h2", { textContent: title }), note(text), make("div", { className: "charts" }, ...charts));
}

/** @param {Run[]} runs @param {string[]} prefix */
function names(runs, prefix) {
  return [...new Set(runs.flatMap((run) => Object.keys(run.curves)))].filter((name) => prefix.some((start) => name.startsWith(start)));
}

/** @param {Run[]} runs @param {string} name @param {"epochs" | "steps"} axis @returns {Line[]} */
function lines(runs, name, axis) {
  const first = axis === "epochs" ? 1 : 0;
  return runs.flatMap((run, place) => {
    const curve = run.curves[name];
    return curve ? [{ label: run.name, place, x: curve[axis].map((x) => x + first), y: curve.values }] : [];
  });
}

/** @param {Run[]} runs */
function lossCharts(runs) {
  return names(runs, ["loss/", "term/"]).map((name) => chart(name.replace("term/", ""), lines(runs, name, "steps")));
}

/** @param {Run[]} runs */
function passCharts(runs) {
  /** @type {Record<string, string>} */
  const titles = { "pass/coverage": "Coverage", "pass/portion": "Portion asked for" };
  const found = names(runs, ["pass/coverage", "pass/portion", "pass/labelled_", "pass/threshold_"]);
  /** @param {string} text @returns {(found: string, index: string) => string} */
  const named = (text) => (_, index) => `${text} ${state.about.classes[Number(index)] ?? index}`;
  /** @param {string} name */
  const title = (name) => titles[name]
    ?? name.replace(/pass\/labelled_(\d+)/, named("Labelled share of predicted")).replace(/pass\/threshold_(\d+)/, named("Threshold for"));
  return found.map((name) => chart(title(name), lines(runs, name, "epochs"), { axis: "epoch", unit: "share" }));
}

/**
 * One row an image, one picture an epoch: where labels spread, and where they do not.
 * @param {Run} run @param {number} index
 */
function growth(run, index) {
  const rows = run.propagation.map((image, place) => {
    const pictures = image.epochs.map((epoch) => {
      const stack = make("span", { className: "stack" });
      if (image.picture) stack.append(make("img", { src: `/api/images/${image.picture}/picture`, alt: "", loading: "lazy" }));
      const alt = `Pseudo-labels of ${image.name} before epoch ${epoch + 1}`;
      stack.append(make("img", { src: `/api/runs/${index}/propagation/${place}/${epoch}`, alt, loading: "lazy" }));
      return make("figure", {}, stack, make("figcaption", { textContent: `epoch ${epoch + 1}` }));
    });
    const strip = make("div", { className: "growth", tabIndex: 0 }, ...pictures);
    strip.setAttribute("role", "group");
    strip.setAttribute("aria-label", `Pseudo-labels of ${image.name} by epoch`);
    return make("div", {}, make("h3", { textContent: image.name }), strip);
  });
  return make("section", {}, make("h2", { textContent: `Pseudo-labels as they grow: ${run.name}` }), note(NOTES.growth), ...rows);
}
