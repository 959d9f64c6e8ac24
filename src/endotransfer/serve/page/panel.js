// The controls of the mask and of the comparison.
/** @import { Side } from "./types.d.ts" */
import { isBlind, readingOf } from "./blind.js";
import { element, input, make, onClick, onValue, select, tick } from "./dom.js";
import { sides } from "./image.js";
import { emit, on, state } from "./state.js";

const STYLES = ["outline", "fill", "heat", "errors"];

/** @param {number} value */
export function setThreshold(value) {
  state.threshold = Math.min(0.99, Math.max(0.01, Math.round(value * 100) / 100));
  input("threshold").value = String(state.threshold);
  element("threshold-value").textContent = state.threshold.toFixed(2);
  emit("look");
}

export function nextStyle() {
  const known = STYLES.filter((style) => style !== "errors" || !element("errors-field").hidden);
  setStyle(known[(known.indexOf(state.style) + 1) % known.length]);
}

/** @param {string} style */
function setStyle(style) {
  state.style = style;
  tick("style", style);
  element("legend").hidden = style !== "heat";
  element("errors-legend").hidden = style !== "errors";
  emit("look");
}

/** @param {number} index */
export function toggleClass(index) {
  const box = element("classes").querySelector(`input[value="${index}"]`);
  if (box instanceof HTMLInputElement) box.click();
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
    const box = make("input", { type: "checkbox", value: String(index), checked: true });
    const swatch = make("i");
    swatch.style.background = `rgb(${colours[index].join(",")})`;
    box.addEventListener("change", () => {
      if (box.checked) state.hidden.delete(index);
      else state.hidden.add(index);
      emit("look");
    });
    element("classes").append(make("label", { className: "check" }, box, swatch, name));
  });
  const paint = classes.map((name, index) => new Option(name, String(index))).slice(1);
  element("paint").append(...paint, new Option("unsure", "255"));
}

function buildSides() {
  const image = state.image;
  const choices = sides(image);
  const known = new Set(choices.map(([side]) => side));
  if (!known.has(state.left)) state.left = choices[0][0];
  if (isBlind(image) && readingOf(image) === "adjudicate" && state.left !== "draft") settle(choices);
  if (!known.has(state.right)) state.right = "";
  for (const which of /** @type {const} */ (["left", "right"])) {
    const options = choices.map(([side, name]) => new Option(name, side));
    if (which === "right") options.unshift(new Option("nothing", ""));
    const choice = select(which);
    choice.replaceChildren(...options);
    choice.value = state[which];
    choice.title = choice.selectedOptions[0]?.text ?? ""; // a long name in full
  }
  const truth = Boolean(image?.truth) && !isBlind(image);
  element("truth-outline-field").hidden = !truth;
  element("errors-field").hidden = !truth;
  if (!truth && state.style === "errors") setStyle("outline");
  emit("look");
}

/** Two readings are settled side by side. @param {Side[]} choices */
function settle(choices) {
  const second = choices.find(([side]) => side.startsWith("second"));
  if (second && choices.some(([side]) => side === "reviewed")) [state.left, state.right] = ["reviewed", second[0]];
}

onValue(input("threshold"), "input", ({ value }) => setThreshold(Number(value)));
onValue(input("opacity"), "input", ({ value }) => {
  state.opacity = Number(value) / 100;
  element("opacity-value").textContent = `${value} %`;
  emit("look");
});
const LIGHT = /** @type {const} */ (["brightness", "contrast"]);
for (const how of LIGHT) onValue(input(how), "input", ({ value }) => { state[how] = Number(value) / 100; emit("look"); });
onClick("plain-light", () => {
  for (const how of LIGHT) { state[how] = 1; input(how).value = "100"; }
  emit("look");
});
element("style").addEventListener("change", ({ target }) => { if (target instanceof HTMLInputElement) setStyle(target.value); });
for (const which of /** @type {const} */ (["left", "right"])) {
  onValue(select(which), "change", ({ value }) => { state[which] = value; emit("look"); });
}
onValue(input("truth-outline"), "change", ({ checked }) => { state.truthOutline = checked; emit("look"); });
on(["image", "sides"], buildSides);
