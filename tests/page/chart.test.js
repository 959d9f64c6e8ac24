// Ticks and numbers of the charts.
import assert from "node:assert/strict";
import test from "node:test";
import { short, ticks } from "../../src/endotransfer/serve/page/chart.js";

test("ticks are round and lie within", () => {
  assert.deepEqual(ticks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(ticks(3, 97, 4), [50]);
  assert.deepEqual(ticks(2, 2, 4), [2]);
});

test("numbers are short", () => {
  assert.deepEqual([0, 0.123456, 12345, 0.0001].map(short), ["0", "0.123", "1.2e+4", "1.0e-4"]);
});
