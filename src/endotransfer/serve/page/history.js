// Every decision about the open image, newest first, and the way back to each.
import { getJson, putJson } from "./api.js";
import { loadReviews } from "./image.js";
import { isBlind } from "./blind.js";
import { noteReview } from "./review.js";
import { attempt, element, emit, on, state } from "./state.js";

const box = element("history");

const load = () => attempt(async () => {
  const image = state.image;
  if (!box.open || !image || image.uploaded || !state.about.folder) return element("versions").replaceChildren();
  const { versions } = await getJson(`${image.path}/history`);
  if (state.image === image) element("versions").replaceChildren(...versions.reverse().map((version) => item(image, version)));
  return undefined;
});

function item(image, version) {
  const entry = document.createElement("li");
  const when = new Date(version.when).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" });
  const [what, more] = described(version);
  entry.textContent = `${version.number}. ${what} by ${version.who}, ${when}${more} `;
  const other = version.reading === "first" && version.mask && version.number !== image.review?.number;
  if (other && !isBlind(image)) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "link", textContent: "Return to it" });
    button.addEventListener("click", () => returnTo(image, version.number));
    entry.append(button);
  }
  return entry;
}

function described({ decision, restores, blind, reading, adjudicated }) {
  if (decision === "taken back") return [restores ? `back to ${restores}` : "taken back", ""];
  const more = [blind && "blind", reading === "second" && "second reading", adjudicated && "settles two readings"].filter(Boolean);
  return [decision, more.length ? ` (${more.join(", ")})` : ""];
}

const returnTo = (image, number) => attempt(async () => {
  const who = element("who").value.trim() || "unnamed";
  noteReview(image, await putJson(`${image.path}/review/version`, { to: number, who }, image.revision));
  await loadReviews(image);
  emit("sides");
  emit("reviewed");
});

box.addEventListener("toggle", load);
on("image reviewed", load);
