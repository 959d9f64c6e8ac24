// A mask as colours: filled, outlined, or the model's probability as a heat map.  Made once for each look of it.
/** @import { Mask, OpenImage, Point } from "./types.d.ts" */
import { isBlind } from "./blind.js";
import { context2d, make } from "./dom.js";
import { labelsOf, modelOf } from "./image.js";
import { IGNORE, border } from "./masks.js";
import { state } from "./state.js";

const HEAT = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]]; // dark blue to yellow
const WHITE = 0xffffffff;
/**
 * Of an image, each side as it was painted last.
 * @type {WeakMap<OpenImage, Map<string, { look: string, canvas: HTMLCanvasElement }>>}
 */
const made = new WeakMap();

/** @param {number[]} colour @param {number} alpha */
const rgba = ([r, g, b], alpha) => ((Math.round(alpha * 255) << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** @param {OpenImage} image @param {string} side @param {number} scale */
export function overlay(image, side, scale) {
  const thick = Math.max(1, Math.round(1.4 / scale));
  const { threshold, opacity, style } = state;
  const look = [threshold, opacity, style, thick, [...state.hidden].sort(), image.version].join();
  return cached(image, side, look, (words) => {
    const labels = labelsOf(image, side);
    if (!labels) return;
    const model = modelOf(side);
    if (style === "errors" && image.truth && side !== "truth" && !isBlind(image)) {
      paintErrors(words, labels, image.truth, opacity);
      return;
    }
    if (style === "heat" && model !== null) paintHeat(words, image.maps[model].code, opacity);
    else if (style !== "outline") paintFill(words, labels, opacity);
    paintBorder(words, labels, border(labels, image.width, image.height, thick));
  });
}

/**
 * The super-pixel under the pointer, once it has come.
 * @param {OpenImage} image @param {Point} at @param {number} scale
 */
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

/**
 * The ground truth as a white line, whatever else is shown.
 * @param {OpenImage} image @param {Mask} truth @param {number} scale
 */
export function truthLine(image, truth, scale) {
  const thick = Math.max(1, Math.round(1.4 / scale));
  return cached(image, "truth line", String(thick), (words) => {
    const marks = border(truth, image.width, image.height, thick);
    for (let i = 0; i < words.length; i += 1) if (marks[i] && truth[i] !== IGNORE) words[i] = WHITE;
  });
}

/** @param {OpenImage} image @param {string} name @param {string} look @param {(words: Uint32Array) => void} paint */
function cached(image, name, look, paint) {
  const known = made.get(image) ?? new Map();
  made.set(image, known);
  const old = known.get(name);
  if (old?.look === look) return old.canvas;
  const canvas = old?.canvas ?? make("canvas", { width: image.width, height: image.height });
  const pixels = new ImageData(image.width, image.height);
  paint(new Uint32Array(pixels.data.buffer));
  context2d(canvas).putImageData(pixels, 0, 0);
  known.set(name, { look, canvas });
  return canvas;
}

/** @param {number} label */
const shownClass = (label) => label !== 0 && !state.hidden.has(label);
/** @param {number} label */
const colourOf = (label) => (label === IGNORE ? [128, 128, 128] : state.about.colours[label]);

/** What each label is drawn as. @param {number} alpha */
function table(alpha) {
  return Uint32Array.from({ length: 256 }, (_, label) => {
    const known = label === IGNORE || label < state.about.colours.length;
    return known && shownClass(label) ? rgba(colourOf(label), alpha) : 0;
  });
}

/** @param {Uint32Array} words @param {Mask} labels @param {number} opacity */
function paintFill(words, labels, opacity) {
  const colours = table(opacity);
  for (let i = 0; i < words.length; i += 1) words[i] = colours[labels[i]];
}

// Against the truth: found, invented, missed, in colours that are told apart without red and green.
const ERRORS = { found: [64, 176, 166], invented: [225, 120, 20], missed: [220, 60, 190] };

/** @param {Uint32Array} words @param {Mask} labels @param {Mask} truth @param {number} opacity */
function paintErrors(words, labels, truth, opacity) {
  const [found, invented, missed] = Object.values(ERRORS).map((colour) => rgba(colour, Math.max(0.35, opacity)));
  for (let i = 0; i < words.length; i += 1) {
    if (truth[i] === IGNORE || labels[i] === IGNORE) continue;
    if (labels[i] && labels[i] === truth[i]) words[i] = found;
    else if (labels[i]) words[i] = invented;
    else if (truth[i]) words[i] = missed;
  }
}

/** @param {Uint32Array} words @param {Mask} code @param {number} opacity */
function paintHeat(words, code, opacity) {
  const colours = Uint32Array.from({ length: 256 }, (_, value) => {
    const place = (value / 255) * (HEAT.length - 1);
    const low = Math.min(HEAT.length - 2, Math.floor(place));
    const mixed = HEAT[low].map((c, k) => Math.round(c + (HEAT[low + 1][k] - c) * (place - low)));
    return rgba(mixed, Math.min(1, opacity * (0.25 + (1.35 * value) / 255)));
  });
  for (let i = 0; i < words.length; i += 1) words[i] = colours[code[i]];
}

/** @param {Uint32Array} words @param {Mask} labels @param {Mask} marks */
function paintBorder(words, labels, marks) {
  const colours = table(Math.min(1, 0.25 + 2 * state.opacity));
  for (let i = 0; i < words.length; i += 1) if (marks[i] && colours[labels[i]]) words[i] = colours[labels[i]];
}
