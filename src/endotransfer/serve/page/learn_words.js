// Sentences of the view "Learn": how far a training is, what a figure was and is.
/** @import { FigureChange, RetrainingJob } from "./types.d.ts" */

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** @param {number} count */
export const masks = (count) => `${count} reviewed ${count === 1 ? "mask" : "masks"}`;

/** @param {RetrainingJob} job */
export function progressOf(job) {
  const reached = job.steps ? `step ${job.step} of ${job.steps}` : `step ${job.step}`;
  const beginning = `${job.name}, from ${job.before} with ${masks(job.reviewed)}`;
  if (job.state === "done") return `${beginning}: done, ${job.step} steps.`;
  if (job.state === "failed") return `${beginning}: failed at ${reached}.`;
  if (job.state === "stopped") return `${beginning}: stopped at ${reached}.`;
  if (!job.step) return `${beginning}: beginning.`;
  return `${beginning}: ${reached}${job.left === null ? "" : `, about ${duration(job.left)} left`}.`;
}

/** @param {number | null} value @param {boolean} [signed] */
export function figure(value, signed = false) {
  if (value === null) return "–";
  return `${signed && value > 0 ? "+" : ""}${value.toFixed(1)}`.replace("-", "−");
}

/** The cells after the title: before, after, difference with its interval. @param {FigureChange} row */
export function cells({ before, after, difference, interval }) {
  const between = interval ? ` (${interval.map((end) => figure(end, true)).join(" to ")})` : "";
  const known = difference ?? (before === null || after === null ? null : after - before);
  return [figure(before), figure(after), `${figure(known, true)}${between}`];
}
