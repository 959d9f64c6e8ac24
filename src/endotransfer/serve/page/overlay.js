// A mask as colours: filled, outlined, or the model's probability as a heat map.  Made once for each look of it.
import { isBlind } from "./blind.js";
import { labelsOf, modelOf } from "./image.js";
import { IGNORE, border } from "./masks.js";
import { state } from "./state.js";

const HEAT = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]]; // dark blue to yellow
const WHITE = 0xffffffff;
const made = new WeakMap(); // image -> side -> { look, canvas }

const rgba = ([r, g, b], alpha) => ((Math.round(alpha * 255) << 24) | (b << 16) | (g << 8) | r) >>> 0;

export function overlay(image, side, scale) {
  const thick = Math.max(1, Math.round(1.4 / scale));
  const { threshold, opacity, style } = state;
  const look = [threshold, opacity, style, thick, [...state.hidden].sort(), image.version].join();
  return cached(image, side, look, (words) => {
    const labels = labelsOf(image, side);
    const model = modelOf(side);
    if (style === "errors" && image.truth && side !== "truth" && !isBlind(image)) return paintErrors(words, labels, image.truth, opacity);
    if (style === "heat" && model !== null) paintHeat(words, image.maps[model].code, opacity);
    else if (style !== "outline") paintFill(words, labels, opacity);
    paintBorder(words, labels, border(labels, image.width, image.height, thick));
    return undefined;
  });
}

// The super-pixel under the pointer, once it has come.
export function regionLine(image, { x, y }, scale) {
  const regions = image.regions[state.regionSize];
  const place = Math.round(y) * image.width + Math.round(x);
  if (!regions || x < 0 || y < 0 || Math.round(x) >= image.width || Math.round(y) >= image.height) return null;
  const thick = Math.max(1, Math.round(1.4 / scale));
  return cached(image, "region line", [state.regionSize, regions[place], thick].join(), (words) => {
    const inside = new Uint8Array(regions.length);
    for (let i = 0; i < regions.length; i += 1) inside[i] = regions[i] === regions[place] ? 1 : 0;
    const marks = border(inside, image.width, image.height, thick);
    for (let i = 0; i < words.length; i += 1) words[i] = marks[i] ? WHITE : inside[i] ? 0x40ffffff : 0;
  });
}

// The ground truth as a white line, whatever else is shown.
export function truthLine(image, scale) {
  const thick = Math.max(1, Math.round(1.4 / scale));
  return cached(image, "truth line", String(thick), (words) => {
    const marks = border(image.truth, image.width, image.height, thick);
    for (let i = 0; i < words.length; i += 1) if (marks[i] && image.truth[i] !== IGNORE) words[i] = WHITE;
  });
}

function cached(image, name, look, paint) {
  const known = made.get(image) ?? made.set(image, new Map()).get(image);
  const old = known.get(name);
  if (old?.look === look) return old.canvas;
  const canvas = old?.canvas ?? Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  const pixels = new ImageData(image.width, image.height);
  paint(new Uint32Array(pixels.data.buffer));
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  known.set(name, { look, canvas });
  return canvas;
}

const shownClass = (label) => label !== 0 && !state.hidden.has(label);
const colourOf = (label) => (label === IGNORE ? [128, 128, 128] : state.about.colours[label]);

function table(alpha) {
  return Uint32Array.from({ length: 256 }, (_, label) => {
    const known = label === IGNORE || label < state.about.colours.length;
    return known && shownClass(label) ? rgba(colourOf(label), alpha) : 0;
  });
}

function paintFill(words, labels, opacity) {
  const colours = table(opacity);
  for (let i = 0; i < words.length; i += 1) words[i] = colours[labels[i]];
}

// Against the truth: found, invented, missed, in colours that are told apart without red and green.
const ERRORS = { found: [64, 176, 166], invented: [225, 120, 20], missed: [220, 60, 190] };

function paintErrors(words, labels, truth, opacity) {
  const [found, invented, missed] = Object.values(ERRORS).map((colour) => rgba(colour, Math.max(0.35, opacity)));
  for (let i = 0; i < words.length; i += 1) {
    if (truth[i] === IGNORE || labels[i] === IGNORE) continue;
    if (labels[i] && labels[i] === truth[i]) words[i] = found;
    else if (labels[i]) words[i] = invented;
    else if (truth[i]) words[i] = missed;
  }
}

function paintHeat(words, code, opacity) {
  const colours = Uint32Array.from({ length: 256 }, (_, value) => {
    const place = (value / 255) * (HEAT.length - 1);
    const low = Math.min(HEAT.length - 2, Math.floor(place));
    const mixed = HEAT[low].map((c, k) => Math.round(c + (HEAT[low + 1][k] - c) * (place - low)));
    return rgba(mixed, Math.min(1, opacity * (0.25 + (1.35 * value) / 255)));
  });
  for (let i = 0; i < words.length; i += 1) words[i] = colours[code[i]];
}

function paintBorder(words, labels, marks) {
  const colours = table(Math.min(1, 0.25 + 2 * state.opacity));
  for (let i = 0; i < words.length; i += 1) if (marks[i] && colours[labels[i]]) words[i] = colours[labels[i]];
}
