// Prediction of the open video in the background: begun, watched, stopped.
/** @import { Walk } from "./types.d.ts" */
import { getJson, postJson, remove } from "./api.js";
import { button, element, onClick, select } from "./dom.js";
import { attempt } from "./messages.js";
import { state } from "./state.js";
import { timeLeft } from "./video_curve.js";
import { addPoints, video } from "./video_state.js";

const PAUSE = 700; // milliseconds between two looks
let timer = 0;
const path = () => `/api/videos/${video.open?.id}/walk`;

/** @param {Walk} walk */
export function showWalk(walk) {
  clearTimeout(timer);
  const running = walk.state === "running";
  element("walk").hidden = !video.open;
  button("walk-start").hidden = running;
  button("walk-start").textContent = walk.state === "stopped" ? "Go on" : "Predict";
  button("walk-start").classList.toggle("primary", walk.state !== "done");
  button("walk-stop").hidden = !running;
  select("walk-rate").disabled = running;
  if (walk.rate) chooseRate(walk.rate);
  Object.assign(element("walk-progress", HTMLProgressElement), { max: walk.total || 1, value: walk.done, hidden: walk.state === "none" });
  element("walk-note").textContent = inWords(walk);
  if (running) timer = setTimeout(() => attempt(look), PAUSE);
}

/** @param {number} rate */
function chooseRate(rate) {
  const field = select("walk-rate");
  if (![...field.options].some(({ value }) => Number(value) === rate)) field.append(new Option(`${rate} a second`, String(rate)));
  field.value = [...field.options].find(({ value }) => Number(value) === rate)?.value ?? "1";
}

/** @param {Walk} walk */
function inWords({ state: now, done, total, left, fault, lost }) {
  if (now === "none") return "Not predicted yet.";
  const gone = lost.length ? ` ${lost.length} cannot be decoded.` : "";
  if (now === "failed") return fault.charAt(0).toUpperCase() + fault.slice(1);
  const count = `${done} of ${total} frames`;
  if (now === "running") return [count, timeLeft(left)].filter(Boolean).join(", ") + gone;
  return now === "done" ? `${total} frames predicted.${gone}` : `${count} predicted; stopped.${gone}`;
}

export async function look() {
  const details = video.open;
  if (!details || !state.desk) return;
  const { walk, frames, known } = await getJson(`${path()}?since=${video.known}`);
  if (video.open !== details) return;
  video.known = known;
  if (frames.length) addPoints(frames);
  showWalk(walk);
}

onClick("walk-start", () => attempt(async () => {
  await postJson(path(), { rate: Number(select("walk-rate").value) });
  await look();
}));
onClick("walk-stop", () => attempt(async () => {
  button("walk-stop").disabled = true;
  await remove(path()).finally(() => { button("walk-stop").disabled = false; });
  await look();
}));
