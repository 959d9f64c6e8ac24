// Cutting and joining lesions, against slow twins: every pixel is compared with every other.
import assert from "node:assert/strict";
import test from "node:test";
import { cut, join } from "../../src/endotransfer/serve/page/cut_and_join.js";
import { squaredDistances } from "../../src/endotransfer/serve/page/distances.js";
import { hullOf, isWithin } from "../../src/endotransfer/serve/page/hull.js";
import { lesionsOf, pixelsOn } from "../../src/endotransfer/serve/page/lesions.js";
import { HEIGHT, WIDTH, at, eachPixel, randomMask } from "./random_mask.js";

const drawn = (label) => label === 1 || label === 2;
const AROUND = [-1, 0, 1].flatMap((dy) => [-1, 0, 1].map((dx) => [dx, dy]));

/** Numbers that spread from pixel to pixel until nothing changes; the lowest place of a lesion is its name. */
function literalLesions(mask) {
  const names = [...mask.keys()].map((place) => (drawn(mask[place]) ? place + 1 : 0));
  for (let changed = true; changed;) {
    changed = false;
    for (const [x, y] of eachPixel()) {
      const place = y * WIDTH + x;
      if (!names[place]) continue;
      const around = AROUND.filter(([dx, dy]) => at(mask, x + dx, y + dy) !== undefined).map(([dx, dy]) => names[place + dy * WIDTH + dx]);
      const least = Math.min(...around.filter(Boolean));
      if (least < names[place]) { names[place] = least; changed = true; }
    }
  }
  return names;
}

/** Numbers in the order in which they come first. */
const inOrder = (names) => { const known = [0, ...new Set([...names].filter(Boolean))]; return [...names].map((name) => known.indexOf(name)); };
const counted = (mask) => new Set(literalLesions(mask)).size - 1;
const box = (mask, left, top, right, bottom, value = 1) => {
  for (let y = top; y <= bottom; y += 1) mask.fill(value, y * WIDTH + left, y * WIDTH + right + 1);
  return mask;
};
const empty = () => new Uint8Array(WIDTH * HEIGHT);
const points = (...places) => places.map(([x, y]) => ({ x, y }));

test("a lesion is connected over eight neighbours, whatever its classes", () => {
  for (let seed = 1; seed < 12; seed += 1) {
    const mask = randomMask(seed);
    const { numbers, sizes } = lesionsOf(mask, WIDTH);
    assert.deepEqual([...numbers], inOrder(literalLesions(mask)));
    assert.deepEqual(sizes.slice(1), sizes.slice(1).map((_, k) => numbers.filter((value) => value === k + 1).length));
  }
});

test("distances are exact", () => {
  for (const seed of [2, 3, 4]) {
    const mask = randomMask(seed, 9);
    const found = squaredDistances((place) => mask[place] === 1, WIDTH, HEIGHT);
    const set = [...eachPixel()].filter(([x, y]) => at(mask, x, y) === 1);
    for (const [x, y] of eachPixel()) assert.equal(found[y * WIDTH + x], Math.min(...set.map(([a, b]) => (a - x) ** 2 + (b - y) ** 2)));
  }
  assert.ok(squaredDistances(() => false, 4, 3).every((distance) => distance === Infinity));
});

test("a line goes over edges of pixels, along the straight way, and ends where it should", () => {
  for (const [from, to] of [[[1, 2], [20, 9]], [[20, 9], [1, 2]], [[3, 15], [5, 1]], [[4, 4], [4, 4]], [[2, 3], [9, 10]], [[7, 2], [7, 12]]]) {
    const line = pixelsOn(points(from, to), WIDTH, HEIGHT).map((place) => [place % WIDTH, Math.floor(place / WIDTH)]);
    assert.deepEqual([line[0], line[line.length - 1]], [from, to]);
    line.slice(1).forEach(([x, y], k) => assert.ok(Math.abs(x - line[k][0]) + Math.abs(y - line[k][1]) <= 1));
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    const length = Math.hypot(dx, dy) || 1;
    for (const [x, y] of line) assert.ok(Math.abs((x - from[0]) * dy - (y - from[1]) * dx) / length <= 1);
  }
  assert.deepEqual(pixelsOn(points([-9, -9]), WIDTH, HEIGHT), []);
});

test("a cut leaves two lesions, and takes nothing but its line away", () => {
  for (const ends of [[[11, 0], [11, 16]], [[0, 8], [22, 8]], [[2, 0], [20, 16]], [[20, 0], [3, 16]]]) {
    const mask = box(empty(), 4, 3, 18, 13);
    const found = cut(mask, WIDTH, HEIGHT, points(...ends));
    const line = new Set(pixelsOn(points(...ends), WIDTH, HEIGHT));
    assert.equal(counted(found), 2);
    assert.deepEqual([...found], [...mask].map((label, place) => (line.has(place) ? 0 : label)));
    const inner = [...line].filter((place) => mask[place] && !nearEdge(mask, place));
    for (const place of inner) assert.equal(counted(found.with(place, 1)), 1, "as thin as can be");
  }
});

/** Whether a place has background of the mask around it: there a cut has an end, which need not join. */
const nearEdge = (mask, place) => AROUND.some(([dx, dy]) => at(mask, (place % WIDTH) + dx, Math.floor(place / WIDTH) + dy) === 0);

