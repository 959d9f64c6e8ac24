// The third tab: which images to draw next, training with what was drawn, and what that brought.
/** @import { Learning } from "./types.d.ts" */
import { getJson } from "./api.js";
import { button, element, unbroken } from "./dom.js";
import { showBatch } from "./learn_batch.js";
import { showJob } from "./learn_job.js";
import { masks } from "./learn_words.js";
import { state } from "./state.js";

export async function showLearn() {
  button("batch").disabled = !state.about.folder;
  showBatch();
  const { possible, reason, reviewed, job } = /** @type {Learning} */ (await getJson("/api/learning"));
  element("learn-reason").replaceChildren(...(possible ? [] : unbroken(`This model cannot be trained again from here: ${reason}`)));
  element("learn-reviewed").textContent = possible ? `${masks(reviewed)} of training images so far.` : "";
  showJob(job, possible && reviewed > 0);
}
