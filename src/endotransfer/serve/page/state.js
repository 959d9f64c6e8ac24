// What the page knows, and who wants to hear when it changes.  A record and thirty lines: modules that listen for a
// handful of events need no framework, and the service's strict policy lets none in from elsewhere.
/** @import { About, Desk, OpenImage, Point, Reading, Row } from "./types.d.ts" */

export const state = {
  about: /** @type {About} */ (/** @type {unknown} */ (null)), // asked for before anything else runs
  rows: /** @type {Row[]} */ ([]), // images in the order shown
  picked: /** @type {Row[]} */ ([]), // rows of uploads, in front of the folder's
  order: "name",
  filter: "all", // which decisions
  only: /** @type {Record<string, string>} */ ({}), // tag, split, reviewer, patient: the one value that is shown
  search: "",
  image: /** @type {OpenImage | null} */ (null), // the open one: pixels, maps, masks
  desk: /** @type {Desk | null} */ (null), // what one goes through; null: the images of the list
  threshold: 0.5,
  opacity: 0.45,
  style: "outline",
  brightness: 1,
  contrast: 1,
  hidden: /** @type {Set<number>} */ (new Set()), // classes
  masksOff: false,
  left: "model0",
  right: "",
  swipe: 0.5,
  truthOutline: false,
  tool: "move",
  paint: 1,
  brush: 20,
  path: /** @type {Point[]} */ ([]), // corners of the lasso or polygon in hand, in image pixels
  regionSize: "medium",
  plan: /** @type {Set<string> | null} */ (null), // ids of the drawn sample
  blind: true, // whether drawn images are judged without sight of a model's mask
  reading: /** @type {Reading} */ ("first"), // of the drawn sample
};

/**
 * image: another one is open; look: draw anew; drawn: it was; pointer: it moved; drawing: the correction changed;
 * sides: what can be shown changed; rows: the list changed; reviewed: a decision was made or taken back;
 * frame: another one of a video is asked for; curve: more is known of a video.
 * @typedef {"frame" | "curve" | "image" | "look" | "drawn" | "pointer" | "drawing" | "sides" | "rows" | "reviewed"} Happening
 */

/** @type {Map<Happening, (() => unknown)[]>} */
const listeners = new Map();

/** @param {Happening | Happening[]} happenings @param {() => unknown} listener */
export function on(happenings, listener) {
  for (const name of [happenings].flat()) listeners.set(name, [...(listeners.get(name) ?? []), listener]);
}

/** @param {Happening} happening */
export function emit(happening) {
  for (const listener of listeners.get(happening) ?? []) listener();
}
