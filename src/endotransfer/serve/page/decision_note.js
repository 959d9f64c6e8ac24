// The decision in force about the open image, in words, and which buttons can be pressed about it.
/** @import { OpenImage, Review, SecondReading } from "./types.d.ts" */
import { inSample, isBlind, readingOf } from "./blind.js";
import { element, make, unbroken } from "./dom.js";
import { reviewerName } from "./reviewer.js";
import { on, state } from "./state.js";

export const PAST = { accepted: "Accepted", corrected: "Corrected", rejected: "Rejected" };

/** @param {OpenImage} image */
export function showDecision(image) {
  const { review } = image;
  const note = element("decision");
  const own = ownDecision(image);
  note.replaceChildren();
  note.dataset.decision = own ? own.decision ?? "corrected" : "";
  if (!own) {
    if (image.carried) {
      note.textContent = `Carried from frame ${image.carried.from} by ${image.carried.who}; nobody has decided yet.`;
      return;
    }
    const can = state.about.folder && !image.uploaded;
    const empty = review ? `Read by ${review.who}; yours is open.` : "Not reviewed yet.";
    note.replaceChildren(...unbroken(can ? empty : "Decisions need a folder (--images); masks can still be corrected and downloaded."));
    return;
  }
  const when = new Date(own.when).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  note.append(`${inWords(own)} by ${own.who}, ${when}. `, make("button", { type: "button", className: "link", textContent: "Take back" }));
}

/**
 * The decision in force, of a second reader their own.
 * @param {OpenImage} image @returns {(Partial<Review> & SecondReading) | null | undefined}
 */
function ownDecision({ review, second }) {
  return readingOf(state.image) === "second" ? second.find(({ who }) => who === reviewerName()) : review;
}

/** @param {Partial<Review>} own */
function inWords({ adjudicated, blind, decision }) {
  if (adjudicated) return "Settled";
  if (blind) return "Drawn blind";
  return decision ? PAST[decision] : "Second reading";
}

/** In a blind reading nothing can be accepted: the buttons say what can be done instead. @param {OpenImage} image */
function showButtons(image) {
  const blind = isBlind(image);
  const settling = blind && readingOf(image) === "adjudicate";
  element("accept").hidden = blind && !settling;
  element("accept").textContent = settling ? "Take left" : "Accept";
  element("reject").hidden = blind;
  element("no-lesion").hidden = !blind;
  element("blind-note").hidden = !blind;
  element("seen-note").hidden = blind || !inSample(image) || Boolean(image.review?.blind);
}

on(["image", "sides"], () => { if (state.image) { showDecision(state.image); showButtons(state.image); } });
