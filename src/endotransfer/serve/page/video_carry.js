// A reviewed mask, carried to the frames around; what waits is accepted one by one or all at once.
/** @import { Carrying, ReviewState } from "./types.d.ts" */
import { getJson, postJson, postKnowing, remove } from "./api.js";
import { noteDecisionOn } from "./decisions.js";
import { button, element, onClick } from "./dom.js";
import { attempt, say, tell } from "./messages.js";
import { nameOrNone, reviewerName } from "./reviewer.js";
import { on, state } from "./state.js";
import { endingInWords, nextOf } from "./video_curve.js";
import { forgetFrames, idOf, noteState, showFrame } from "./video_frames.js";
import { video, waiting } from "./video_state.js";

const PAUSE = 500;
let timer = 0;
/** The last one of this video. @type {Carrying | null} */
let last = null;
const path = () => `/api/videos/${video.open?.id}`;
/** @param {number} count */
const counted = (count) => (count === 1 ? "1 frame" : `${count} frames`);

/** @param {Carrying | null} job */
export function showCarrying(job) {
  clearTimeout(timer);
  last = job;
  show();
  if (job?.state === "running") timer = setTimeout(() => attempt(look), PAUSE);
}

function show() {
  const image = state.image;
  const running = last?.state === "running";
  const mask = Boolean(image?.review && image.review.decision !== "rejected" && !image.uploaded);
  button("carry-start").disabled = running || !mask;
  button("carry-stop").hidden = !running;
  const left = waiting();
  element("carry-note").textContent = inWords(mask);
  element("carried-row").hidden = !left.length || running;
  element("carried-count").textContent = `${counted(left.length)} with a carried mask ${left.length === 1 ? "waits" : "wait"} for you.`;
  button("carried-accept").textContent = left.length === 1 ? "Accept it" : `Accept all ${left.length}`;
}

/** @param {boolean} mask */
function inWords(mask) {
  if (last?.state === "running") return `${counted(last.looked)} followed, ${last.frames.length} masks carried …`;
  if (last?.fault) return last.fault.charAt(0).toUpperCase() + last.fault.slice(1);
  if (last) {
    const { frame, frames } = last;
    const [before, after] = [-1, 1].map((way) => frames.filter((one) => (one - frame) * way > 0).length);
    return `From frame ${frame}: ${before} back (${endingInWords(last.before, -1)}), ${after} on (${endingInWords(last.after)}).`;
  }
  return mask ? "" : "Accept or correct the mask of a frame first.";
}

async function look() {
  const details = video.open;
  const { carrying } = await getJson(`${path()}/carry`);
  if (video.open !== details || !carrying) return;
  if (carrying.state !== "running") await learn();
  showCarrying(carrying);
}

/** The decisions of all frames anew, and the open frame with what waits for it. */
async function learn() {
  const { decisions } = await getJson(path());
  take(decisions);
  forgetFrames();
  await showFrame(video.frame);
}

/** @param {Record<string, ReviewState>} decisions */
export function take(decisions) {
  for (const [frame, told] of Object.entries(decisions)) noteState(Number(frame), told);
}

/** So that each can be undone. @param {Record<string, ReviewState>} decisions */
function noteAccepted(decisions) {
  for (const [frame, { review }] of Object.entries(decisions)) {
    const before = video.decisions.get(Number(frame))?.review?.number ?? null;
    if (review && review.number !== before) noteDecisionOn(idOf(Number(frame)), before, review.number);
  }
}

/** @param {"accept" | "dismiss"} what @param {number[]} frames */
async function decide(what, frames) {
  if (!reviewerName()) return tell("Please enter your name first: it is saved with the decision.");
  const known = frames.map((frame) => ({ frame, revision: video.decisions.get(frame)?.revision ?? 0 }));
  for (let from = 0; from < known.length; from += 1000) {
    const { refused, decisions } = await postJson(`${path()}/carried`, { what, who: nameOrNone(), frames: known.slice(from, from + 1000) });
    if (what === "accept") noteAccepted(decisions);
    take(decisions);
    const failed = Object.keys(refused);
    if (failed.length) tell(`Frame ${failed.join(", ")}: ${Object.values(refused)[0]}`);
  }
  say(what === "accept" ? `${counted(frames.length)} accepted` : `${counted(frames.length)} put aside`);
  forgetFrames();
  return undefined;
}

/** Accept of a frame that shows a carried mask. */
export const acceptCarried = () => attempt(async () => {
  const here = video.frame;
  await decide("accept", [here]);
  const next = element("advance", HTMLInputElement).checked ? nextOf(waiting(), here, 1) ?? nextOf(waiting(), here, -1) : null;
  await showFrame(next ?? here);
});

onClick("carry-start", () => attempt(async () => {
  const image = state.image;
  if (!image || !reviewerName()) return tell("Please enter your name first: it is saved with what is carried.");
  const { carrying } = await postKnowing(`${path()}/frames/${video.frame}/carry`, { who: reviewerName() }, image.revision);
  showCarrying(carrying);
  return undefined;
}));
onClick("carry-stop", () => attempt(async () => { await remove(`${path()}/carry`); await look(); }));
onClick("carried-next", () => {
  const next = nextOf(waiting(), video.frame, 1) ?? waiting()[0];
  if (next !== undefined) showFrame(next);
});
for (const what of /** @type {const} */ (["accept", "dismiss"])) {
  onClick(`carried-${what}`, () => attempt(async () => { await decide(what, waiting()); await showFrame(video.frame); }));
}
on(["image", "reviewed", "curve"], () => { if (state.desk) show(); });
