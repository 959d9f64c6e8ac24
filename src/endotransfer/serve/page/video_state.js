// The open video: its frames, what is known of them, which one is shown.
/** @import { CurvePoint } from "./video_curve.js" */
/** @import { ReviewState, VideoDetails } from "./types.d.ts" */
import { emit } from "./state.js";

export const video = {
  open: /** @type {VideoDetails | null} */ (null),
  points: /** @type {CurvePoint[]} */ ([]), // by frame
  known: 0, // how many of them the service has told
  decisions: /** @type {Map<number, ReviewState>} */ (new Map()),
  frame: 0,
  playing: false,
};

/** @param {CurvePoint[]} more */
export function addPoints(more) {
  const known = new Map(video.points.map((point) => [point[0], point]));
  for (const point of more) known.set(point[0], point);
  video.points = [...known.values()].sort((one, other) => one[0] - other[0]);
  emit("curve");
}

/** Frames whose carried mask waits. */
export const waiting = () => [...video.decisions].filter(([, state]) => state.carried).map(([frame]) => frame).sort((a, b) => a - b);

/** @param {number} frame */
export const pointAt = (frame) => video.points.find((point) => point[0] === frame);
