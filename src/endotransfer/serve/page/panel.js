// The controls of the mask and of the comparison, and the figures beside them.
import { isBlind, readingOf } from "./blind.js";
import { labelsOf, modelOf, sides } from "./image.js";
import { area, overlap, toPng } from "./masks.js";
import { attempt, element, emit, on, percent, state } from "./state.js";

const STYLES = ["outline", "fill", "heat", "errors"];
let figuresAsked = false;

export function setThreshold(value) {
  state.threshold = Math.min(0.99, Math.max(0.01, Math.round(value * 100) / 100));
  element("threshold").value = state.threshold;
  element("threshold-value").textContent = state.threshold.toFixed(2);
  emit("look");
}

export function nextStyle() {
  const known = STYLES.filter((style) => style !== "errors" || !element("errors-field").hidden);
  setStyle(known[(known.indexOf(state.style) + 1) % known.length]);
}

function setStyle(style) {
  state.style = style;
  document.querySelector(`input[name=style][value=${style}]`).checked = true;
  element("legend").hidden = style !== "heat";
  element("errors-legend").hidden = style !== "errors";
  emit("look");
}

export function toggleClass(index) {
  const box = element("classes").querySelector(`input[value="${index}"]`);
  if (box) box.click();
}

export function toggleMasks() {
  state.masksOff = !state.masksOff;
  emit("look");
}

export function toggleCompare() {
  if (!state.image) return;
  const other = sides(state.image).map(([side]) => side).find((side) => side !== state.left);
  state.right = state.right ? "" : other ?? "";
  emit("sides");
}

export function buildPanel() {
  const { classes, colours } = state.about;
  classes.forEach((name, index) => {
    if (index === 0) return;
    const label = document.createElement("label");
    label.className = "check";
    const box = Object.assign(document.createElement("input"), { type: "checkbox", value: index, checked: true });
    const swatch = document.createElement("i");
    swatch.style.background = `rgb(${colours[index].join(",")})`;
    label.append(box, swatch, name);
    box.addEventListener("change", () => {
      if (box.checked) state.hidden.delete(index);
      else state.hidden.add(index);
      emit("look");
    });
    element("classes").append(label);
  });
  const paint = classes.map((name, index) => new Option(name, index)).slice(1);
  element("paint").append(...paint, new Option("unsure", 255));
}

function buildSides() {
  const image = state.image;
  const choices = sides(image);
  const known = new Set(choices.map(([side]) => side));
  if (!known.has(state.left)) state.left = choices[0][0];
  if (isBlind(image) && readingOf(image) === "adjudicate" && state.left !== "draft") settle(choices);
  if (!known.has(state.right)) state.right = "";
  for (const which of ["left", "right"]) {
    const options = choices.map(([side, name]) => new Option(name, side));
    if (which === "right") options.unshift(new Option("nothing", ""));
    element(which).replaceChildren(...options);
    element(which).value = state[which];
    element(which).title = element(which).selectedOptions[0]?.text ?? ""; // a long name in full
  }
  const truth = Boolean(image?.truth) && !isBlind(image);
  element("truth-outline-field").hidden = !truth;
  element("errors-field").hidden = !truth;
  if (!truth && state.style === "errors") setStyle("outline");
  emit("look");
}

// Two readings are settled side by side.
function settle(choices) {
  const second = choices.find(([side]) => side.startsWith("second"));
  if (second && choices.some(([side]) => side === "reviewed")) [state.left, state.right] = ["reviewed", second[0]];
}

// Figures follow the slider, but not on every one of its steps: a frame's pause lets the mask be drawn first.
function askFigures() {
  if (figuresAsked) return;
  figuresAsked = true;
  setTimeout(() => { figuresAsked = false; showFigures(); }, 30);
}

