// Playing the video: the frames that are predicted, in their own time; those that come late are left out.
import { button, element, onClick } from "./dom.js";
import { tell } from "./messages.js";
import { frameAt, nextOf, peaks } from "./video_curve.js";
import { showFrame } from "./video_frames.js";
import { video } from "./video_state.js";

export function pause() {
  video.playing = false;
  button("play").textContent = "▶";
  button("play").setAttribute("aria-label", "Play");
}

export async function play() {
  if (!video.open) return;
  const { times } = video.open;
  const playable = video.points.length > 1 ? video.points.map(([frame]) => frame) : times.map((_, frame) => frame);
  if (video.frame >= playable[playable.length - 1]) await showFrame(playable[0]);
  video.playing = true;
  button("play").textContent = "❚❚";
  button("play").setAttribute("aria-label", "Pause");
  const [began, from] = [performance.now(), times[video.frame]];
  while (video.playing && !element("video").hidden) {
    const now = frameAt(times, from + (performance.now() - began) / 1000);
    const due = nextOf(playable, now + 1, -1) ?? video.frame;
    if (due > video.frame) await showFrame(due);
    else await new Promise((resolve) => setTimeout(resolve, 15));
    if (video.frame >= playable[playable.length - 1]) break;
  }
  pause();
}

export const togglePlay = () => (video.playing ? pause() : play());

/** @param {number} way */
export function toPeak(way) {
  pause();
  const of = element("peak-of", HTMLSelectElement).value === "doubt" ? 2 : 1;
  const next = nextOf(peaks(video.points, of), video.frame, way);
  if (next !== null) return showFrame(next);
  const where = way > 0 ? "after" : "before";
  return tell(video.points.length ? `There is no further peak ${where} this frame.` : "Predict the video first; peaks come from its curve.");
}

/** @param {number} seconds */
export function stepSeconds(seconds) {
  if (!video.open) return undefined;
  pause();
  const at = frameAt(video.open.times, Math.max(0, video.open.times[video.frame] + seconds));
  return showFrame(at === video.frame ? at + Math.sign(seconds) : at);
}

/** @param {number} by */
export function stepFrames(by) {
  pause();
  return showFrame(video.frame + by);
}

onClick("play", togglePlay);
onClick("peak-back", () => toPeak(-1));
onClick("peak-next", () => toPeak(1));
