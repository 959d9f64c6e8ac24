// The images one can go through, and the way from one to the next.
/** @import { Drawing, OpenImage, Row, Survey } from "./types.d.ts" */
import { getJson } from "./api.js";
import { hidesRow } from "./blind.js";
import { element, make, onClick, onValue, select } from "./dom.js";
import { chosen } from "./filters.js";
import { openImage } from "./image.js";
import { remember } from "./memory.js";
import { attempt, percent, say } from "./messages.js";
import { emit, on, state } from "./state.js";

/** @type {Record<string, [sign: string, word: string]>} */
const MARKS = { accepted: ["✓", "accepted"], corrected: ["✎", "corrected"], rejected: ["✕", "rejected"] };
const AHEAD = 5; // images kept ready
const AT_ONCE = 80; // new rows of a list before anything else is shown
const CHUNK = 200; // and then
/** Unsaved corrections by image. @type {Map<string, Drawing>} */
const drafts = new Map();
/** @type {Map<string, Promise<OpenImage>>} */
const opened = new Map();
/** @typedef {{ entry: HTMLElement, button: HTMLElement, mask: HTMLImageElement, note: HTMLElement, mark: HTMLElement, row: Row }} Item */
/** By image, kept so that no picture is fetched twice. @type {Map<string, Item>} */
const items = new Map();
/** Thumbnails come after the first image: the service makes a few pictures at a time. @type {Promise<unknown>} */
const firstImage = new Promise((resolve) => { on("image", () => resolve(null)); setTimeout(resolve, 1500); });
let asked = 0; // the newest wish: an image that comes late is not shown
let at = ""; // the id of the row that is marked
let built = 0; // how often the list was built

export async function loadList() {
  const { images, survey } = /** @type {{ images: Row[], survey: Survey }} */ (await getJson(`/api/images?order=${state.order}`));
  state.rows = images;
  showSurvey(survey);
  emit("rows");
  return survey;
}

/** @param {Survey} survey */
function showSurvey({ done, total }) {
  const note = element("survey");
  note.hidden = done >= total;
  note.textContent = `${done} of ${total} images predicted; the order may still change.`;
}

// Ask now and then while the walk over the folder goes on, and sort again.
export async function followSurvey() {
  let pause = 700;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    const survey = /** @type {Survey | null} */ (await getJson("/api/survey").catch(() => null));
    if (!survey) return;
    showSurvey(survey);
    await attempt(loadList);
    if (survey.done >= survey.total) return;
    pause = Math.min(5000, pause * 1.3);
  }
}

export const visibleRows = () => [...state.picked, ...state.rows].filter(chosen);

/** @param {string} id */
export const rowOf = (id) => (state.desk ? state.desk.rowOf(id) : [...state.picked, ...state.rows].find((row) => row.id === id));

/** @param {Row} row */
function open(row) {
  const known = opened.get(row.id) ?? openImage(row);
  opened.delete(row.id);
  opened.set(row.id, known);
  known.catch(() => opened.delete(row.id));
  for (const id of [...opened.keys()].slice(0, -AHEAD)) opened.delete(id);
  return known;
}

/** @param {string} id */
export function forget(id) {
  opened.delete(id);
  state.desk?.forget(id);
}

/** @param {Row} row */
export async function show(row) {
  if (state.desk) return state.desk.show(row);
  const wish = (asked += 1);
  keepDraft();
  element("busy").hidden = false;
  const rows = visibleRows();
  const place = rows.findIndex((one) => one.id === row.id) + 1;
  element("title").replaceChildren(make("span", { textContent: row.name }), make("small", { textContent: ` ${place} of ${rows.length}` }));
  markCurrent(row.id);
  try {
    const image = await open(row);
    if (wish !== asked) return undefined;
    image.row = row;
    Object.assign(image, drafts.get(row.id) ?? {});
    if (!/^model|^truth/.test(state.left)) state.left = "model0";
    if (image.draft) state.left = "draft";
    state.image = image;
    element("empty").hidden = true;
    notePlace(row);
    emit("image");
    if (rows[place]) open(rows[place]).catch(() => {}); // the next one, before it is asked for
    say(`Image ${place} of ${rows.length}: ${row.name}${row.review ? `, ${row.review.decision}` : ""}`);
  } catch (error) {
    if (wish !== asked) return undefined;
    state.image = null; // or a decision would be about the image before
    element("decision").textContent = "";
    emit("look");
    throw error;
  } finally {
    if (wish === asked) element("busy").hidden = true;
  }
  return undefined;
}

/** The address leads back to the image, and so does the next visit. @param {Row} row */
function notePlace(row) {
  if (row.uploaded) return;
  history.replaceState(null, "", `#image=${encodeURIComponent(row.name)}`);
  remember(`at.${state.about.folder}`, row.name);
}

export const wished = () => asked > 0;

export function keepDraft() {
  const image = state.image;
  if (!image) return;
  const { draft, start, draftFrom, before, past, future } = image;
  if (draft) drafts.set(image.row.id, { draft, start, draftFrom, before, past, future });
  else drafts.delete(image.row.id);
}

/** @param {string} id */
export const draftOf = (id) => drafts.get(id);

/** @param {string} id */
export const dropDraft = (id) => drafts.delete(id);

/** @param {number} by */
export const step = (by) => attempt(async () => {
  if (state.desk) return void state.desk.step(by);
  const rows = visibleRows();
  if (!rows.length) return undefined;
  const here = rows.findIndex((row) => row.id === at);
  const next = here < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, here + by));
  if (next !== here) await show(rows[next]);
  return undefined;
});

