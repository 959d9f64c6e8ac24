// Whole areas at once, as pure functions on masks: polygons, regions, and what tidies a drawing up.
/** @import { Mask, Point } from "./types.d.ts" */

/**
 * Sets every pixel whose centre lies within the closed line (even-odd rule).
 * @param {Mask} labels @param {number} width @param {number} height @param {Point[]} points @param {number} value
 */
export function fillPolygon(labels, width, height, points, value) {
  const ys = points.map((point) => point.y);
  const top = Math.max(0, Math.ceil(Math.min(...ys)));
  const bottom = Math.min(height - 1, Math.floor(Math.max(...ys)));
  for (let y = top; y <= bottom; y += 1) {
    const cuts = crossings(points, y);
    for (let k = 0; k + 1 < cuts.length; k += 2) {
      const from = Math.max(0, Math.ceil(cuts[k]));
      const to = Math.min(width - 1, Math.floor(cuts[k + 1]));
      if (from <= to) labels.fill(value, y * width + from, y * width + to + 1);
    }
  }
}

/** @param {Point[]} points @param {number} y */
function crossings(points, y) {
  /** @type {number[]} */
  const cuts = [];
  points.forEach((a, k) => {
    const b = points[(k + 1) % points.length];
    if ((a.y <= y) !== (b.y <= y)) cuts.push(a.x + ((y - a.y) / (b.y - a.y)) * (b.x - a.x));
  });
  return cuts.sort((p, q) => p - q);
}

/**
 * Whether a region is mostly painted with `value` already.
 * @param {Mask} labels @param {Uint32Array} regions @param {number} region @param {number} value
 */
export function mostly(labels, regions, region, value) {
  let size = 0;
  let same = 0;
  for (let i = 0; i < regions.length; i += 1) {
    if (regions[i] !== region) continue;
    size += 1;
    if (labels[i] === value) same += 1;
  }
  return 2 * same > size;
}

/** @param {Mask} labels @param {Uint32Array} regions @param {number} region @param {number} value */
export function paintRegion(labels, regions, region, value) {
  for (let i = 0; i < regions.length; i += 1) if (regions[i] === region) labels[i] = value;
}

/**
 * The class grows by one pixel over class 0.  Beyond the image everything counts as alike.
 * @param {Mask} labels @param {number} width @param {number} height @param {number} value
 */
export function grow(labels, width, height, value) {
  return eachBorder(labels, width, height, (label, beside) => (label === 0 && beside(value) ? value : label));
}

/**
 * The class shrinks by one pixel.
 * @param {Mask} labels @param {number} width @param {number} height @param {number} value
 */
export function shrink(labels, width, height, value) {
  return eachBorder(labels, width, height, (label, _, other) => (label === value && other(value) ? 0 : label));
}

/** @typedef {(value: number) => boolean} Beside whether one of the four neighbours is it, or is not */
/**
 * @param {Mask} labels @param {number} width @param {number} height
 * @param {(label: number, beside: Beside, other: Beside) => number} choose
 */
function eachBorder(labels, width, height, choose) {
  const out = new Uint8Array(labels.length);
  let place = 0;
  let column = 0;
  /** @param {(label: number) => boolean} test */
  const some = (test) => (column > 0 && test(labels[place - 1])) || (column < width - 1 && test(labels[place + 1]))
    || (place >= width && test(labels[place - width])) || (place < width * (height - 1) && test(labels[place + width]));
  /** @type {Beside} */
  const beside = (value) => some((label) => label === value);
  /** @type {Beside} */
  const other = (value) => some((label) => label !== value);
  for (place = 0; place < labels.length; place += 1) {
    column = place % width;
    out[place] = choose(labels[place], beside, other);
  }
  return out;
}

/**
 * Class 0 that the class encloses becomes the class.
 * @param {Mask} labels @param {number} width @param {number} height @param {number} value @returns {Mask}
 */
export function fillHoles(labels, width, height, value) {
  const open = new Uint8Array(labels.length);
  /** @type {number[]} */
  const stack = [];
  /** @param {number} place */
  const visit = (place) => { if (!open[place] && labels[place] !== value) { open[place] = 1; stack.push(place); } };
  for (let x = 0; x < width; x += 1) { visit(x); visit((height - 1) * width + x); }
  for (let y = 0; y < height; y += 1) { visit(y * width); visit(y * width + width - 1); }
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const x = place % width;
    if (x > 0) visit(place - 1);
    if (x < width - 1) visit(place + 1);
    if (place >= width) visit(place - width);
    if (place < labels.length - width) visit(place + width);
  }
  return labels.map((label, place) => (label === 0 && !open[place] ? value : label));
}

/**
 * Each pixel follows the majority around it: frayed edges become smooth, specks go.  Other classes stay.
 * @param {Mask} labels @param {number} width @param {number} height @param {number} value @param {number} radius
 * @returns {Mask}
 */
export function smooth(labels, width, height, value, radius) {
  const share = boxMean(boxMean(labels.map((label) => Number(label === value)), width, height, radius, 1), width, height, radius, width);
  return labels.map((label, place) => {
    if (label === 0 && share[place] > 0.5) return value;
    return label === value && share[place] < 0.5 ? 0 : label;
  });
}

/**
 * The mean over 2 * radius + 1 pixels along rows (stride 1) or columns (stride `width`), fewer at the image's edges.
 * @param {ArrayLike<number>} values @param {number} width @param {number} height @param {number} radius
 * @param {number} stride
 */
function boxMean(values, width, height, radius, stride) {
  const out = new Float32Array(values.length);
  const [lines, length, next] = stride === 1 ? [height, width, width] : [width, height, 1];
  for (let line = 0; line < lines; line += 1) {
    const start = line * next;
    let sum = 0;
    for (let k = -radius; k < length; k += 1) {
      if (k + radius < length) sum += values[start + (k + radius) * stride];
      if (k - radius - 1 >= 0) sum -= values[start + (k - radius - 1) * stride];
      if (k >= 0) out[start + k * stride] = sum / (Math.min(length - 1, k + radius) - Math.max(0, k - radius) + 1);
    }
  }
  return out;
}
