// Accept, reject, correct: sent at once, kept by the service under reviewed/ of the image folder.
/** @import { Refusal } from "./api.js" */
/** @import { Decision, OpenImage, ReviewState } from "./types.d.ts" */
import { refusedAs, remove, sendForm } from "./api.js";
import { isBlind, readingOf } from "./blind.js";
import { confirmed } from "./confirm.js";
import { PAST, showDecision } from "./decision_note.js";
import { noteDecision, showStacks } from "./decisions.js";
import { button, element, input, onClick } from "./dom.js";
import { beginDraft, discardDraft, settled } from "./drafts.js";
import { isCorrected, labelsOf, loadReviews, modelOf, sides } from "./image.js";
import { dropDraft } from "./kept_drafts.js";
import { forget, goOn } from "./list.js";
import { attempt, say, tell } from "./messages.js";
import { toPng } from "./png.js";
import { reviewerName } from "./reviewer.js";
import { emit, on, state } from "./state.js";

/** @type {Record<string, string>} */
const NO_MODEL = {
  draft: "You have drawn a correction: save it, or discard it and accept the model's mask.",
  reviewed: "This is the reviewed mask, and it holds already: choose a model on the left to accept its mask instead.",
  other: "Choose a model on the left: what is shown there is what you accept.",
};
const BLIND = "This image measures the model, so it is judged blind: draw the lesion, or press N where there is none.";
let sending = false;

export const accept = () => (state.desk && state.left === "carried" ? state.desk.acceptCarried?.() : acceptShown());
const acceptShown = () => (readingOf(state.image) === "adjudicate" && isBlind(state.image) ? decide("corrected", state.left) : decide("accepted"));
export const reject = () => decide("rejected");
export const saveCorrection = () => decide("corrected");

// Nothing is to be seen in this image.
export async function saveEmpty() {
  const image = state.image;
  if (!image || !mayReview(image)) return;
  if (image.draft?.some(Boolean) && !(await confirmed("An empty mask would be saved instead of what you have drawn.", "No lesion"))) return;
  beginDraft(true);
  await decide("corrected");
}

/** @param {Decision} decision @param {string} [taken] the side whose mask is meant */
function decide(decision, taken = "draft") {
  return attempt(async () => {
    const image = state.image;
    if (!image || sending || !mayReview(image)) return undefined;
    const problem = whyNot(image, decision, taken);
    if (problem) return tell(problem);
    const side = { accepted: state.left, corrected: taken, rejected: modelOf(state.left) === null ? "model0" : state.left }[decision];
    const doubt = await sent(image, decision, side);
    // Nothing is being sent while it is asked: the key after the answer must not be lost.
    if (doubt && await confirmed(doubt, "Put it aside")) await sent(image, decision, side, true);
    return undefined;
  });
}

/**
 * What must be asked before it is done, if anything.
 * @param {OpenImage} image @param {Decision} decision @param {string} side @param {boolean} [agreed]
 */
async function sent(image, decision, side, agreed = false) {
  sending = true;
  try {
    await settled();
    return await send(image, decision, side, agreed);
  } finally {
    sending = false;
  }
}

/** @param {OpenImage} image @param {Decision} decision @param {string} taken */
function whyNot(image, decision, taken) {
  if (decision === "corrected") return labelsOf(image, taken) ? null : "There is no drawing yet; take the brush first.";
  if (isBlind(image)) return BLIND;
  if (decision === "accepted" && modelOf(state.left) === null) return NO_MODEL[state.left] ?? NO_MODEL.other;
  return null;
}

/** @param {OpenImage} image */
function mayReview(image) {
  if (image.uploaded || !state.about.folder) {
    tell("Decisions are kept beside the images of a folder; start the viewer with --images DIR. The mask can be downloaded.");
    return false;
  }
  if (!reviewerName()) {
    tell("Please enter your name first: it is saved with the decision.");
    const around = input("who").closest("details");
    if (around) around.open = true;
    input("who").focus();
    return false;
  }
  return true;
}

