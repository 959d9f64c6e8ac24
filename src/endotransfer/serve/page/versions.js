// A decision of the past in words.
/** @import { ReviewVersion } from "./types.d.ts" */

/**
 * What was decided, and what more there is to say of it in brackets.
 * @param {Pick<ReviewVersion, "decision" | "restores" | "blind" | "reading" | "adjudicated">} version
 * @returns {[what: string, more: string]}
 */
export function described({ decision, restores, blind, reading, adjudicated }) {
  if (decision === "taken back") return [restores ? `back to ${restores}` : "taken back", ""];
  const more = [blind && "blind", reading === "second" && "second reading", adjudicated && "settles two readings"].filter(Boolean);
  return [decision, more.length ? ` (${more.join(", ")})` : ""];
}
