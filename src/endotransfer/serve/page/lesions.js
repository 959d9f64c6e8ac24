// The lesions of a drawing, as lesion-wise figures count them: parts that are connected over eight neighbours, whatever
// their classes.  Pure functions on masks.
/** @import { Mask, Point } from "./types.d.ts" */
import { IGNORE } from "./masks.js";

/** @typedef {{ numbers: Int32Array, sizes: number[] }} Lesions of each pixel the lesion's number, 0 for none; sizes by number */

/** @param {Mask} labels @param {number} width @returns {Lesions} */
export function lesionsOf(labels, width) {
  const numbers = new Int32Array(labels.length);
  const sizes = [0];
  for (let place = 0; place < labels.length; place += 1) {
    if (isDrawn(labels[place]) && !numbers[place]) sizes.push(number(labels, width, numbers, place, sizes.length));
  }
  return { numbers, sizes };
}

/** @param {number} label */
export const isDrawn = (label) => label !== 0 && label !== IGNORE;

/**
 * Gives the lesion around a place its number; returns its size.
 * @param {Mask} labels @param {number} width @param {Int32Array} numbers @param {number} first @param {number} value
 */
function number(labels, width, numbers, first, value) {
  const stack = [first];
  let size = 0;
  numbers[first] = value;
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const x = place % width;
    size += 1;
    for (let column = Math.max(0, x - 1); column <= Math.min(width - 1, x + 1); column += 1) {
      for (let at = place - x - width + column; at <= place - x + width + column; at += width) {
        if (at < 0 || at >= labels.length || numbers[at] || !isDrawn(labels[at])) continue;
        numbers[at] = value;
        stack.push(at);
      }
    }
  }
  return size;
}

/**
 * The pixels on a line through points, in its order, each beside the next: over an edge, never over a corner alone.  It
 * is the thinnest line that keeps its two sides apart over eight neighbours.  What lies beyond the image is left out.
 * @param {Point[]} points @param {number} width @param {number} height
 */
export function pixelsOn(points, width, height) {
  /** @type {number[]} */
  const places = [];
  /** @param {number} x @param {number} y */
  const add = (x, y) => { if (x >= 0 && y >= 0 && x < width && y < height) places.push(y * width + x); };
  points.forEach((point, index) => walk(points[Math.max(0, index - 1)], point, add));
  return places;
}

/** @param {Point} from @param {Point} to @param {(x: number, y: number) => void} add */
function walk(from, to, add) {
  let [x, y] = [Math.round(from.x), Math.round(from.y)];
  const [across, down] = [Math.round(to.x) - x, Math.round(to.y) - y];
  const [wide, high] = [Math.abs(across), Math.abs(down)];
  add(x, y);
  for (let i = 0, j = 0; i < wide || j < high;) {
    if ((1 + 2 * i) * high < (1 + 2 * j) * wide) { i += 1; x += Math.sign(across); } else { j += 1; y += Math.sign(down); }
    add(x, y);
  }
}
