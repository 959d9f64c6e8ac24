// The second tab: how the models were trained.  Losses, pseudo-labels in figures, pseudo-labels in pictures.
import { getJson } from "./api.js";
import { chart } from "./chart.js";
import { element, state } from "./state.js";

const make = (name, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
};

export async function showRuns() {
  const { runs } = await getJson("/api/runs");
  const parts = [make("section", { className: "heads" }, ...runs.map(head))];
  parts.push(section("Pseudo-labels", "What each pass over the target images labelled. Coverage is the share of their pixels that carry a label.", passCharts(runs)));
  parts.push(section("Losses", "Every term as it enters the sum, over the training steps; each chart has its own scale.", lossCharts(runs)));
  runs.forEach((run, index) => {
    if (run.propagation.length) parts.push(growth(run, index));
  });
  element("runs").replaceChildren(...parts.filter(Boolean));
}

function head(run, index) {
  const { results } = run;
  const figures = results.figures ?? [];
  const facts = [results.method, results.preset && results.preset !== "default" ? results.preset : "", results.seed !== undefined ? `seed ${results.seed}` : "", results.date].filter(Boolean);
  const list = make("dl", { className: "facts" }, ...figures.map(({ title, value, unit }) => make("div", {}, make("dt", { textContent: title }), make("dd", { textContent: `${value.toFixed(1)} ${unit}` }))));
  const mark = make("i", { className: `key run${index}` });
  return make("article", {}, make("h2", {}, mark, run.name), make("p", { className: "note", textContent: facts.join(" · ") || "not finished" }), list);
}

function section(title, note, charts) {
  if (!charts.length) return null;
  return make("section", {}, make("h2", { textContent: title }), make("p", { className: "note", textContent: note }), make("div", { className: "charts" }, ...charts));
}

function names(runs, prefix) {
  return [...new Set(runs.flatMap((run) => Object.keys(run.curves)))].filter((name) => prefix.some((start) => name.startsWith(start)));
}

function lines(runs, name, axis) {
  return runs.flatMap((run, place) => (run.curves[name] ? [{ label: run.name, place, x: run.curves[name][axis].map((x) => (axis === "epochs" ? x + 1 : x)), y: run.curves[name].values }] : []));
}

function lossCharts(runs) {
  return names(runs, ["loss/", "term/"]).map((name) => chart(name.replace("term/", ""), lines(runs, name, "steps")));
}

function passCharts(runs) {
  const titles = { "pass/coverage": "Coverage", "pass/portion": "Portion asked for" };
  const found = names(runs, ["pass/coverage", "pass/portion", "pass/labelled_", "pass/threshold_"]);
  const named = (text) => (_, index) => `${text} ${state.about.classes[index] ?? index}`;
  const title = (name) => titles[name] ?? name.replace(/pass\/labelled_(\d+)/, named("Labelled share of predicted")).replace(/pass\/threshold_(\d+)/, named("Threshold for"));
  return found.map((name) => chart(title(name), lines(runs, name, "epochs"), { axis: "epoch", unit: "share" }));
}

// One row an image, one picture an epoch: where labels spread, and where they do not.
function growth(run, index) {
  const rows = run.propagation.map((image, place) => {
    const pictures = image.epochs.map((epoch) => {
      const stack = make("span", { className: "stack" });
      if (image.picture) stack.append(make("img", { src: `/api/images/${image.picture}/picture`, alt: "", loading: "lazy" }));
      stack.append(make("img", { src: `/api/runs/${index}/propagation/${place}/${epoch}`, alt: `Pseudo-labels of ${image.name} before epoch ${epoch + 1}`, loading: "lazy" }));
      return make("figure", {}, stack, make("figcaption", { textContent: `epoch ${epoch + 1}` }));
    });
    const strip = make("div", { className: "growth", tabIndex: 0 }, ...pictures);
    strip.setAttribute("role", "group");
    strip.setAttribute("aria-label", `Pseudo-labels of ${image.name} by epoch`);
    return make("div", {}, make("h3", { textContent: image.name }), strip);
  });
  const note = "Coloured: labelled, and as what. Clear: not labelled yet.";
  return make("section", {}, make("h2", { textContent: `Pseudo-labels as they grow: ${run.name}` }), make("p", { className: "note", textContent: note }), ...rows);
}
