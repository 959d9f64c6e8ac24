// A decision of the past in words.
/** @import { ReviewVersion } from "./types.d.ts" */

/**
 * What was decided, and what more there is to say of it in brackets.
 * @param {Pick<ReviewVersion, "decision" | "restores" | "blind" | "reading" | "adjudicated" | "carried_from">} version
 * @returns {[what: string, more: string]}
 */
export function described({ decision, restores, blind, reading, adjudicated, carried_from: from }) {
  if (decision === "taken back") return [restores ? `back to ${restores}` : "taken back", ""];
  const place = typeof from === "number" && `from frame ${from}`;
  const more = [blind && "blind", reading === "second" && "second reading", adjudicated && "settles two readings", place].filter(Boolean);
  return [decision, more.length ? ` (${more.join(", ")})` : ""];
}
