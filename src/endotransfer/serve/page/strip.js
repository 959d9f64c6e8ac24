// The rows of the list as elements: thumbnails with masks, figures, marks of decisions; which one is open.
/** @import { Row } from "./types.d.ts" */
import { hidesRow } from "./blind.js";
import { element, make } from "./dom.js";
import { visibleRows } from "./filters.js";
import { percent } from "./messages.js";
import { on, state } from "./state.js";

/** @type {Record<string, [sign: string, word: string]>} */
const MARKS = { accepted: ["✓", "accepted"], corrected: ["✎", "corrected"], rejected: ["✕", "rejected"] };
const AT_ONCE = 80; // new rows of a list before anything else is shown
const CHUNK = 200; // and then
/** @typedef {{ entry: HTMLElement, button: HTMLElement, mask: HTMLImageElement, note: HTMLElement, mark: HTMLElement }} Item */
/** By image, kept so that no picture is fetched twice. @type {Map<string, Item>} */
const items = new Map();
/** Thumbnails come after the first image: the service makes a few pictures at a time. @type {Promise<unknown>} */
const firstImage = new Promise((resolve) => { on("image", () => resolve(null)); setTimeout(resolve, 1500); });
let at = ""; // the id of the row that is marked
let built = 0; // how often the list was built

export const currentId = () => at;

/** @param {string} id */
export function markCurrent(id) {
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
  return { entry, button, mask, note, mark };
}

/** @param {Row} row */
function summary(row) {
  if (row.unreadable) return "cannot be read";
  const warned = row.unfamiliar ? `⚠ ${row.unfamiliar.replace(/^unlike .*/, "unfamiliar")}` : ""; // two lines hold no more
  if (hidesRow(row)) return [warned, "judged blind"].filter(Boolean).join(" · ");
  if (row.area === null || row.area === undefined) return row.tag ?? "";
  let extra = row.iou === null || row.iou === undefined ? "" : `IoU ${percent(row.iou, 0)}`;
  if (state.order === "doubt") extra = `doubt ${percent(row.doubt)}`;
  if (state.order === "disagreement") extra = `differs ${percent(row.disagreement)}`;
  const figures = [`area ${percent(row.area)}`, extra].map((text) => text.replaceAll(" ", "\u00a0")); // lines break between them
  return [warned, ...figures].filter(Boolean).join(" · ");
}

on("rows", build);
