// Peaks of a curve, the frame at a time, and times in words.
import assert from "node:assert/strict";
import test from "node:test";
import { clock, endingInWords, frameAt, nextOf, peaks, timeLeft } from "../../src/endotransfer/serve/page/video_curve.js";

/** @param {number[]} values */
const curve = (values) => values.map((value, i) => [i * 3, value, 1 - value]);

test("peaks rise by a tenth of the range, and are told by their frames", () => {
  assert.deepEqual(peaks(curve([0, 0.2, 0.9, 0.3, 0.28, 0.31, 0.1, 0.6, 0.6, 0]), 1), [6, 21]);
  assert.deepEqual(peaks(curve([0.9, 0.2, 0.1]), 1), [0]); // at the beginning
  assert.deepEqual(peaks(curve([0.1, 0.2, 0.9]), 1), [6]); // at the end
  assert.deepEqual(peaks(curve([0.3, 0.3, 0.3]), 1), []);
  assert.deepEqual(peaks([], 1), []);
  assert.deepEqual(peaks(curve([0, 1, 0]), 2), [0, 6]); // doubt is high where the area is small
});

test("every peak is the highest value between the valleys around it", () => {
  for (let seed = 1; seed < 60; seed += 1) {
    const values = Array.from({ length: 40 }, (_, i) => Math.abs(Math.sin(seed * 12.9898 + i * (seed % 7 + 1) * 0.37)));
    const found = peaks(curve(values), 1).map((frame) => frame / 3);
    const least = 0.1 * (Math.max(...values) - Math.min(...values));
    found.forEach((place, k) => {
      const [from, to] = [found[k - 1] ?? 0, found[k + 1] ?? values.length - 1];
      const left = values.slice(from, place + 1);
      const right = values.slice(place, to + 1);
      const rises = [left, right].filter((side) => side.length > 1).map((side) => values[place] - Math.min(...side));
      assert.ok(rises.some((rise) => rise >= least - 1e-9), `seed ${seed}, place ${place}`);
    });
    assert.ok(found.includes(values.indexOf(Math.max(...values))), `seed ${seed}: the highest of all`);
  }
});

test("the next of some frames, either way", () => {
  assert.equal(nextOf([3, 9, 12], 9, 1), 12);
  assert.equal(nextOf([3, 9, 12], 9, -1), 3);
  assert.equal(nextOf([3, 9, 12], 12, 1), null);
});

test("the frame at a time is the last one that began before it", () => {
  const times = [0, 0.04, 0.08, 0.5, 0.54];
  const slow = (/** @type {number} */ at) => times.filter((time) => time <= at + 1e-6).length - 1;
  for (const at of [0, 0.01, 0.04, 0.079, 0.08, 0.3, 0.5, 0.54, 9]) assert.equal(frameAt(times, at), slow(at));
});

test("times and endings in words", () => {
  assert.equal(clock(0), "0:00.00");
  assert.equal(clock(75.5), "1:15.50");
  assert.equal(clock(3661.25), "1:01:01.25");
  assert.equal(timeLeft(null), "");
  assert.equal(timeLeft(12.4), "about 12 s left");
  assert.equal(timeLeft(600), "about 10 min left");
  assert.equal(endingInWords("cut"), "the scene changes");
  assert.equal(endingInWords(null), "stopped");
  assert.deepEqual([1, -1].map((way) => endingInWords("end", way)), ["the video ends", "the video begins"]);
  assert.equal(endingInWords("cut", -1), "the scene changes");
});
