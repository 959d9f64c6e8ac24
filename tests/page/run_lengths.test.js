// Masks as runs, there and back.
import assert from "node:assert/strict";
import test from "node:test";
import { fromRuns, toRuns } from "../../src/endotransfer/serve/page/run_lengths.js";
import { randomMask } from "./random_mask.js";

test("a mask comes back from its runs as it was", () => {
  for (const mask of [randomMask(1), randomMask(2, 255), new Uint8Array(5), new Uint8Array(0), Uint8Array.of(255)]) {
    assert.deepEqual(fromRuns(toRuns(mask), mask.length), mask);
  }
  const large = new Uint8Array(0xffffff + 7).fill(255); // longer than one run may be
  assert.deepEqual([...toRuns(large)], [255 * 2 ** 24 + 0xffffff, 255 * 2 ** 24 + 7]);
  assert.deepEqual([...toRuns(Uint8Array.of(0, 0, 3))], [2, 3 * 2 ** 24 + 1]);
});

test("runs of another size are no mask", () => {
  const runs = toRuns(new Uint8Array(12));
  assert.equal(fromRuns(runs, 11), null);
  assert.equal(fromRuns(runs, 13), null);
});
