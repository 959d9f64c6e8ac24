// The figures of the two sides, and the mask of the left one as a file.
/** @import { Mask, OpenImage } from "./types.d.ts" */
import { isBlind } from "./blind.js";
import { element, make, onClick } from "./dom.js";
import { labelsOf, modelOf, sides } from "./image.js";
import { area, overlap } from "./masks.js";
import { attempt, percent } from "./messages.js";
import { toPng } from "./png.js";
import { on, state } from "./state.js";

const body = element("figures", HTMLTableElement).tBodies[0];
let asked = false;

// Figures follow the slider, but not on every one of its steps: a frame's pause lets the mask be drawn first.
function ask() {
  if (asked) return;
  asked = true;
  setTimeout(() => { asked = false; showFigures(); }, 30);
}

function showFigures() {
  const image = state.image;
  element("facts").textContent = "";
  warn(image);
  if (!image) return body.replaceChildren();
  const shown = [state.left, ...(state.right ? [state.right] : [])];
  const rows = rowsOf(image, shown);
  body.replaceChildren(...rows.map(tableRow));
  const facts = [image.row.tag && `tagged ${image.row.tag}`, image.row.finding, image.row.split && `split ${image.row.split}`, image.row.patient];
  element("facts").textContent = facts.filter(Boolean).join(" · ");
  const first = rows.find(([name]) => name.startsWith("IoU"));
  const spoken = `${image.row.name}, lesion area ${areaOf(image, state.left)}${first ? `, ${first[0]} ${first[1]}` : ""}`;
  element("canvas").setAttribute("aria-label", spoken);
  return undefined;
}

/** A mask of what the model has not seen must not be looked at without a word. @param {OpenImage | null} image */
function warn(image) {
  const reason = image?.models.find(({ unfamiliar }) => unfamiliar)?.unfamiliar;
  element("unfamiliar").hidden = !reason;
  element("unfamiliar").textContent = reason ? `⚠ ${reason[0].toUpperCase()}${reason.slice(1)}: the mask is not to be trusted` : "";
}

/** Lines of the table: a name and one text a side. @param {OpenImage} image @param {string[]} shown */
function rowsOf(image, shown) {
  const names = new Map(sides(image));
  /** @type {string[][]} */
  const rows = [];
  if (shown.length > 1) rows.push(["", ...shown.map((side) => names.get(side) ?? "")]);
  const { classes } = state.about;
  rows.push([classes.length === 2 ? "Lesion area" : `Area, all but ${classes[0]}`, ...shown.map((side) => areaOf(image, side))]);
  if (image.truth && !isBlind(image)) addOverlaps(rows, image, image.truth, shown);
  if (shown.some((side) => modelOf(side) !== null)) {
    const figures = shown.map((side) => image.models[modelOf(side) ?? -1]);
    rows.push(["Doubt", ...figures.map((found) => percent(found?.doubt))]);
    const tags = figures.map((found) => found?.lesion_probability);
    if (tags.some((tag) => tag !== null && tag !== undefined)) rows.push(["Lesion in image", ...tags.map((tag) => percent(tag, 0))]);
  }
  return rows;
}

/** @param {OpenImage} image @param {string} side */
function areaOf(image, side) {
  const labels = labelsOf(image, side);
  return labels ? percent(area(labels)) : "–";
}

/** @param {string[][]} rows @param {OpenImage} image @param {Mask} truth @param {string[]} shown */
function addOverlaps(rows, image, truth, shown) {
  const scores = shown.map((side) => {
    const labels = side === "truth" ? null : labelsOf(image, side);
    return labels && overlap(labels, truth, state.about.classes.length);
  });
  if (state.about.classes.length === 2) {
    rows.push(["IoU", ...scores.map((score) => (score ? percent(score.lesion) : "–"))]);
    return;
  }
  rows.push(["IoU, all but " + state.about.classes[0], ...scores.map((score) => (score ? percent(score.lesion) : "–"))]);
  state.about.classes.forEach((name, index) => {
    const values = scores.map((score) => score?.classes[index] ?? null);
    if (values.some((value) => value !== null)) rows.push([`IoU ${name}`, ...values.map((value) => percent(value))]);
  });
}

/** The first line names the sides, where there are two. @param {string[]} cells */
function tableRow([name, ...values]) {
  if (!name) return make("tr", {}, make("td"), ...values.map(columnHead));
  return make("tr", {}, make("th", { scope: "row", textContent: name }), ...values.map((text) => make("td", { textContent: text })));
}

/** On two lines at most; a longer name in full under the pointer. @param {string} text */
const columnHead = (text) => make("th", { scope: "col", title: text }, make("span", { textContent: text }));

async function download() {
  const image = state.image;
  if (!image) return;
  const shown = labelsOf(image, state.left);
  if (!shown) throw new Error("Nothing is shown on the left side that could be downloaded.");
  const labels = Uint8Array.from(shown);
  if (state.about.classes.length === 2) for (let i = 0; i < labels.length; i += 1) labels[i] = labels[i] === 1 ? 255 : 0;
  const blob = await toPng(labels, image.width, image.height, image.size[1], image.size[0]);
  const link = make("a", { href: URL.createObjectURL(blob), download: `${image.row.name}.png` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

onClick("download", () => attempt(download));
on(["image", "look"], ask);
