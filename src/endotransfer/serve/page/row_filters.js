// Which rows of the list are wanted, as pure functions on rows.
/** @import { Row } from "./types.d.ts" */

/**
 * @typedef {object} Wanted
 * @property {string} filter which decisions
 * @property {string} search in small letters
 * @property {Record<string, string>} only of a field, the one value
 * @property {ReadonlySet<string> | null} plan ids of the drawn sample
 * @property {string | undefined} open the id of the open image, which does not vanish under a reviewer's hands
 */

/** What a row can be chosen by. @type {Record<string, (row: Row) => (string | null | undefined)[]>} */
export const VALUES = {
  tag: (row) => [row.tag],
  split: (row) => [row.split],
  reviewer: (row) => [row.review?.who, ...(row.second ?? []).map(({ who }) => who)],
  patient: (row) => [row.patient],
};

/** @param {Row} row @param {Wanted} wanted */
export function matches(row, wanted) {
  return decided(row, wanted) && row.name.toLowerCase().includes(wanted.search)
    && Object.entries(wanted.only).every(([field, value]) => VALUES[field](row).includes(value));
}

/** @param {Row} row @param {Wanted} wanted */
function decided(row, { filter, plan, open }) {
  if (filter === "all") return true;
  if (filter === "open") return !row.review || row.id === open;
  if (filter === "unfamiliar") return Boolean(row.unfamiliar) || row.id === open;
  if (filter === "sample") return Boolean(plan?.has(row.id));
  return row.review?.decision === filter;
}

/** Every value of a field that occurs, in the order of a reader. @param {Row[]} rows @param {string} field */
export function known(rows, field) {
  const found = new Set(rows.flatMap(VALUES[field]).filter((value) => typeof value === "string" && value !== ""));
  return [.../** @type {Set<string>} */ (found)].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
}

/**
 * Who has decided about how many images, the busiest first.
 * @param {Row[]} rows @returns {[who: string, count: number][]}
 */
export function progress(rows) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const row of rows) {
    for (const who of new Set(VALUES.reviewer(row))) if (who) counts.set(who, (counts.get(who) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a);
}

/** A long value for a narrow field: its beginning and, as numbers stand there, more of its end. @param {string} text */
export function shortened(text, most = 15) {
  const first = Math.floor(most / 3);
  return text.length <= most ? text : `${text.slice(0, first)}…${text.slice(first + 1 - most)}`;
}
