// How far a training is, and what a figure was and is, in words.
import assert from "node:assert/strict";
import test from "node:test";
import { cells, duration, masks, progressOf } from "../../src/endotransfer/serve/page/learn_words.js";

const JOB = { name: "a-reviewed-1", before: "a", state: "running", reviewed: 1, step: 30, steps: 120, left: 200, message: "", curves: {} };

test("time is told no finer than it is known", () => {
  assert.deepEqual([0, 12.4, 200, 7200].map(duration), ["1 s", "12 s", "3 min", "2.0 h"]);
  assert.deepEqual([0, 1, 2].map(masks), ["0 reviewed masks", "1 reviewed mask", "2 reviewed masks"]);
});

test("each state has its sentence", () => {
  const begin = "a-reviewed-1, from a with 1 reviewed mask: ";
  const said = (change) => progressOf({ ...JOB, ...change }).replace(begin, "");
  assert.equal(said({}), "step 30 of 120, about 3 min left.");
  assert.equal(said({ left: null }), "step 30 of 120.");
  assert.equal(said({ step: 0, steps: 0, left: null }), "beginning.");
  assert.equal(said({ state: "stopped" }), "stopped at step 30 of 120.");
  assert.equal(said({ state: "failed", steps: 0, step: 0 }), "failed at step 0.");
  assert.equal(said({ state: "done", step: 120 }), "done, 120 steps.");
});

test("a difference has its sign, and its interval where one is known", () => {
  assert.deepEqual(cells({ before: 70, after: 72.34, difference: 2.34, interval: [-0.5, 5.1] }), ["70.0", "72.3", "+2.3 (−0.5 to +5.1)"]);
  assert.deepEqual(cells({ before: 70, after: 69, difference: null, interval: null }), ["70.0", "69.0", "−1.0"]);
  assert.deepEqual(cells({ before: null, after: 69, difference: null, interval: null }), ["–", "69.0", "–"]);
});