test("a bent cut, over several lesions and classes", () => {
  const mask = box(box(box(empty(), 1, 2, 9, 8), 12, 2, 20, 8, 2), 14, 4, 15, 6, 1);
  const found = cut(mask, WIDTH, HEIGHT, points([0, 4], [10, 6], [22, 5]));
  assert.equal(counted(found), 4);
  const other = cut(mask, WIDTH, HEIGHT, points([0, 4], [10, 6], [16, 5])); // it ends within the second
  assert.equal(counted(other), 3);
  for (const [x, y] of eachPixel()) if (x > 10) assert.equal(at(other, x, y), at(mask, x, y));
});

test("where no lesion comes apart nothing is cut; specks that come off go with the line", () => {
  const mask = box(empty(), 4, 3, 18, 13);
  for (const ends of [[[11, 0], [11, 9]], [[0, 0], [22, 0]], [[11, 8]], [[4, 0], [4, 16]], [[3, 5], [6, 2]]]) {
    assert.equal(cut(mask, WIDTH, HEIGHT, points(...ends)), null);
  }
  const horned = box(box(empty(), 4, 5, 18, 13), 6, 2, 7, 4); // the line takes the horn's foot along
  const found = cut(horned, WIDTH, HEIGHT, points([5, 5], [9, 5], [9, 4], [12, 4], [12, 16]));
  assert.equal(counted(found), 2);
  assert.equal(at(found, 6, 3), 0);
});

/** A place is within the hull unless some line through two points has all of them on its other side. */
function literalHull(all) {
  const corners = all.filter(([x, y]) => ["min", "max"].some((how) => x === Math[how](...all.filter(([, b]) => b === y).map(([a]) => a))));
  const side = ([ax, ay], [bx, by], [x, y]) => (bx - ax) * (y - ay) - (by - ay) * (x - ax);
  const edges = corners.flatMap((a) => corners.filter((b) => a !== b && corners.every((c) => side(a, b, c) >= 0)).map((b) => [a, b]));
  return (place) => edges.every(([a, b]) => side(a, b, place) >= 0);
}

test("a hull is around its points, and no larger", () => {
  for (const seed of [1, 2, 3]) {
    const all = [...eachPixel()].filter(([x, y]) => at(randomMask(seed, 40), x, y) === 1);
    const [hull, literal] = [hullOf(points(...all)), literalHull(all)];
    for (const [x, y] of eachPixel()) assert.equal(isWithin(hull, { x, y }), literal([x, y]), `${x}, ${y}`);
  }
});

test("a bridge is what lies hardly farther from both than the gap is wide", () => {
  const mask = box(box(box(empty(), 1, 1, 6, 8), 11, 4, 18, 13, 2), 20, 15, 21, 16);
  mask[5 * WIDTH + 9] = 255;
  const found = join(mask, WIDTH, HEIGHT, points([3, 3], [14, 8]));
  const names = inOrder(literalLesions(mask));
  const all = (lesion) => [...eachPixel()].filter(([x, y]) => names[y * WIDTH + x] === lesion);
  const far = ([x, y], lesion) => Math.min(...all(lesion).map(([a, b]) => Math.hypot(a - x, b - y)));
  const gap = Math.min(...all(1).map((place) => far(place, 2)));
  const hull = literalHull([...all(1), ...all(2)]);
  for (const place of eachPixel()) {
    const before = at(mask, ...place);
    const within = !drawn(before) && hull(place) && far(place, 1) + far(place, 2) <= 1.25 * gap + 0.5;
    assert.equal(at(found, ...place), within ? 1 : before, String(place));
  }
  assert.equal(counted(found), counted(mask) - 1);
});

test("what a line touches is joined, wherever it lies, and one lesion alone is not", () => {
  for (let seed = 1; seed < 40; seed += 1) {
    const mask = randomMask(seed, 7).map((label) => (label > 2 ? 0 : label));
    const ends = points([seed % WIDTH, 0], [(seed * 7) % WIDTH, HEIGHT - 1]);
    const names = literalLesions(mask);
    const touched = new Set(pixelsOn(ends, WIDTH, HEIGHT).map((place) => names[place]).filter(Boolean));
    const found = join(mask, WIDTH, HEIGHT, ends);
    if (touched.size < 2) { assert.equal(found, null); continue; }
    const after = literalLesions(found);
    assert.equal(new Set([...after.keys()].filter((place) => touched.has(names[place])).map((place) => after[place])).size, 1);
    mask.forEach((label, place) => { if (drawn(label)) assert.equal(found[place], label); });
  }
});

test("what was cut is joined to what it was", () => {
  const mask = box(empty(), 4, 3, 18, 13);
  const apart = cut(mask, WIDTH, HEIGHT, points([11, 0], [11, 16]));
  const found = join(apart, WIDTH, HEIGHT, points([6, 8], [16, 8]));
  assert.deepEqual(found, mask);
  const bent = cut(mask, WIDTH, HEIGHT, points([7, 0], [16, 16]));
  assert.deepEqual(join(bent, WIDTH, HEIGHT, points([5, 12], [17, 4])), mask);
});
