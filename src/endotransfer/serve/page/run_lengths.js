// Masks as runs of equal pixels, for keeping: a drawing of a million pixels takes some kilobytes.
/** @import { Mask } from "./types.d.ts" */

/** A run is its label times 2^24 and its length. @param {Mask} mask */
export function toRuns(mask) {
  /** @type {number[]} */
  const runs = [];
  for (let from = 0, to = 0; from < mask.length; from = to) {
    while (to < mask.length && mask[to] === mask[from] && to - from < 0xffffff) to += 1;
    runs.push(mask[from] * 2 ** 24 + to - from);
  }
  return Uint32Array.from(runs);
}

/** Null where the runs are those of another size. @param {Uint32Array} runs @param {number} length @returns {Mask | null} */
export function fromRuns(runs, length) {
  const mask = new Uint8Array(length);
  let at = 0;
  for (const run of runs) {
    mask.fill(run >>> 24, at, at + (run & 0xffffff));
    at += run & 0xffffff;
  }
  return at === length ? mask : null;
}
