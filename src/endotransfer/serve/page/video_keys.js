// Keys of the view Video, before those of the editor: an arrow is a frame, with Shift a second.
import { isCursorShown } from "./cursor.js";
import { element } from "./dom.js";
import { typing } from "./keys.js";
import { state } from "./state.js";
import { showFrame } from "./video_frames.js";
import { stepFrames, stepSeconds, toPeak, togglePlay } from "./video_player.js";
import { video } from "./video_state.js";

/** @type {Record<string, () => unknown>} */
const PLAIN = {
  ArrowLeft: () => stepFrames(-1), ArrowRight: () => stepFrames(1), " ": togglePlay, j: () => toPeak(-1), k: () => toPeak(1),
  Home: () => showFrame(0), End: () => showFrame((video.open?.times.length ?? 1) - 1),
};
/** @type {Record<string, () => unknown>} */
const SHIFTED = { ArrowLeft: () => stepSeconds(-1), ArrowRight: () => stepSeconds(1) };

addEventListener("keydown", (event) => {
  if (!state.desk || !video.open || typing(event) || event.altKey || event.ctrlKey || event.metaKey) return;
  const target = event.target instanceof Element ? event.target : null;
  if (target?.closest("[role=tab]") || (event.key === " " && target?.closest("button, summary, a, input"))) return;
  if (event.key.startsWith("Arrow") && isCursorShown()) return;
  const action = event.shiftKey ? SHIFTED[event.key] : PLAIN[event.key.length > 1 ? event.key : event.key.toLowerCase()];
  if (!action || element("video").hidden) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  action();
}, true);
