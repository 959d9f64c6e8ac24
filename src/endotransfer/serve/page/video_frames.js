// The frames of the open video in the place of the images of the list: shown, gone through, decided on.
/** @import { CurvePoint } from "./video_curve.js" */
/** @import { Desk, OpenImage, ReviewState, Row } from "./types.d.ts" */
import { getJson } from "./api.js";
import { element, make } from "./dom.js";
import { openImage } from "./image.js";
import { keepDraft, takeUpDraft } from "./kept_drafts.js";
import { remember } from "./memory.js";
import { attempt, say } from "./messages.js";
import { emit, on, state } from "./state.js";
import { clock, nextOf, peaks } from "./video_curve.js";
import { pointAt, video, waiting } from "./video_state.js";

const KEPT = 10; // open frames
/** @type {Map<string, Promise<OpenImage>>} */
const opened = new Map();
let wanted = /** @type {number | null} */ (null);
let working = /** @type {Promise<void> | null} */ (null);
let model = "model0"; // the one that is shown where nobody has decided

/** @param {number} frame */
export const idOf = (frame) => `${video.open?.id}-${String(frame).padStart(6, "0")}`;

/** @param {string} id */
const numberOf = (id) => (id.startsWith(`${video.open?.id}-`) ? Number(id.slice(id.lastIndexOf("-") + 1)) : null);

/** A frame that nobody has looked at yet is found in the video and predicted. @param {number} frame */
const found = async (frame) =>
  openImage({ ...await getJson(`/api/videos/${video.open?.id}/frames/${frame}`), uploaded: Boolean(video.open?.uploaded) });

/** One that is predicted lies ready. @param {number} frame @param {CurvePoint} point @returns {Row} */
const rowAt = (frame, [, area, doubt]) => ({
  id: idOf(frame), name: `${video.open?.name}@${String(frame).padStart(6, "0")}`, uploaded: Boolean(video.open?.uploaded), area, doubt,
  tag: null, finding: null, split: null, patient: null, truth: false, unreadable: false, disagreement: null, iou: null, unfamiliar: null,
  ...(video.decisions.get(frame) ?? { revision: 0, review: null, second: [], carried: null }),
});

/** @param {number} frame @returns {Promise<OpenImage>} */
function open(frame) {
  const id = idOf(frame);
  const point = pointAt(frame);
  const known = opened.get(id) ?? (point ? openImage(rowAt(frame, point)).catch(() => found(frame)) : found(frame));
  opened.delete(id);
  opened.set(id, known);
  known.catch(() => opened.delete(id));
  for (const old of [...opened.keys()].slice(0, -KEPT)) opened.delete(old);
  return known;
}

/**
 * Shows a frame.  Of many that are asked for while one is on its way, as scrubbing does, only the last one counts.
 * @param {number} frame
 */
export function showFrame(frame) {
  if (!video.open) return Promise.resolve();
  video.frame = wanted = Math.max(0, Math.min(video.open.times.length - 1, frame));
  emit("frame");
  working ??= work().finally(() => { working = null; });
  return working;
}

async function work() {
  while (wanted !== null) {
    const frame = wanted;
    wanted = null;
    await attempt(() => put(frame));
  }
}

/** @param {number} frame */
async function put(frame) {
  const [details, late] = [video.open, setTimeout(() => { element("busy").hidden = false; }, 250)];
  keepDraft();
  try {
    const image = await open(frame);
    await takeUpDraft(image);
    if (video.open !== details || !details || !state.desk) return;
    noteModel();
    state.left = bestSide(image);
    state.image = image;
    element("empty").hidden = true;
    element("title").replaceChildren(details.name, make("small", { textContent: `  ${clock(details.times[frame])}  frame ${frame}` }));
    noteState(frame, image);
    remember(`video.${state.about.folder}`, `${details.id}@${frame}`);
    emit("image");
    const next = video.playing ? nextOf(video.points.map(([one]) => one), frame, 1) : null;
    if (next !== null) open(next).catch(() => {});
    if (!video.playing) say(`${clock(details.times[frame])}, frame ${frame}${image.review ? `, ${image.review.decision}` : ""}`);
  } catch (error) {
    if (wanted !== null) return; // somebody has gone on already
    state.image = null;
    element("decision").textContent = "";
    emit("look");
    throw error;
  } finally {
    clearTimeout(late);
    element("busy").hidden = true;
  }
}

function noteModel() {
  if (state.left.startsWith("model")) model = state.left;
}

/** What a frame is shown with: one's own drawing, a mask that waits, what was decided, else the model's. @param {OpenImage} image */
function bestSide(image) {
  if (image.draft) return "draft";
  if (image.carried && image.carriedMask) return "carried";
  return image.reviewed ? "reviewed" : model;
}

/** @param {number} frame @param {ReviewState} told */
export function noteState(frame, { revision, review, second, carried }) {
  if (revision) video.decisions.set(frame, { revision, review, second, carried });
  emit("curve");
}

/** What was kept of frames is old: it is asked for again. */
export const forgetFrames = () => opened.clear();

/** The next frame to judge: a carried mask that waits, else a peak that nobody has decided on. */
function goOn() {
  const open = peaks(video.points, 1).filter((frame) => !video.decisions.get(frame)?.review);
  const next = nextOf(waiting(), video.frame, 1) ?? nextOf(open, video.frame, 1);
  return next === null ? undefined : showFrame(next);
}

/** @type {Desk} */
export const frames = {
  get name() { return video.open?.id ?? ""; },
  rowOf(id) {
    const frame = numberOf(id);
    const known = frame === null ? undefined : video.decisions.get(frame);
    return known ? /** @type {Row} */ ({ id, name: `frame ${frame}`, ...known }) : undefined;
  },
  show: async (row) => {
    const frame = numberOf(row.id);
    if (frame === null) return;
    noteState(frame, row);
    await showFrame(frame);
  },
  step: (by) => showFrame(video.frame + by),
  goOn,
  forget: (id) => { opened.delete(id); },
};

on("reviewed", () => {
  const image = state.image;
  const frame = image && state.desk ? numberOf(image.row.id) : null;
  if (!image || frame === null) return;
  noteState(frame, image);
  noteModel();
  state.left = bestSide(image);
  emit("sides");
});
