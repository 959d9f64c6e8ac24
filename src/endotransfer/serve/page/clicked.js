// What clicks do to a drawing, as pure functions on masks.
/** @import { Mask, Point } from "./types.d.ts" */

/**
 * The drawing with one object more: the answer to its clicks.  What the model had marked of the same object gives way,
 * or a click beside the lesion could never take anything away; what a person has drawn stays.
 * @param {object} drawing
 * @param {Mask} drawing.base what it was before the object's first click
 * @param {Mask | null} drawing.start what it began with: the model's mask
 * @param {number} drawing.width
 * @param {Mask} answer 1 where the object is
 * @param {Point[]} points of the object
 * @param {number} value its class
 * @returns {Mask}
 */
export function withObject({ base, start, width }, answer, points, value) {
  const out = Uint8Array.from(base);
  const seeds = points.map(({ x, y }) => Math.round(y) * width + Math.round(x));
  if (start) clearTouched(out, start, width, answer, seeds, value);
  for (let i = 0; i < out.length; i += 1) if (answer[i]) out[i] = value;
  return out;
}

/**
 * Clears each connected part of the class, as far as the drawing began with it, that the answer or a seed touches.
 * @param {Mask} out @param {Mask} start @param {number} width @param {Mask} answer @param {number[]} seeds
 * @param {number} value
 */
function clearTouched(out, start, width, answer, seeds, value) {
  /** @type {number[]} */
  const stack = [];
  /** @param {number} place */
  const visit = (place) => {
    if (out[place] !== value || start[place] !== value) return;
    out[place] = 0;
    stack.push(place);
  };
  /** @param {number} seed */
  const clearFrom = (seed) => {
    visit(seed);
    for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
      const x = place % width;
      if (x > 0) visit(place - 1);
      if (x < width - 1) visit(place + 1);
      visit(place - width); // beyond the image there is nothing: undefined is no class
      visit(place + width);
    }
  };
  for (let i = 0; i < answer.length; i += 1) if (answer[i]) clearFrom(i);
  seeds.forEach(clearFrom);
}

/**
 * A mask that was waited for comes into its step of a drawing, and into the steps that were made from it meanwhile,
 * where they left it as it was.
 * @param {Mask} step @param {Mask} mask @param {Mask[]} later
 */
export function fillIn(step, mask, later) {
  const before = Uint8Array.from(step);
  step.set(mask);
  for (const one of later) {
    for (let i = 0; i < mask.length; i += 1) if (one[i] === before[i]) one[i] = mask[i];
  }
}

/** Whether two prompts say the same. @param {Point & { positive: boolean }} one @param {Point & { positive: boolean }} other @param {number} reach */
export const sameClick = (one, other, reach) => one.positive === other.positive && Math.hypot(one.x - other.x, one.y - other.y) <= reach;

/**
 * The box between two corners: left, top, right, bottom, within the image.
 * @param {Point} one @param {Point} other @param {number} width @param {number} height
 * @returns {[number, number, number, number]}
 */
export function boxBetween(one, other, width, height) {
  const [xs, ys] = [[one.x, other.x], [one.y, other.y]];
  return [Math.max(0, Math.min(...xs)), Math.max(0, Math.min(...ys)), Math.min(width - 1, Math.max(...xs)), Math.min(height - 1, Math.max(...ys))];
}
