// Pure functions on masks: one number a pixel in a Uint8Array, row by row.  255 is "nobody decided".
/** @import { Mask, Point, ProbabilityMap } from "./types.d.ts" */
export const IGNORE = 255;

/**
 * Red: the best class but 0; green: its probability against class 0 in 256 steps.
 * @param {ArrayLike<number>} rgba @returns {ProbabilityMap}
 */
export function readMap(rgba) {
  const pixels = rgba.length / 4;
  const best = new Uint8Array(pixels);
  const code = new Uint8Array(pixels);
  for (let i = 0, j = 0; i < pixels; i += 1, j += 4) {
    best[i] = rgba[j];
    code[i] = rgba[j + 1];
  }
  return { best, code };
}

/** @param {ArrayLike<number>} rgba @returns {Mask} */
export function readMask(rgba) {
  const mask = new Uint8Array(rgba.length / 4);
  for (let i = 0, j = 0; i < mask.length; i += 1, j += 4) mask[i] = rgba[j];
  return mask;
}

/** @param {ArrayLike<number>} rgba */
export function readRegions(rgba) {
  const regions = new Uint32Array(rgba.length / 4);
  for (let i = 0, j = 0; i < regions.length; i += 1, j += 4) regions[i] = rgba[j] | (rgba[j + 1] << 8) | (rgba[j + 2] << 16);
  return regions;
}

/**
 * At 0.5 this is the model's own mask, to the pixel.
 * @param {ProbabilityMap} map @param {number} threshold @returns {Mask}
 */
export function labelsAt({ best, code }, threshold) {
  const least = Math.round(threshold * 256);
  const labels = new Uint8Array(best.length);
  for (let i = 0; i < labels.length; i += 1) labels[i] = code[i] >= least ? best[i] : 0;
  return labels;
}

/**
 * Marks the inner border of every drawn area, `thick` pixels wide.
 * @param {Mask} labels @param {number} width @param {number} height @param {number} thick
 */
export function border(labels, width, height, thick) {
  const marks = new Uint8Array(labels.length);
  for (let y = 0, i = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, i += 1) {
      const here = labels[i];
      if (here === 0) continue;
      if (
        (x >= thick && labels[i - thick] !== here) || (x < width - thick && labels[i + thick] !== here) ||
        (y >= thick && labels[i - thick * width] !== here) || (y < height - thick && labels[i + thick * width] !== here)
      ) marks[i] = 1;
    }
  }
  return marks;
}

/**
 * IoU of each class and of all but class 0 together; null where a class is in neither.
 * @param {Mask} labels @param {Mask} truth @param {number} classes
 */
export function overlap(labels, truth, classes) {
  const both = new Float64Array(classes);
  const either = new Float64Array(classes);
  let lesionBoth = 0;
  let lesionEither = 0;
  for (let i = 0; i < labels.length; i += 1) {
    const t = truth[i];
    const p = labels[i];
    if (t === IGNORE || p === IGNORE) continue;
    either[t] += 1;
    if (t === p) both[t] += 1;
    else either[p] += 1;
    if (t || p) lesionEither += 1;
    if (t && p) lesionBoth += 1;
  }
  /** @param {number} part @param {number} whole */
  const ratio = (part, whole) => (whole ? part / whole : null);
  return {
    classes: Array.from(either, (whole, k) => ratio(both[k], whole)),
    lesion: ratio(lesionBoth, lesionEither),
  };
}

/** Share of the image that is drawn as anything but class 0. @param {Mask} labels */
export function area(labels) {
  let drawn = 0;
  for (let i = 0; i < labels.length; i += 1) if (labels[i] !== 0 && labels[i] !== IGNORE) drawn += 1;
  return drawn / labels.length;
}

/** @typedef {{ left: number, top: number, right: number, bottom: number, size: number }} Part */
/**
 * The box around each connected part of what is drawn, whatever its classes; the largest part first.
 * @param {Mask} labels @param {number} width @returns {Part[]}
 */
export function parts(labels, width) {
  const open = Uint8Array.from(labels, (label) => Number(label !== 0 && label !== IGNORE));
  /** @type {Part[]} */
  const found = [];
  for (let i = 0; i < open.length; i += 1) if (open[i]) found.push(takePart(open, width, i));
  return found.sort((one, other) => other.size - one.size);
}

/** Takes the part with this place away. @param {Uint8Array} open @param {number} width @param {number} first */
function takePart(open, width, first) {
  const part = { left: width, top: Infinity, right: -1, bottom: -1, size: 0 };
  const stack = [first];
  open[first] = 0;
  /** @param {number} place */
  const visit = (place) => { if (open[place]) { open[place] = 0; stack.push(place); } };
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const x = place % width;
    const y = (place - x) / width;
    if (x < part.left) part.left = x;
    if (x > part.right) part.right = x;
    if (y < part.top) part.top = y;
    if (y > part.bottom) part.bottom = y;
    part.size += 1;
    if (x > 0) visit(place - 1);
    if (x < width - 1) visit(place + 1);
    visit(place - width); // beyond the image nothing is open
    visit(place + width);
  }
  return part;
}

/**
 * @param {Mask} labels @param {number} width @param {number} height @param {number} x @param {number} y
 * @param {number} radius @param {number} value
 */
export function stampDisc(labels, width, height, x, y, radius, value) {
  const top = Math.max(0, Math.ceil(y - radius));
  const bottom = Math.min(height - 1, Math.floor(y + radius));
  for (let row = top; row <= bottom; row += 1) {
    const half = Math.sqrt(Math.max(0, radius * radius - (row - y) ** 2));
    const from = Math.max(0, Math.ceil(x - half));
    const to = Math.min(width - 1, Math.floor(x + half));
    if (from <= to) labels.fill(value, row * width + from, row * width + to + 1);
  }
}

/**
 * @param {Mask} labels @param {number} width @param {number} height @param {Point} from @param {Point} to
 * @param {number} radius @param {number} value
 */
export function stampLine(labels, width, height, from, to, radius, value) {
  const steps = Math.max(1, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / Math.max(1, radius / 3)));
  for (let s = 0; s <= steps; s += 1) {
    const part = s / steps;
    stampDisc(labels, width, height, from.x + (to.x - from.x) * part, from.y + (to.y - from.y) * part, radius, value);
  }
}
