// The views of the page.  A new one is a button and a panel in index.html (`tab-NAME`, `NAME`) and a line here.
import { button, element } from "./dom.js";
import { showLearn } from "./learn.js";
import { attempt } from "./messages.js";
import { showRuns } from "./runs.js";
import { state } from "./state.js";
import { leaveVideo, showVideo } from "./video.js";

/** What a view does when it is opened. @type {Record<string, () => unknown>} */
const TABS = {
  images: () => undefined,
  video: showVideo,
  runs: showRuns,
  learn: showLearn,
};
const names = Object.keys(TABS);

/** @param {string} name */
function reveal(name) {
  if (name !== "video") leaveVideo();
  for (const tab of names) {
    button(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
    button(`tab-${tab}`).tabIndex = tab === name ? 0 : -1;
    element(tab).hidden = tab !== name;
  }
}

/** @param {string} name */
function open(name) {
  reveal(name);
  history.replaceState(null, "", name === "images" ? placeOfImage() : `#${name}`);
  attempt(TABS[name]);
}

const placeOfImage = () => (state.image && !state.image.uploaded ? `#image=${encodeURIComponent(state.image.row.name)}` : location.pathname);

/** Opens the view that an address names, if it names one. @param {string} hash */
export function openNamed(hash) {
  if (names.includes(hash.slice(1))) open(hash.slice(1));
}

// A link of another view to an image, which main.js opens, and the way back.
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#image=")) reveal("images");
  else openNamed(location.hash);
});

names.forEach((tab, place) => {
  button(`tab-${tab}`).addEventListener("click", () => open(tab));
  button(`tab-${tab}`).addEventListener("keydown", ({ key }) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!by) return;
    const other = names.at((place + by) % names.length) ?? tab;
    open(other);
    button(`tab-${other}`).focus();
  });
});