function showFigures() {
  const image = state.image;
  const body = element("figures").tBodies[0];
  element("facts").textContent = "";
  if (!image) return body.replaceChildren();
  const shown = [state.left, ...(state.right ? [state.right] : [])];
  const names = new Map(sides(image));
  const rows = [];
  if (shown.length > 1) rows.push(["", ...shown.map((side) => names.get(side))]);
  const { classes } = state.about;
  rows.push([classes.length === 2 ? "Lesion area" : `Area, all but ${classes[0]}`, ...shown.map((side) => areaOf(image, side))]);
  if (image.truth && !isBlind(image)) addOverlaps(rows, image, shown);
  if (shown.some((side) => modelOf(side) !== null)) {
    rows.push(["Doubt", ...shown.map((side) => percent(image.models[modelOf(side)]?.doubt))]);
    const tags = shown.map((side) => image.models[modelOf(side)]?.lesion_probability);
    if (tags.some((tag) => tag !== null && tag !== undefined)) rows.push(["Lesion in image", ...tags.map((tag) => percent(tag, 0))]);
  }
  body.replaceChildren(...rows.map(tableRow));
  const facts = [image.row.tag && `tagged ${image.row.tag}`, image.row.finding, image.row.split && `split ${image.row.split}`, image.row.patient];
  element("facts").textContent = facts.filter(Boolean).join(" · ");
  const first = rows.find(([name]) => name.startsWith("IoU"));
  const spoken = `${image.row.name}, lesion area ${areaOf(image, state.left)}${first ? `, ${first[0]} ${first[1]}` : ""}`;
  element("canvas").setAttribute("aria-label", spoken);
  return undefined;
}

function areaOf(image, side) {
  const labels = labelsOf(image, side);
  return labels ? percent(area(labels)) : "–";
}

function addOverlaps(rows, image, shown) {
  const scores = shown.map((side) => (side === "truth" ? null : overlap(labelsOf(image, side), image.truth, state.about.classes.length)));
  if (state.about.classes.length === 2) {
    rows.push(["IoU", ...scores.map((score) => (score ? percent(score.lesion) : "–"))]);
    return;
  }
  rows.push(["IoU, all but " + state.about.classes[0], ...scores.map((score) => (score ? percent(score.lesion) : "–"))]);
  state.about.classes.forEach((name, index) => {
    if (scores.some((score) => score && score.classes[index] !== null)) rows.push([`IoU ${name}`, ...scores.map((score) => percent(score?.classes[index]))]);
  });
}

function tableRow(cells) {
  const row = document.createElement("tr");
  cells.forEach((text, place) => {
    const cell = document.createElement(place && cells[0] ? "td" : "th");
    cell.scope = place ? "col" : "row";
    cell.textContent = text;
    row.append(cell);
  });
  return row;
}

async function download() {
  const image = state.image;
  if (!image) return;
  const shown = labelsOf(image, state.left);
  if (!shown) throw new Error("Nothing is shown on the left side that could be downloaded.");
  const labels = Uint8Array.from(shown);
  if (state.about.classes.length === 2) for (let i = 0; i < labels.length; i += 1) labels[i] = labels[i] === 1 ? 255 : 0;
  const blob = await toPng(labels, image.width, image.height, image.size[1], image.size[0]);
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: `${image.row.name}.png` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

element("threshold").addEventListener("input", (event) => setThreshold(Number(event.target.value)));
element("opacity").addEventListener("input", (event) => {
  state.opacity = event.target.value / 100;
  element("opacity-value").textContent = `${event.target.value} %`;
  emit("look");
});
for (const how of ["brightness", "contrast"]) {
  element(how).addEventListener("input", (event) => { state[how] = event.target.value / 100; emit("look"); });
}
element("plain-light").addEventListener("click", () => {
  for (const how of ["brightness", "contrast"]) { state[how] = 1; element(how).value = 100; }
  emit("look");
});
element("style").addEventListener("change", (event) => setStyle(event.target.value));
for (const which of ["left", "right"]) {
  element(which).addEventListener("change", (event) => { state[which] = event.target.value; emit("look"); });
}
element("truth-outline").addEventListener("change", (event) => { state.truthOutline = event.target.checked; emit("look"); });
element("download").addEventListener("click", () => attempt(download));
on("image sides", buildSides);
on("image look", askFigures);
