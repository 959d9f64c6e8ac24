// What clicks do to a drawing, against a literal twin.
import assert from "node:assert/strict";
import test from "node:test";
import { boxBetween, fillIn, sameClick, withObject } from "../../src/endotransfer/serve/page/clicked.js";
import { HEIGHT, WIDTH, at, eachPixel, randomMask } from "./random_mask.js";

/** Spreads the mark of every seed over neighbours of the class, one pixel at a time, until nothing changes. */
function literally({ base, start }, answer, points, value) {
  const own = (x, y) => at(base, x, y) === value && at(start ?? [], x, y) === value;
  const seed = (x, y) => answer[y * WIDTH + x] || points.some((point) => point.x === x && point.y === y);
  const gone = new Set([...eachPixel()].filter(([x, y]) => own(x, y) && seed(x, y)).map(String));
  for (let before = -1; before !== gone.size;) {
    before = gone.size;
    for (const [x, y] of eachPixel()) {
      const beside = [[x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]].some((place) => gone.has(String(place)));
      if (own(x, y) && beside) gone.add(String([x, y]));
    }
  }
  return Uint8Array.from(base, (label, i) => {
    if (answer[i]) return value;
    return gone.has(String([i % WIDTH, Math.floor(i / WIDTH)])) ? 0 : label;
  });
}

test("the answer takes the place of what the model had marked there, and of nothing else", () => {
  for (const seed of [1, 2, 3, 4]) {
    const start = randomMask(seed, 2);
    const base = Uint8Array.from(start, (label, i) => (i % 7 ? label : 1 - Math.min(1, label))); // a person has drawn
    const answer = new Uint8Array(start.length).fill(1, 90 + 10 * seed, 96 + 10 * seed);
    const points = [{ x: 3 + seed, y: 2 }, { x: 11, y: 9 }];
    for (const drawing of [{ base, start, width: WIDTH }, { base, start: null, width: WIDTH }]) {
      const found = withObject(drawing, answer, points, 1);
      assert.deepEqual(found, literally(drawing, answer, points, 1));
      assert.notDeepEqual(found, base);
    }
  }
  assert.equal(HEIGHT * WIDTH, randomMask(1).length);
});

test("a click beside the lesion takes away what the model had marked there", () => {
  const start = Uint8Array.of(1, 1, 0, 0, 0, 0);
  const answer = Uint8Array.of(0, 0, 0, 0, 1, 1);
  const found = withObject({ base: start, start, width: 6 }, answer, [{ x: 5, y: 0 }, { x: 0, y: 0 }], 1);
  assert.deepEqual([...found], [0, 0, 0, 0, 1, 1]);
  const stroke = Uint8Array.of(1, 1, 1, 0, 0, 0); // the third pixel was painted by a person
  assert.deepEqual([...withObject({ base: stroke, start, width: 6 }, answer, [{ x: 0, y: 0 }], 1)], [0, 0, 1, 0, 1, 1]);
});

test("a late mask reaches the steps made from it, where they left it alone", () => {
  const step = Uint8Array.of(0, 0, 0);
  const later = Uint8Array.of(0, 2, 0);
  fillIn(step, Uint8Array.of(1, 1, 0), [later]);
  assert.deepEqual([...step], [1, 1, 0]);
  assert.deepEqual([...later], [1, 2, 0]);
});

test("boxes have an order and stay within the image; a double click is one click", () => {
  assert.deepEqual(boxBetween({ x: 9, y: -3 }, { x: 2, y: 50 }, 8, 20), [2, 0, 7, 19]);
  const one = { x: 3, y: 4, positive: true };
  assert.equal(sameClick(one, { x: 4, y: 4, positive: true }, 1), true);
  assert.equal(sameClick(one, { x: 4, y: 4, positive: false }, 1), false);
  assert.equal(sameClick(one, { x: 6, y: 4, positive: true }, 1), false);
});
