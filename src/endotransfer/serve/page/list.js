// The images one can go through, and the way from one to the next.
import { getJson } from "./api.js";
import { openImage } from "./image.js";
import { hidesRow } from "./blind.js";
import { chosen } from "./filters.js";
import { attempt, element, emit, on, percent, remember, say, state } from "./state.js";

const MARKS = { accepted: ["✓", "accepted"], corrected: ["✎", "corrected"], rejected: ["✕", "rejected"] };
const AHEAD = 5; // images kept ready
const drafts = new Map(); // unsaved corrections by image
const opened = new Map(); // id -> promise of an image
const items = new Map(); // id -> its place in the list, kept so that no picture is fetched twice
let asked = 0; // the newest wish: an image that comes late is not shown

export async function loadList() {
  const { images, survey } = await getJson(`/api/images?order=${state.order}`);
  state.rows = images;
  showSurvey(survey);
  emit("rows");
  return survey;
}

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
    const survey = await getJson("/api/survey").catch(() => null);
    if (!survey) return;
    showSurvey(survey);
    if (survey.done >= survey.total) return void attempt(loadList);
    await attempt(loadList);
    pause = Math.min(5000, pause * 1.3);
  }
}

export const visibleRows = () => [...state.picked, ...state.rows].filter(chosen);

export const rowOf = (id) => [...state.picked, ...state.rows].find((row) => row.id === id);

function open(row) {
  const known = opened.get(row.id) ?? openImage(row);
  opened.delete(row.id);
  opened.set(row.id, known);
  known.catch(() => opened.delete(row.id));
  for (const id of [...opened.keys()].slice(0, -AHEAD)) opened.delete(id);
  return known;
}

export const forget = (id) => opened.delete(id);

export async function show(row) {
  const wish = (asked += 1);
  keepDraft();
  element("busy").hidden = false;
  const rows = visibleRows();
  const place = rows.findIndex((one) => one.id === row.id) + 1;
  element("title").replaceChildren(row.name, Object.assign(document.createElement("small"), { textContent: ` ${place} of ${rows.length}` }));
  markCurrent(row.id);
  try {
    const image = await open(row);
    if (wish !== asked) return;
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
    if (wish !== asked) return;
    state.image = null; // or a decision would be about the image before
    element("decision").textContent = "";
    emit("look");
    throw error;
  } finally {
    if (wish === asked) element("busy").hidden = true;
  }
}

// The address leads back to the image, and so does the next visit.
function notePlace(row) {
  if (row.uploaded) return;
  history.replaceState(null, "", `#image=${encodeURIComponent(row.name)}`);
  remember(`at.${state.about.folder}`, row.name);
}

export const wished = () => asked > 0;

function keepDraft() {
  const image = state.image;
  if (image?.draft) drafts.set(image.row.id, { draft: image.draft, draftFrom: image.draftFrom, before: image.before, past: image.past, future: image.future });
  else if (image) drafts.delete(image.row.id);
}

export const dropDraft = (id) => drafts.delete(id);

export const step = (by) => attempt(async () => {
  const rows = visibleRows();
  if (!rows.length) return;
  const here = rows.findIndex((row) => row.id === (current() ?? ""));
  const next = here < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, here + by));
  if (next !== here) await show(rows[next]);
});

const current = () => element("strip").querySelector("[aria-current]")?.dataset.id;

function markCurrent(id) {
  for (const button of element("strip").querySelectorAll("button")) {
    if (button.dataset.id === id) {
      button.setAttribute("aria-current", "true");
      bringIntoView(button);
    } else button.removeAttribute("aria-current");
  }
}

// Scrolls the list alone: on a small screen the page itself must not jump.
function bringIntoView(button) {
  const strip = element("strip");
  const [inside, box] = [strip.getBoundingClientRect(), button.getBoundingClientRect()];
  strip.scrollTop += Math.min(0, box.top - inside.top) + Math.max(0, box.bottom - inside.bottom);
  strip.scrollLeft += Math.min(0, box.left - inside.left) + Math.max(0, box.right - inside.right);
}

function build() {
  const rows = visibleRows();
  const focused = document.activeElement?.closest("#strip") ? document.activeElement.dataset.id : null;
  element("strip").replaceChildren(...rows.map(item));
  const here = state.image?.row.id;
  if (here && !current()) markCurrent(here);
  if (focused) element("strip").querySelector(`[data-id="${focused}"]`)?.focus({ preventScroll: true });
}

function item(row) {
  const known = items.get(row.id) ?? newItem(row);
  items.set(row.id, known);
  known.row = row;
  known.note.textContent = summary(row);
  const [sign, word] = MARKS[row.review?.decision] ?? ["", ""];
  Object.assign(known.mark, { textContent: sign, title: word, className: word, hidden: !sign });
  known.mark.setAttribute("aria-label", word);
  return known.entry;
}

function newItem(row) {
  const make = (name, properties) => Object.assign(document.createElement(name), properties);
  const [entry, button, text] = [make("li"), make("button", { type: "button" }), make("span")];
  const [note, mark] = [make("small"), make("i", { role: "img" })];
  button.dataset.id = row.id;
  text.append(make("b", { textContent: row.name }), note);
  button.append(make("img", { src: `/api/images/${row.id}/thumbnail`, alt: "", loading: "lazy", width: 44, height: 44 }), text, mark);
  entry.append(button);
  const known = { entry, note, mark, row };
  button.addEventListener("click", () => attempt(() => show(known.row)));
  return known;
}

function summary(row) {
  if (row.unreadable) return "cannot be read";
  if (hidesRow(row)) return "judged blind";
  if (row.area === null || row.area === undefined) return row.tag ?? "";
  const shown = { doubt: ["doubt", row.doubt], disagreement: ["differs", row.disagreement] }[state.order];
  const extra = shown ? `${shown[0]} ${percent(shown[1])}` : row.iou !== null && row.iou !== undefined ? `IoU ${percent(row.iou, 0)}` : "";
  return [`area ${percent(row.area)}`, extra].filter(Boolean).join(" · ");
}

on("rows", build);
element("previous").addEventListener("click", () => step(-1));
element("next").addEventListener("click", () => step(1));
element("order").addEventListener("change", (event) => { state.order = event.target.value; attempt(loadList); });
addEventListener("beforeunload", (event) => { keepDraft(); if (drafts.size) event.preventDefault(); });
