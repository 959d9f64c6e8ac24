// The timeline: the curves of area and doubt, what was decided, where one is.  Dragging scrubs.
import { context2d, element } from "./dom.js";
import { percent } from "./messages.js";
import { on, state } from "./state.js";
import { clock, frameAt } from "./video_curve.js";
import { showFrame } from "./video_frames.js";
import { pause } from "./video_player.js";
import { pointAt, video } from "./video_state.js";

const canvas = element("timeline", HTMLCanvasElement);
const EDGE = 8; // pixels to either side
const MARKS = 10; // height of the row of decisions
/** @type {Record<string, string>} */
const COLOURS = { accepted: "--good", corrected: "--run0", rejected: "--bad", carried: "--run1" };
let asked = false;

/** @param {string} name */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
const lastTime = () => Math.max(1e-3, video.open?.times.at(-1) ?? 0);
/** @param {number} frame */
const toX = (frame) => EDGE + ((video.open?.times[frame] ?? 0) / lastTime()) * (canvas.clientWidth - 2 * EDGE);

export function drawTimeline() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; draw(); });
}

function draw() {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!video.open || !width) return;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = context2d(canvas);
  context.scale(ratio, ratio);
  context.strokeStyle = resolved("--line");
  context.strokeRect(0.5, 0.5, width - 1, height - 1);
  drawArea(context, height - MARKS - 4);
  drawDoubt(context, height - MARKS - 4);
  drawMarks(context, height - MARKS);
  const x = toX(video.frame);
  context.fillStyle = resolved("--ink");
  context.fillRect(x - 1, 0, 2, height);
  context.beginPath();
  context.arc(x, 5, 5, 0, 2 * Math.PI);
  context.fill();
}

/** light-dark() is no colour to a canvas: an element says what it comes to. @param {string} name */
function resolved(name) {
  canvas.style.color = colour(name);
  return getComputedStyle(canvas).color;
}

/** @param {CanvasRenderingContext2D} context @param {number} floor */
function drawArea(context, floor) {
  const { points } = video;
  if (!points.length) return;
  const top = Math.max(0.01, ...points.map(([, area]) => area));
  /** @param {number} area */
  const toY = (area) => floor - (area / top) * (floor - 10);
  context.beginPath();
  context.moveTo(toX(points[0][0]), floor);
  for (const [frame, area] of points) context.lineTo(toX(frame), toY(area));
  context.lineTo(toX(points[points.length - 1][0]), floor);
  context.closePath();
  context.fillStyle = resolved("--run0");
  context.globalAlpha = 0.25;
  context.fill();
  context.globalAlpha = 1;
  line(context, points.map(([frame, area]) => [toX(frame), toY(area)]), "--run0", []);
}

/** @param {CanvasRenderingContext2D} context @param {number} floor */
function drawDoubt(context, floor) {
  line(context, video.points.map(([frame, , doubt]) => [toX(frame), floor - doubt * (floor - 10)]), "--run1", [4, 3]);
}

/** @param {CanvasRenderingContext2D} context @param {number[][]} points @param {string} name @param {number[]} dash */
function line(context, points, name, dash) {
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
  context.setLineDash(dash);
  context.strokeStyle = resolved(name);
  context.lineWidth = 1.5;
  context.stroke();
  context.setLineDash([]);
}

/** @param {CanvasRenderingContext2D} context @param {number} top */
function drawMarks(context, top) {
  for (const [frame, { review, carried }] of video.decisions) {
    const kind = carried ? "carried" : review?.decision;
    if (!kind) continue;
    context.fillStyle = resolved(COLOURS[kind]);
    if (carried) context.fillRect(toX(frame) - 1, top + 3, 2.5, MARKS - 6);
    else context.fillRect(toX(frame) - 1.5, top, 3, MARKS - 1);
  }
}

function tellPlace() {
  if (!video.open) return;
  const [time, last, known] = [video.open.times[video.frame], lastTime(), pointAt(video.frame)];
  const figures = known ? ` · area ${percent(known[1])} · doubt ${percent(known[2])}` : "";
  element("clock").textContent = `${clock(time)} / ${clock(last)}${figures}`;
  canvas.setAttribute("aria-valuemax", String(video.open.times.length - 1));
  canvas.setAttribute("aria-valuenow", String(video.frame));
  canvas.setAttribute("aria-valuetext", `${clock(time)}, frame ${video.frame}${figures}`);
}

/** The predicted frame that is nearest, or any where none is near. @param {PointerEvent} event */
function frameUnder(event) {
  const box = canvas.getBoundingClientRect();
  const part = (event.clientX - box.left - EDGE) / (box.width - 2 * EDGE);
  const times = video.open?.times ?? [0];
  const time = Math.max(0, Math.min(1, part)) * lastTime();
  const before = frameAt(times, time);
  const frame = (times[before + 1] ?? Infinity) - time < time - times[before] ? before + 1 : before;
  const reach = Math.max(2, Math.ceil((2 * (video.open?.times.length ?? 1)) / box.width));
  const near = video.points.map(([known]) => known).filter((known) => Math.abs(known - frame) <= reach);
  return near.sort((one, other) => Math.abs(one - frame) - Math.abs(other - frame))[0] ?? frame;
}

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  pause();
  showFrame(frameUnder(event));
});
canvas.addEventListener("pointermove", (event) => { if (canvas.hasPointerCapture(event.pointerId)) showFrame(frameUnder(event)); });
new ResizeObserver(drawTimeline).observe(canvas);
on(["frame", "curve"], () => {
  element("curve-file").hidden = !video.points.length;
  tellPlace();
  drawTimeline();
});
on("look", () => { if (state.desk) drawTimeline(); });
