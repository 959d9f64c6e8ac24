// One drawn lesion becomes two, two become one: pure functions on masks.
/** @import { Mask, Point } from "./types.d.ts" */
import { squaredDistances } from "./distances.js";
import { hullOf, isWithin } from "./hull.js";
import { isDrawn, lesionsOf, pixelsOn } from "./lesions.js";

const SPECK = 16; // pixels: what is smaller counts as no lesion in the figures (SMALLEST_LESION), and as no half here
const ROOM = 1.25; // a bridge is as wide as ways over it are at most this much longer than the shortest
const CORNERS = 0.5; // pixels: the sides of a cut are steps

/**
 * Clears the line where it leads through a lesion and leaves at least two pieces of it; specks that come off go with
 * the line.  A lesion into which the line merely leads stays as it was.
 * @param {Mask} labels @param {number} width @param {number} height @param {Point[]} points
 * @returns {Mask | null} null where no lesion is cut in two
 */
export function cut(labels, width, height, points) {
  const line = pixelsOn(points, width, height);
  const { numbers } = lesionsOf(labels, width);
  const out = Uint8Array.from(labels);
  for (const place of line) if (numbers[place]) out[place] = 0;
  const after = lesionsOf(out, width);
  const pieces = piecesOf(numbers, after.numbers);
  const halves = pieces.map((own) => [...own].filter((piece) => after.sizes[piece] >= SPECK).length);
  if (!line.some((place) => halves[numbers[place]] > 1)) return null;
  for (const place of line) if (numbers[place] && halves[numbers[place]] < 2) out[place] = labels[place];
  for (let place = 0; place < out.length; place += 1) {
    const whole = numbers[place];
    if (pieces[whole].size > 1 && halves[whole] > 1 && after.sizes[after.numbers[place]] < SPECK) out[place] = 0;
  }
  return out;
}

/** Of each lesion before, the numbers of what is left of it. @param {Int32Array} before @param {Int32Array} after */
function piecesOf(before, after) {
  /** @type {Set<number>[]} */
  const pieces = [new Set()];
  for (let place = 0; place < before.length; place += 1) {
    pieces[before[place]] ??= new Set();
    if (after[place]) pieces[before[place]].add(after[place]);
  }
  return pieces;
}

/**
 * Fills the gap between the lesions that a line touches, each with the next one on its way, and what nobody had decided
 * there.  The bridge takes the class that the line comes from.
 * @param {Mask} labels @param {number} width @param {number} height @param {Point[]} points
 * @returns {Mask | null} null where the line does not touch two lesions
 */
export function join(labels, width, height, points) {
  const { numbers } = lesionsOf(labels, width);
  const line = pixelsOn(points, width, height).filter((place) => numbers[place]);
  const touched = [...new Set(line.map((place) => numbers[place]))];
  if (touched.length < 2) return null;
  const out = Uint8Array.from(labels);
  for (let k = 1; k < touched.length; k += 1) {
    const [one, other] = touched.slice(k - 1, k + 1);
    const value = labels[line.findLast((place) => numbers[place] === one) ?? 0];
    for (const place of bridge(numbers, width, height, one, other)) if (!isDrawn(out[place])) out[place] = value;
  }
  return out;
}

/**
 * The pixels between two lesions: on the shortest way from one to the other, and in the hull around both wherever it is
 * hardly farther to both together than the gap is wide.  Between edges that face each other that is all of the gap,
 * between round ones a waist.
 * @param {Int32Array} numbers @param {number} width @param {number} height @param {number} one @param {number} other
 */
function bridge(numbers, width, height, one, other) {
  const [near, far] = [one, other].map((lesion) => squaredDistances((place) => numbers[place] === lesion, width, height));
  const ends = [closest(numbers, other, near), closest(numbers, one, far)].map((place) => at(place, width));
  const most = Math.hypot(ends[0].x - ends[1].x, ends[0].y - ends[1].y) * ROOM + CORNERS;
  const hull = hullOf(edgesOf(numbers, width, height, one, other));
  const places = pixelsOn(ends, width, height);
  for (let place = 0; place < numbers.length; place += 1) {
    const between = !numbers[place] && Math.sqrt(near[place]) + Math.sqrt(far[place]) <= most;
    if (between && isWithin(hull, at(place, width))) places.push(place);
  }
  return places;
}

/** The pixel of a lesion that is nearest to the other. @param {Int32Array} numbers @param {number} lesion @param {Float64Array} distances */
function closest(numbers, lesion, distances) {
  let best = -1;
  for (let place = 0; place < numbers.length; place += 1) {
    if (numbers[place] === lesion && (best < 0 || distances[place] < distances[best])) best = place;
  }
  return best;
}

/** @param {number} place @param {number} width @returns {Point} */
const at = (place, width) => ({ x: place % width, y: Math.floor(place / width) });

/**
 * The first and the last pixel of both lesions in each row, row by row.
 * @param {Int32Array} numbers @param {number} width @param {number} height @param {number} one @param {number} other
 */
function edgesOf(numbers, width, height, one, other) {
  /** @type {Point[]} */
  const edges = [];
  for (let y = 0; y < height; y += 1) {
    const row = numbers.subarray(y * width, (y + 1) * width);
    const first = row.findIndex((number) => number === one || number === other);
    if (first >= 0) edges.push({ x: first, y }, { x: row.findLastIndex((number) => number === one || number === other), y });
  }
  return edges;
}