/** After a decision. */
export const goOn = () => (state.desk ? state.desk.goOn() : step(1));

/** @param {string} id */
function markCurrent(id) {
  items.get(at)?.button.removeAttribute("aria-current");
  at = id;
  showCurrent();
}

export function showCurrent() {
  const button = items.get(at)?.button;
  button?.setAttribute("aria-current", "true");
  if (button?.isConnected) bringIntoView(button);
}

/** Scrolls the list alone: on a small screen the page itself must not jump. @param {HTMLElement} button */
function bringIntoView(button) {
  const strip = element("strip");
  const [inside, box] = [strip.getBoundingClientRect(), button.getBoundingClientRect()];
  strip.scrollTop += Math.min(0, box.top - inside.top) + Math.max(0, box.bottom - inside.bottom);
  strip.scrollLeft += Math.min(0, box.left - inside.left) + Math.max(0, box.right - inside.right);
}

function build() {
  const rows = visibleRows();
  const active = document.activeElement;
  const focused = active instanceof HTMLElement && active.closest("#strip") ? active.dataset.id : null;
  const fresh = rows.findIndex((row) => !items.has(row.id));
  const first = fresh < 0 ? rows.length : fresh + AT_ONCE;
  element("strip").replaceChildren(...rows.slice(0, first).map(item));
  if (focused) items.get(focused)?.button.focus({ preventScroll: true });
  buildRest(rows, first);
}

const idle = () => new Promise((resolve) => {
  if ("requestIdleCallback" in window) requestIdleCallback(resolve, { timeout: 1000 });
  else setTimeout(resolve, 50);
});

// Thousands of rows take a while: the first image does not wait for them.
/** @param {Row[]} rows @param {number} from */
async function buildRest(rows, from) {
  const turn = (built += 1);
  for (; from < rows.length; from += CHUNK) {
    await idle();
    if (turn !== built) return;
    const chunk = rows.slice(from, from + CHUNK);
    element("strip").append(...chunk.map(item));
    if (chunk.some(({ id }) => id === at)) showCurrent();
  }
}

/** @param {Row} row */
function item(row) {
  const known = items.get(row.id) ?? newItem(row);
  items.set(row.id, known);
  known.row = row;
  known.note.textContent = summary(row);
  showMask(known.mask, row);
  const [sign, word] = MARKS[row.review?.decision ?? ""] ?? ["", ""];
  Object.assign(known.mark, { textContent: sign, title: word, className: word, hidden: !sign });
  known.mark.setAttribute("aria-label", word);
  return known.entry;
}

/**
 * The mask over a thumbnail of the grid: what a person decided, else what the model says, and of a blind image neither.
 * @param {HTMLImageElement} mask @param {Row} row
 */
function showMask(mask, row) {
  const { review } = row;
  const path = review && review.decision !== "rejected" ? `reviewed?small=true&version=${review.number}`
    : `mask-thumbnail?model=${encodeURIComponent(state.about.models[0].name)}`; // the name, lest an old model's stays
  const known = !row.uploaded && row.area !== null && row.area !== undefined && !hidesRow(row);
  const source = known ? `/api/images/${row.id}/${path}` : "";
  mask.hidden = !source;
  if (source && mask.getAttribute("src") !== source) mask.src = source;
}

/** @param {Row} row @returns {Item} */
function newItem(row) {
  const [entry, button, text] = [make("li"), make("button", { type: "button" }), make("span")];
  const [note, mark] = [make("small"), make("i", { role: "img" })];
  button.dataset.id = row.id;
  text.append(make("b", { textContent: row.name }), note);
  const mask = make("img", { alt: "", loading: "lazy", decoding: "async", className: "mask" });
  const picture = make("img", { alt: "", loading: "lazy", decoding: "async", fetchPriority: "low", width: 44, height: 44 });
  firstImage.then(() => { picture.src = `/api/images/${row.id}/thumbnail`; });
  button.append(make("span", { className: "thumb" }, picture, mask), text, mark);
  entry.append(button);
  const known = { entry, button, mask, note, mark, row };
  button.addEventListener("click", () => attempt(() => show(known.row)));
  return known;
}

/** @param {Row} row */
function summary(row) {
  if (row.unreadable) return "cannot be read";
  const warned = row.unfamiliar ? `⚠ ${row.unfamiliar}` : "";
  if (hidesRow(row)) return [warned, "judged blind"].filter(Boolean).join(" · ");
  if (row.area === null || row.area === undefined) return row.tag ?? "";
  let extra = row.iou === null || row.iou === undefined ? "" : `IoU ${percent(row.iou, 0)}`;
  if (state.order === "doubt") extra = `doubt ${percent(row.doubt)}`;
  if (state.order === "disagreement") extra = `differs ${percent(row.disagreement)}`;
  const figures = [`area ${percent(row.area)}`, extra].map((text) => text.replaceAll(" ", "\u00a0")); // lines break between them
  return [warned, ...figures].filter(Boolean).join(" · ");
}

on("rows", build);
onClick("previous", () => step(-1));
onClick("next", () => step(1));
onValue(select("order"), "change", ({ value }) => { state.order = value; attempt(loadList); });
addEventListener("beforeunload", (event) => { keepDraft(); if (drafts.size) event.preventDefault(); });