/** @param {OpenImage} image @param {Decision} decision @param {string} side @param {boolean} agreed */
function question(image, decision, side, agreed) {
  const reading = readingOf(image);
  const model = side === "draft" ? image.draftFrom : modelOf(side);
  return {
    decision, who: reviewerName(), model, threshold: decision === "accepted" ? state.threshold : null,
    blind: isBlind(image), reading: reading === "second" ? "second" : "first", adjudicated: reading === "adjudicate", over_correction: agreed,
  };
}

/** @param {OpenImage} image @param {Decision} decision @param {string} side @param {boolean} agreed */
async function send(image, decision, side, agreed) {
  const labels = Uint8Array.from(labelsOf(image, side) ?? []);
  const asked = question(image, decision, side, agreed);
  const [before, drawn] = [image.review?.number ?? null, image.version];
  let told;
  try {
    const mask = await toPng(labels, image.width, image.height);
    told = await sendForm("PUT", `${image.path}/review`, { review: JSON.stringify(asked), mask }, image.revision);
  } catch (error) {
    if (refusedAs(error, "over-correction")) return error.message.replace(/; say .*/, "."); // here one says it by a button
    if (refusedAs(error, "changed")) await meanwhile(image, error);
    throw error;
  }
  if (asked.reading === "second") image.seconds = [...image.seconds.filter(({ who }) => who !== asked.who), { who: asked.who, mask: labels }];
  else image.reviewed = decision === "rejected" ? null : labels;
  noteReview(image, told);
  if (side === "draft" && image.version === drawn) { // what was drawn since is not saved yet
    dropDraft(image.row.id);
    discardDraft(image);
    if (state.image === image && isBlind(image)) state.left = sides(image)[0][0]; // what one drew does not vanish
    else if (state.image === image && isCorrected(image)) state.left = "reviewed";
  }
  image.version += 1; // another mask is to be shown
  if (asked.reading === "first") noteDecision(image, before, told.review.number);
  say(`${PAST[decision]}: ${image.row.name}`);
  emit("sides");
  emit("reviewed");
  if (input("advance").checked && state.image === image) await goOn();
  return null;
}

/**
 * Somebody else was quicker: what they decided is shown, and nothing of what was drawn here is lost.
 * @param {OpenImage} image @param {Refusal} refusal
 */
async function meanwhile(image, { said }) {
  forget(image.row.id);
  noteReview(image, /** @type {ReviewState & Record<string, any>} */ (said));
  await loadReviews(image);
  emit("sides");
  emit("reviewed");
}

/** @param {OpenImage} image @param {ReviewState} told */
export function noteReview(image, { review, revision, second, carried }) {
  for (const row of [...state.rows, image.row]) if (row.id === image.row.id) Object.assign(row, { review, revision, second, carried });
  Object.assign(image, { review, revision, second, carried });
  emit("rows");
  if (state.image === image) showDecision(image);
}

function takeBack() {
  return attempt(async () => {
    const image = state.image;
    if (!image || !mayReview(image)) return;
    const reading = readingOf(image) === "second" ? "second" : "first";
    const before = image.review?.number ?? null;
    try {
      const who = encodeURIComponent(reviewerName());
      noteReview(image, await remove(`${image.path}/review?who=${who}&reading=${reading}`, image.revision));
    } catch (error) {
      if (refusedAs(error, "changed")) await meanwhile(image, error);
      throw error;
    }
    if (reading === "first") noteDecision(image, before, image.review?.number ?? null);
    await loadReviews(image);
    emit("sides");
    emit("reviewed");
    say("Decision taken back");
  });
}

onClick("accept", accept);
onClick("reject", reject);
onClick("save", saveCorrection);
onClick("no-lesion", saveEmpty);
element("decision").addEventListener("click", ({ target }) => { if (target instanceof HTMLButtonElement) takeBack(); });
on("image", showStacks);
on(["image", "sides", "look"], () => {
  for (const id of ["accept", "reject", "download"]) button(id).disabled = !state.image;
});
