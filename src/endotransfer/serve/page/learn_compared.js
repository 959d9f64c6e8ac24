// Before and after a training: the table, what may be concluded, and the images that changed most.
/** @import { ChangedImage, Compared, RetrainingJob } from "./types.d.ts" */
import { getJson, postJson } from "./api.js";
import { confirmed } from "./confirm.js";
import { button, element, make, onClick } from "./dom.js";
import { imageLink } from "./learn_batch.js";
import { cells } from "./learn_words.js";
import { attempt, percent } from "./messages.js";
import { state } from "./state.js";

/** @typedef {"before" | "after" | "truth"} Side */
const SIDES = /** @type {[Side, string][]} */ ([["before", "before"], ["after", "after"], ["truth", "ground truth"]]);

export function hideCompared() {
  element("compared").hidden = true;
}

/** @param {RetrainingJob} job */
export async function showCompared(job) {
  const found = /** @type {Compared} */ (await getJson("/api/learning/comparison"));
  element("compared").hidden = false;
  element("compared-basis").textContent = `${job.before} and ${job.name} on ${found.images} images: ${found.basis}.`;
  element("compared-said").textContent = found.conclusion;
  element("compared-notes").textContent = found.notes.join(" ");
  element("compared-rows", HTMLTableElement).tBodies[0].replaceChildren(...found.rows.map((row) =>
    make("tr", {}, make("th", { scope: "row", textContent: row.title }), ...cells(row).map((text) => make("td", { textContent: text })))));
  element("changed-head").hidden = !found.changed.length;
  element("changed").replaceChildren(...found.changed.map(changedImage));
  const served = state.about.models[0].name === job.name;
  button("serve-new").disabled = served;
  button("serve-new").textContent = served ? `${job.name} is served` : `Serve ${job.name}`;
}

/** @param {ChangedImage} image */
function changedImage(image) {
  const pictures = SIDES.filter(([side]) => side !== "truth" || image.truth).map(([side, title]) => {
    const iou = side === "truth" ? null : image[side];
    const alt = `${image.name}: ${title}`;
    return make("figure", {}, make("img", { src: `/api/learning/comparison/${image.id}/${side}`, alt, loading: "lazy" }),
      make("figcaption", { textContent: iou === null ? title : `${title}, IoU ${percent(iou, 0)}` }));
  });
  const link = make("a", { href: imageLink(image.name), textContent: image.name });
  return make("div", {}, make("h3", {}, link), make("div", { className: "triple" }, ...pictures));
}

onClick("serve-new", () => attempt(async () => {
  const question = "Show the new model instead of the old one? The old one stays beside it for comparison.";
  if (!await confirmed(question, "Serve it")) return;
  await postJson("/api/learning/serve", {});
  location.reload(); // another model has other masks, figures and an order of its own
}));
