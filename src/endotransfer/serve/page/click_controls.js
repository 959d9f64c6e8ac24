// The controls of the tool Click: what the next point says, who answers, how far the object is.
/** @import { ClickedObject } from "./types.d.ts" */
import { inSample } from "./blind.js";
import { isPreparing } from "./click_ready.js";
import { make } from "./dom.js";
import { on, state } from "./state.js";

/** @param {string} label @param {string} value @param {boolean} checked */
function choice(label, value, checked) {
  const radio = make("input", { type: "radio", name: "click-sign", value, checked });
  return make("label", {}, radio, make("span", { textContent: label }));
}

const beside = choice("Beside it", "beside", false);
const sign = make("fieldset", { className: "segments" }, make("legend", { className: "spoken", textContent: "The next point is" }),
  choice("On the lesion", "on", true), beside);
const note = make("p", { className: "note", id: "click-note", role: "status" });
export const finishButton = make("button", { type: "button", id: "click-finish", textContent: "Finish", title: "Finish this lesion (Enter)" });
export const forgetButton = make("button", { type: "button", id: "click-forget", textContent: "Forget", title: "Forget this lesion (Esc)" });
export const controls = make("div", { className: "clicking" }, sign, make("div", { className: "decide small" }, finishButton, forgetButton), note);

/** Without a second mouse button the next point can be set to say the opposite. */
export const nextIsPositive = () => !beside.querySelector("input")?.checked;

/** What has been pointed out, in words. @param {ClickedObject} object */
export function inWords({ box, points: { length } }) {
  const points = length === 1 ? "1 point" : `${length} points`;
  if (!box) return points;
  return length ? `A box and ${points}` : "A box";
}

/** @param {ClickedObject | null | undefined} object */
function progress(object) {
  if (isPreparing()) return "Preparing the image…";
  if (!object) return "Click on the lesion, or drag a box around it.";
  if (object.waiting) return "Waiting for the mask…";
  return `${inWords(object)}.`;
}

function whoAnswers() {
  if (!state.about) return ""; // nothing is known yet
  const { models, prompt_model: network } = state.about;
  if (network) return `The network ${network} answers.`;
  if (inSample(state.image)) return "Super-pixels answer; no model has a say where it is measured.";
  return `Super-pixels answer, led by the model ${models[0].name}: the viewer has no promptable network.`;
}

/** @param {ClickedObject | null | undefined} object */
export function showClicking(object) {
  finishButton.disabled = forgetButton.disabled = !object;
  const text = `${progress(object)} ${whoAnswers()}`;
  if (note.textContent !== text) note.textContent = text;
}

on("image", () => { const [first] = sign.querySelectorAll("input"); first.checked = true; });
