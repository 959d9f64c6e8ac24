// "Retrain with these": begin, stop, go on, and watch.
/** @import { RetrainingJob } from "./types.d.ts" */
import { getJson, postJson, remove } from "./api.js";
import { chart } from "./chart.js";
import { button, element, onClick } from "./dom.js";
import { hideCompared, showCompared } from "./learn_compared.js";
import { progressOf } from "./learn_words.js";
import { attempt, say } from "./messages.js";

const PAUSE = 1000; // milliseconds between two looks
const JOB = "/api/learning/job";
let timer = 0;
let drawn = ""; // what the charts and the comparison show

/** @param {RetrainingJob | null} job @param {boolean} possible */
export function showJob(job, possible) {
  clearTimeout(timer);
  const running = job?.state === "running";
  button("job-start").disabled = !possible || running;
  button("job-stop").hidden = !running;
  button("job-resume").hidden = job?.state !== "stopped" && job?.state !== "failed";
  element("job").hidden = !job;
  if (!job) return hideCompared();
  Object.assign(element("job-progress", HTMLProgressElement), { max: job.steps || 1, value: job.step });
  element("job-note").textContent = progressOf(job);
  element("job-error").textContent = job.message.charAt(0).toUpperCase() + job.message.slice(1);
  const now = `${job.name} ${job.state} ${job.step}`;
  if (now !== drawn) showNews(job, drawn);
  drawn = now;
  if (running) timer = setTimeout(() => { if (!element("learn").hidden) look(possible); }, PAUSE);
  return undefined;
}

/** Curves are drawn anew only where there is more of them: a pointer may rest on one. @param {RetrainingJob} job @param {string} before */
function showNews(job, before) {
  const losses = Object.entries(job.curves).filter(([name]) => name.startsWith("loss/"));
  element("job-charts").replaceChildren(...losses.map(([name, { steps, values }]) =>
    chart(name, [{ label: job.name, place: 0, x: steps, y: values }])));
  if (before && !before.startsWith(`${job.name} ${job.state} `)) say(progressOf(job));
  if (job.state === "done") attempt(() => showCompared(job));
  else hideCompared();
}

/** @param {boolean} possible */
const look = (possible) => attempt(async () => showJob((await getJson(JOB)).job, possible));

/** @param {string} id @param {() => Promise<{ job: RetrainingJob }>} ask */
function onAsked(id, ask) {
  onClick(id, () => attempt(async () => {
    button(id).disabled = true;
    const { job } = await ask().finally(() => { button(id).disabled = false; });
    showJob(job, true);
  }));
}

onAsked("job-start", () => postJson(JOB, {}));
onAsked("job-resume", () => postJson(`${JOB}/resume`, {}));
onAsked("job-stop", () => remove(JOB));
