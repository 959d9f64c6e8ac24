// What tidies a drawing up, against literal twins (SciPy's are in tests/browser/test_viewer_shapes.py).
import assert from "node:assert/strict";
import test from "node:test";
import { fillHoles, fillPolygon, grow, mostly, paintRegion, shrink } from "../../src/endotransfer/serve/page/shapes.js";
import { HEIGHT, WIDTH, at, eachPixel, randomMask } from "./random_mask.js";

const beside = (mask, x, y) => [[1, 0], [-1, 0], [0, 1], [0, -1]].map(([dx, dy]) => at(mask, x + dx, y + dy)).filter((label) => label !== undefined);

test("a class grows over class 0 alone, and shrinks where something else is beside it", () => {
  const mask = randomMask(7);
  const [grown, shrunk] = [grow(mask, WIDTH, HEIGHT, 1), shrink(mask, WIDTH, HEIGHT, 1)];
  for (const [x, y] of eachPixel()) {
    const here = at(mask, x, y);
    assert.equal(at(grown, x, y), here === 0 && beside(mask, x, y).includes(1) ? 1 : here);
    assert.equal(at(shrunk, x, y), here === 1 && beside(mask, x, y).some((label) => label !== 1) ? 0 : here);
  }
});

test("a hole is class 0 from which no way leads out", () => {
  const ring = new Uint8Array(WIDTH * HEIGHT);
  fillPolygon(ring, WIDTH, HEIGHT, [{ x: 3, y: 3 }, { x: 12, y: 3 }, { x: 12, y: 12 }, { x: 3, y: 12 }], 1);
  const whole = Uint8Array.from(ring);
  ring[7 * WIDTH + 7] = 0;
  ring[8 * WIDTH + 7] = 2; // another class stays
  const filled = fillHoles(ring, WIDTH, HEIGHT, 1);
  whole[8 * WIDTH + 7] = 2;
  assert.deepEqual(filled, whole);
});

test("a region is painted whole, and is mostly painted from half of it on", () => {
  const regions = Uint32Array.from(randomMask(9, 5));
  const mask = new Uint8Array(regions.length);
  assert.equal(mostly(mask, regions, 2, 1), false);
  paintRegion(mask, regions, 2, 1);
  assert.equal(mostly(mask, regions, 2, 1), true);
  assert.deepEqual([...mask], [...regions].map((region) => Number(region === 2)));
});
