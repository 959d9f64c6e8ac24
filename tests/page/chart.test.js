// Ticks and numbers of the charts.
import assert from "node:assert/strict";
import test from "node:test";
import { apart, shares, short, spellShare, ticks } from "../../src/endotransfer/serve/page/chart.js";

test("ticks are round and lie within", () => {
  assert.deepEqual(ticks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(ticks(3, 97, 4), [50]);
  assert.deepEqual(ticks(2, 2, 4), [2]);
});

test("numbers are short", () => {
  assert.deepEqual([0, 0.123456, 12345, 0.0001].map((value) => short(value)), ["0", "0.123", "1.2e+4", "1.0e-4"]);
});

test("labels of an axis differ, and a share of many times is no percentage", () => {
  assert.deepEqual(apart([1.38, 1.385, 1.39], short), ["1.38", "1.385", "1.39"]);
  assert.deepEqual(apart([1.385, 1.3854], short), ["1.385", "1.3854"]);
  assert.deepEqual(apart([6.9e-4, 6.92e-4], short), ["6.90e-4", "6.92e-4"]);
  assert.deepEqual(apart([0, 0.2, 1], spellShare), ["0 %", "20 %", "100 %"]);
  assert.deepEqual(apart([0.121, 0.124], spellShare), ["12.1 %", "12.4 %"]);
  assert.equal(spellShare(252), "252 ×");
  assert.deepEqual(shares([0, 100, 200]), ["0 ×", "100 ×", "200 ×"]);
  assert.deepEqual(shares([0, 5, 10]), ["0 ×", "5 ×", "10 ×"]); // one unit an axis
  assert.deepEqual(shares([0, 0.5, 1]), ["0 %", "50 %", "100 %"]);
  assert.equal(spellShare(0.034), "3.4 %");
});
