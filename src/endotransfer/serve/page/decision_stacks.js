// What a reviewer decided and undid, as two stacks.  Pure: whoever calls keeps them.
/**
 * @typedef {{ id: string, from: number | null, to: number | null }} Entry numbers of the decisions in force before and after
 */
/** @typedef {{ done: Entry[], undone: Entry[] }} Stacks */

const MOST = 200;

/** @param {string} text @returns {Stacks} */
export function parseStacks(text) {
  try {
    const { done, undone } = JSON.parse(text);
    return Array.isArray(done) && Array.isArray(undone) ? { done, undone } : { done: [], undone: [] };
  } catch {
    return { done: [], undone: [] };
  }
}

/**
 * A new decision; what was undone before can no longer be redone.
 * @param {Stacks} stacks @param {Entry} entry @returns {Stacks}
 */
export const noted = ({ done }, entry) => ({ done: [...done, entry].slice(-MOST), undone: [] });

/**
 * The way back or forth: the entry, the decision it expects to find in force and the one it asks for, and the stacks
 * without it and after it.
 * @param {Stacks} stacks @param {"undo" | "redo"} way
 */
export function travelled(stacks, way) {
  const [source, target] = way === "undo" ? /** @type {const} */ (["done", "undone"]) : /** @type {const} */ (["undone", "done"]);
  const entry = stacks[source].at(-1);
  if (!entry) return null;
  const [expects, wants] = way === "undo" ? [entry.to, entry.from] : [entry.from, entry.to];
  const without = { ...stacks, [source]: stacks[source].slice(0, -1) };
  return { entry, expects, wants, without, after: { ...without, [target]: [...stacks[target], entry] } };
}
