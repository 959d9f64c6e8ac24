// The images one can go through, and the way from one to the next.
/** @import { OpenImage, Row, Survey } from "./types.d.ts" */
import { getJson } from "./api.js";
import { element, make, onClick, onValue, select } from "./dom.js";
import { visibleRows } from "./filters.js";
import { isCorrected, openImage } from "./image.js";
import { keepDraft, takeUpDraft } from "./kept_drafts.js";
import { remember } from "./memory.js";
import { attempt, say } from "./messages.js";
import { emit, state } from "./state.js";
import { currentId, markCurrent } from "./strip.js";

const AHEAD = 5; // images kept ready
/** @type {Map<string, Promise<OpenImage>>} */
const opened = new Map();
let looked = "model0"; // what was on the left before a drawing or a correction was
let asked = 0; // the newest wish: an image that comes late is not shown

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
    await takeUpDraft(image);
    if (wish !== asked) return undefined;
    if (/^model|^truth/.test(state.left)) looked = state.left;
    state.left = image.draft ? "draft" : isCorrected(image) ? "reviewed" : looked;
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

/** @param {number} by */
export const step = (by) => attempt(async () => {
  if (state.desk) return void state.desk.step(by);
  const rows = visibleRows();
  if (!rows.length) return undefined;
  const here = rows.findIndex((row) => row.id === currentId());
  const next = here < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, here + by));
  if (next !== here) await show(rows[next]);
  return undefined;
});

/** After a decision. */
export const goOn = () => (state.desk ? state.desk.goOn() : step(1));

element("strip").addEventListener("click", ({ target }) => {
  const button = target instanceof Element ? target.closest("button") : null;
  const row = button && rowOf(button.dataset.id ?? "");
  if (row) attempt(() => show(row));
});
onClick("previous", () => step(-1));
onClick("next", () => step(1));
onValue(select("order"), "change", ({ value }) => { state.order = value; attempt(loadList); });
