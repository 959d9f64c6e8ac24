// The beginning: ask what there is to show, then show the first image.
/** @import { About } from "./types.d.ts" */
import { askEarly, getJson } from "./api.js";
import { element, select } from "./dom.js";
import { offerExport } from "./exports.js";
import "./figures.js";
import "./files.js";
import { visibleRows } from "./filters.js";
import "./grid.js";
import "./history.js";
import "./keys.js";
import { followSurvey, loadList, show, wished } from "./list.js";
import { recall } from "./memory.js";
import { attempt } from "./messages.js";
import { buildPanel } from "./panel.js";
import "./pointing.js";
import { loadSample } from "./sample.js";
import { emit, state } from "./state.js";
import { openNamed } from "./tabs.js";
import "./theme.js";
import "./tidy.js";

// On a small screen one begins with what decisions need; the rest unfolds.
if (matchMedia("(max-width: 760px)").matches) {
  for (const part of document.querySelectorAll(".controls > details:not(#carry, :has(#tools))")) part.removeAttribute("open");
}

/** The image that an address names. @param {string} hash */
function linked(hash) {
  if (!hash.startsWith("#image=")) return undefined;
  return state.rows.find((row) => encodeURIComponent(row.name) === hash.slice(7) || row.name === hash.slice(7));
}

addEventListener("hashchange", () => {
  const row = linked(location.hash);
  if (row && row.id !== state.image?.row.id) attempt(() => show(row));
});

/** @param {About} about */
function present({ models, folder, version, truths }) {
  element("subject").textContent = [models.map((model) => model.name).join(" and "), folder].filter(Boolean).join(" on ");
  element("version").textContent = `endotransfer ${version}`;
  if (models.length < 2 && !truths) select("order").querySelector("[value=disagreement]")?.setAttribute("disabled", "");
}

attempt(async () => {
  askEarly("/api/images?order=name");
  state.about = await getJson("/api/about");
  present(state.about);
  offerExport();
  buildPanel();
  emit("sides");
  const { hash } = location;
  await loadSample(); // before anything is shown: a drawn image is judged blind
  const survey = await loadList();
  const first = linked(hash) ?? linked(`#image=${encodeURIComponent(recall(`at.${state.about.folder}`, ""))}`) ?? visibleRows()[0];
  if (first && !wished()) await show(first); // a person who was quicker has what they clicked
  openNamed(hash);
  document.documentElement.dataset.ready = "true";
  if (survey.done < survey.total) followSurvey();
});
