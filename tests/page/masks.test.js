// The pixel functions against literal twins.
import assert from "node:assert/strict";
import test from "node:test";
import {
  IGNORE, area, border, labelsAt, overlap, parts, readMap, readMask, readRegions, stampDisc, stampLine,
} from "../../src/endotransfer/serve/page/masks.js";
import { HEIGHT, WIDTH, at, eachPixel, randomMask } from "./random_mask.js";

test("files of numbers are read channel by channel", () => {
  const rgba = [1, 200, 0, 255, 2, 3, 4, 255];
  assert.deepEqual(readMap(rgba), { best: Uint8Array.of(1, 2), code: Uint8Array.of(200, 3) });
  assert.deepEqual(readMask(rgba), Uint8Array.of(1, 2));
  assert.deepEqual([...readRegions(rgba)], [1 + 200 * 256, 2 + 3 * 256 + 4 * 65536]);
});

test("a pixel counts from the threshold on", () => {
  const map = { best: Uint8Array.of(1, 2, 1), code: Uint8Array.of(127, 128, 255) };
  assert.deepEqual(labelsAt(map, 0.5), Uint8Array.of(0, 2, 1));
  assert.deepEqual(labelsAt(map, 0.99), Uint8Array.of(0, 0, 1));
});

test("the border is where a neighbour at that distance differs", () => {
  for (const thick of [1, 2]) {
    const mask = randomMask(thick);
    const marks = border(mask, WIDTH, HEIGHT, thick);
    for (const [x, y] of eachPixel()) {
      const here = at(mask, x, y);
      const around = [[thick, 0], [-thick, 0], [0, thick], [0, -thick]].map(([dx, dy]) => at(mask, x + dx, y + dy));
      const wanted = here !== 0 && around.some((label) => label !== undefined && label !== here);
      assert.equal(marks[y * WIDTH + x], Number(wanted), `${x}, ${y}`);
    }
  }
});

test("overlap is intersection over union, pixels that nobody decided left out", () => {
  const [one, other] = [randomMask(3), randomMask(4)];
  const kept = [...one.keys()].filter((i) => one[i] !== IGNORE && other[i] !== IGNORE);
  const iou = (inside) => {
    const both = kept.filter((i) => inside(one[i]) && inside(other[i])).length;
    return both / kept.filter((i) => inside(one[i]) || inside(other[i])).length;
  };
  const found = overlap(one, other, 4);
  assert.deepEqual(found.classes, [0, 1, 2].map((k) => iou((label) => label === k)).concat(null));
  const lesion = kept.filter((i) => one[i] && other[i]).length / kept.filter((i) => one[i] || other[i]).length;
  assert.equal(found.lesion, lesion);
});

test("parts and area see what is drawn", () => {
  const mask = new Uint8Array(WIDTH * HEIGHT);
  assert.deepEqual(parts(mask, WIDTH), []);
  mask[0] = IGNORE;
  mask[WIDTH - 1] = 1; // the next place is in another row: no neighbour
  mask[WIDTH] = 1;
  for (const place of [3 * WIDTH + 4, 4 * WIDTH + 4, 4 * WIDTH + 3]) mask[place] = 2;
  assert.deepEqual(parts(mask, WIDTH), [
    { left: 3, top: 3, right: 4, bottom: 4, size: 3 },
    { left: WIDTH - 1, top: 0, right: WIDTH - 1, bottom: 0, size: 1 },
    { left: 0, top: 1, right: 0, bottom: 1, size: 1 },
  ]);
  assert.equal(area(mask), 5 / mask.length);
});

test("a stroke is the discs along it", () => {
  const disc = new Uint8Array(WIDTH * HEIGHT);
  stampDisc(disc, WIDTH, HEIGHT, 5.3, 16.2, 4, 1);
  for (const [x, y] of eachPixel()) assert.equal(at(disc, x, y), Number((x - 5.3) ** 2 + (y - 16.2) ** 2 <= 16));
  const line = new Uint8Array(WIDTH * HEIGHT);
  stampLine(line, WIDTH, HEIGHT, { x: -3, y: 8 }, { x: 30, y: 8 }, 2, 1);
  for (const [x, y] of eachPixel()) {
    const off = Math.abs(y - 8);
    if (off !== 2) assert.equal(at(line, x, y), Number(off < 2)); // at 2 only where a disc was set
  }
});
