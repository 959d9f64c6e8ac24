// Light or dark: as the system says, or as the reader chose.
import { onClick } from "./dom.js";
import { recall, remember } from "./memory.js";
import { emit } from "./state.js";

const root = document.documentElement;

function isDark() {
  const chosen = root.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

onClick("theme", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  remember("theme", root.dataset.theme);
  emit("look");
});
// What a canvas has drawn does not follow by itself.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => emit("look"));
const known = recall("theme", "");
if (known) root.dataset.theme = known;
