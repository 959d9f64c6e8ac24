// What the page says: aloud for screen readers, in a note that goes by itself, in numbers.
import { element, make, unbroken } from "./dom.js";

/** @param {string} text */
export function say(text) {
  element("live").textContent = text;
}

/** A message that stays until read or eight seconds have gone. @param {string} text */
export function tell(text) {
  const note = make("p", {}, ...unbroken(text));
  element("messages").append(note);
  setTimeout(() => note.remove(), 8000);
}

/**
 * Runs work started by a person; what goes wrong is told, not thrown away.
 * @template T
 * @param {() => T | Promise<T>} work
 * @returns {Promise<T | undefined>}
 */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/** @param {number | null | undefined} share @param {number} [digits] */
export const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`);
