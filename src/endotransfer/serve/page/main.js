// The beginning: ask what there is to show, then show the first image.
import { getJson } from "./api.js";
import "./files.js";
import "./history.js";
import "./keys.js";
import { followSurvey, loadList, show, visibleRows, wished } from "./list.js";
import { buildPanel } from "./panel.js";
import "./pointing.js";
import { showRuns } from "./runs.js";
import { loadSample } from "./sample.js";
import { attempt, element, emit, recall, remember, state } from "./state.js";

const TABS = ["images", "runs"];

function openTab(name) {
  for (const tab of TABS) {
    const button = element(`tab-${tab}`);
    button.setAttribute("aria-selected", String(tab === name));
    button.tabIndex = tab === name ? 0 : -1;
    element(tab).hidden = tab !== name;
  }
  const image = state.image && !state.image.uploaded ? `#image=${encodeURIComponent(state.image.row.name)}` : location.pathname;
  history.replaceState(null, "", name === "images" ? image : `#${name}`);
  if (name === "runs") attempt(showRuns);
}

for (const [place, tab] of TABS.entries()) {
  element(`tab-${tab}`).addEventListener("click", () => openTab(tab));
  element(`tab-${tab}`).addEventListener("keydown", (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const other = TABS[(place + 1) % TABS.length];
    openTab(other);
    element(`tab-${other}`).focus();
  });
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}

element("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme.trim() === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  setTheme(dark ? "light" : "dark");
  remember("theme", dark ? "light" : "dark");
  emit("look");
});
setTheme(recall("theme", ""));

if (matchMedia("(max-width: 760px)").matches) {
  for (const part of document.querySelectorAll(".controls > details:not(:first-of-type)")) part.open = false;
}

// The image that an address names.
function linked(hash) {
  if (!hash.startsWith("#image=")) return undefined;
  return state.rows.find((row) => encodeURIComponent(row.name) === hash.slice(7) || row.name === hash.slice(7));
}

addEventListener("hashchange", () => {
  const row = linked(location.hash);
  if (row && row.id !== state.image?.row.id) attempt(() => show(row));
});

attempt(async () => {
  state.about = await getJson("/api/about");
  const { models, folder, version } = state.about;
  element("subject").textContent = [models.map((model) => model.name).join(" and "), folder].filter(Boolean).join(" on ");
  element("version").textContent = `endotransfer ${version}`;
  if (models.length < 2 && !state.about.truths) element("order").querySelector("[value=disagreement]").disabled = true;
  buildPanel();
  emit("sides");
  const { hash } = location;
  await loadSample(); // before anything is shown: a drawn image is judged blind
  const survey = await loadList();
  const first = linked(hash) ?? linked(`#image=${encodeURIComponent(recall(`at.${folder}`, ""))}`) ?? visibleRows()[0];
  if (first && !wished()) await show(first); // a person who was quicker has what they clicked
  if (hash === "#runs") openTab("runs");
  document.documentElement.dataset.ready = "true";
  if (survey.done < survey.total) followSurvey();
});
