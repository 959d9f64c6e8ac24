// The reviewed set as one file: asked for, followed until it is there, offered for download.
/** @import { ExportJob } from "./types.d.ts" */
import { getJson, postJson, sentence } from "./api.js";
import { button, element, onClick, select } from "./dom.js";
import { attempt } from "./messages.js";
import { state } from "./state.js";

const PAUSE = 300; // milliseconds between two looks

export function offerExport() {
  element("export").hidden = !state.about.folder;
}

async function make() {
  button("export-start").disabled = true;
  try {
    let job = /** @type {ExportJob} */ (await postJson("/api/exports", { form: select("export-form").value }));
    show(job);
    while (job.state === "running") {
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      job = await getJson(`/api/exports/${job.id}`);
      show(job);
    }
    if (job.state === "failed") throw new Error(sentence(job.fault));
  } finally {
    button("export-start").disabled = false;
    element("export-progress").hidden = true;
  }
}

/** @param {ExportJob} job */
function show(job) {
  const ready = job.state === "ready";
  const bar = element("export-progress", HTMLProgressElement);
  Object.assign(bar, { hidden: ready, max: job.total || 1, value: job.done });
  const link = element("export-file", HTMLAnchorElement);
  Object.assign(link, { hidden: !ready, href: `/api/exports/${job.id}/file`, textContent: `Download reviewed-${job.form}.zip` });
  element("export-note").textContent = ready ? summary(job) : "";
}

/** @param {number} count */
const counted = (count) => (count === 1 ? "1 image" : `${count} images`);

/** @param {ExportJob} job */
function summary({ images, left_out: names, left_out_count: count, notes }) {
  const more = count > names.length ? ", …" : "";
  const left = count ? `${counted(count)} left out (${names.join(", ")}${more}); the terminal says why.` : "";
  return [`${counted(images)} exported.`, left, ...notes].filter(Boolean).join(" ");
}

onClick("export-start", () => attempt(make));
