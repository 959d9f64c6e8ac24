// Accept, reject, correct: sent at once, kept by the service under reviewed/ of the image folder.
import { remove, sendForm } from "./api.js";
import { canUndo, discardDraft } from "./drawing.js";
import { labelsOf, modelOf } from "./image.js";
import { forget, step } from "./list.js";
import { toPng } from "./masks.js";
import { attempt, element, emit, on, recall, remember, say, state, tell } from "./state.js";

const PAST = { accepted: "Accepted", corrected: "Corrected", rejected: "Rejected" };
const NO_MODEL = {
  draft: "You have drawn a correction: save it, or discard it and accept the model's mask.",
  other: "Choose a model on the left: what is shown there is what you accept.",
};
let sending = false;

export const accept = () => decide("accepted");
export const reject = () => decide("rejected");
export const saveCorrection = () => decide("corrected");

function decide(decision) {
  return attempt(async () => {
    const image = state.image;
    if (!image || sending || !mayReview(image)) return;
    if (decision === "corrected" && !image.draft) return tell("There is no correction yet; take the brush first.");
    if (decision === "accepted" && modelOf(state.left) === null) return tell(NO_MODEL[state.left] ?? NO_MODEL.other);
    const side = { accepted: state.left, corrected: "draft", rejected: modelOf(state.left) === null ? "model0" : state.left }[decision];
    sending = true;
    try {
      await send(image, decision, side);
    } finally {
      sending = false;
    }
    return undefined;
  });
}

function mayReview(image) {
  if (image.uploaded || !state.about.folder) {
    tell("Decisions are kept beside the images of a folder; start the viewer with --images DIR. The mask can be downloaded.");
    return false;
  }
  if (!element("who").value.trim()) {
    tell("Please enter your name first: it is saved with the decision.");
    element("who").closest("details").open = true;
    element("who").focus();
    return false;
  }
  return true;
}

async function send(image, decision, side) {
  const labels = labelsOf(image, side);
  const asked = {
    decision, who: element("who").value.trim(),
    model: side === "draft" ? image.draftFrom : modelOf(side), replaces: image.review?.when ?? null,
  };
  const mask = await toPng(labels, image.width, image.height);
  let review;
  try {
    review = await sendForm("PUT", `${image.path}/review`, { review: JSON.stringify(asked), mask });
  } catch (error) {
    if (error.code === "changed") forget(image.row.id);
    throw error;
  }
  image.review = review;
  image.reviewed = decision === "rejected" ? null : Uint8Array.from(labels);
  noteReview(image, review);
  if (decision === "corrected") discardDraft();
  say(`${PAST[decision]}: ${image.row.name}`);
  emit("sides");
  emit("reviewed");
  if (element("advance").checked) await step(1);
}

function noteReview(image, review) {
  for (const row of state.rows) if (row.id === image.row.id) row.review = review;
  image.row.review = review;
  emit("rows");
  if (state.image === image) showDecision();
}

function takeBack() {
  return attempt(async () => {
    const image = state.image;
    await remove(`${image.path}/review`);
    image.review = null;
    image.reviewed = null;
    noteReview(image, null);
    emit("sides");
    emit("reviewed");
    say("Decision taken back");
  });
}

function showDecision() {
  const { review } = state.image;
  const note = element("decision");
  note.replaceChildren();
  note.dataset.decision = review?.decision ?? "";
  if (!review) {
    const can = state.about.folder && !state.image.uploaded;
    note.textContent = can ? "Not reviewed yet." : "Decisions need a folder (--images); masks can still be corrected and downloaded.";
    return;
  }
  const when = new Date(review.when).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  const button = Object.assign(document.createElement("button"), { type: "button", className: "link", textContent: "Take back" });
  button.addEventListener("click", takeBack);
  note.append(`${PAST[review.decision]} by ${review.who}, ${when}. `, button);
}

function showDrawing() {
  const image = state.image;
  element("drawing").hidden = state.tool === "move" && !image?.draft;
  element("save").disabled = !image?.draft || image.uploaded || !state.about.folder;
  element("undo").disabled = !canUndo();
  element("discard").disabled = !image?.draft;
  element("canvas").dataset.tool = state.tool;
}

export function setTool(tool) {
  state.tool = tool;
  document.querySelector(`input[name=tool][value=${tool}]`).checked = true;
  showDrawing();
  emit("look");
}

export function setBrush(size) {
  state.brush = Math.min(100, Math.max(1, Math.round(size)));
  element("brush").value = state.brush;
  emit("look");
}

element("accept").addEventListener("click", accept);
element("reject").addEventListener("click", reject);
element("save").addEventListener("click", saveCorrection);
element("tools").addEventListener("change", (event) => setTool(event.target.value));
element("paint").addEventListener("change", (event) => { state.paint = Number(event.target.value); });
element("brush").addEventListener("input", (event) => setBrush(Number(event.target.value)));
element("who").value = recall("who", "");
element("who").addEventListener("change", (event) => remember("who", event.target.value));
on("image", () => {
  if (state.tool !== "move") setTool("move");
  setBrush(Math.max(2, Math.min(state.image.width, state.image.height) / 25));
  showDecision();
});
on("image drawing", showDrawing);
