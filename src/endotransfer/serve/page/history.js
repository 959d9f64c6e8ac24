// Every decision about the open image, newest first, and the way back to each.
/** @import { OpenImage, ReviewHistory, ReviewVersion } from "./types.d.ts" */
import { getJson, putJson } from "./api.js";
import { isBlind } from "./blind.js";
import { details, element, make } from "./dom.js";
import { loadReviews } from "./image.js";
import { attempt } from "./messages.js";
import { noteReview } from "./review.js";
import { nameOrNone } from "./reviewer.js";
import { emit, on, state } from "./state.js";
import { described } from "./versions.js";

const box = details("history");

const load = () => attempt(async () => {
  const image = state.image;
  if (!box.open || !image || image.uploaded || !state.about.folder) return element("versions").replaceChildren();
  const { versions } = /** @type {ReviewHistory} */ (await getJson(`${image.path}/history`));
  if (state.image === image) element("versions").replaceChildren(...versions.reverse().map((version) => item(image, version)));
  return undefined;
});

/** @param {OpenImage} image @param {ReviewVersion} version */
function item(image, version) {
  const when = new Date(version.when).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  const [what, more] = described(version);
  const entry = make("li", {}, `${version.number}. ${what} by ${version.who}, ${when}${more} `);
  const other = version.reading === "first" && version.mask && version.number !== image.review?.number;
  if (other && !isBlind(image)) {
    const button = make("button", { type: "button", className: "link", textContent: "Return to it" });
    button.addEventListener("click", () => returnTo(image, version.number));
    entry.append(button);
  }
  return entry;
}

/** @param {OpenImage} image @param {number} number */
const returnTo = (image, number) => attempt(async () => {
  noteReview(image, await putJson(`${image.path}/review/version`, { to: number, who: nameOrNone() }, image.revision));
  await loadReviews(image);
  emit("sides");
  emit("reviewed");
});

box.addEventListener("toggle", load);
on(["image", "reviewed"], load);
