// The open image: everything that can be laid over it, and the mask of each side at the present threshold.
/** @import { Details, Mask, OpenImage, Row, Side } from "./types.d.ts" */
import { getBitmap, getJson, getNumbers } from "./api.js";
import { isBlind, readingOf } from "./blind.js";
import { labelsAt, readMap, readMask, readRegions } from "./masks.js";
import { reviewerName } from "./reviewer.js";
import { state } from "./state.js";

/** @param {Row} row @returns {Promise<OpenImage>} */
export async function openImage(row) {
  const path = `/api/images/${row.id}`;
  const looked = getJson(path);
  const predicted = typeof row.area === "number" ? null : looked.catch(() => {}); // one request predicts, not three at once
  const getMap = async (/** @type {number} */ model) => { await predicted; return readMap(await getNumbers(`${path}/map/${model}`)); };
  const getTruth = async () => { await predicted; return readMask(await getNumbers(`${path}/truth`)); };
  const [found, picture, maps, truth] = await Promise.all([
    looked, getBitmap(`${path}/picture`), Promise.all(state.about.models.map((_, model) => getMap(model))),
    row.truth ? getTruth().catch(() => null) : null,
  ]);
  const details = /** @type {Details} */ (found);
  const [height, width] = details.shown;
  /** @type {OpenImage} */
  const image = {
    row, path, width, height, size: details.size, picture, maps, truth, reviewed: null, seconds: [], carriedMask: null,
    models: details.models, review: details.review, revision: details.revision, second: details.second, carried: details.carried,
    uploaded: Boolean(row.uploaded),
    draft: null, start: null, draftFrom: null, before: null, past: [], future: [], version: 0, regions: {}, cache: new Map(),
  };
  await loadReviews(image);
  return image;
}

/** The masks that people have saved, as the record of the image names them now. @param {OpenImage} image */
export async function loadReviews(image) {
  image.version += 1;
  /** @param {number} number */
  const mask = (number) => getNumbers(`${image.path}/reviewed?version=${number}`).then(readMask).catch(() => null);
  image.reviewed = image.review && image.review.decision !== "rejected" ? await mask(image.review.number) : null;
  image.carriedMask = image.carried ? await mask(image.carried.number) : null;
  image.seconds = await Promise.all((image.second ?? []).map(async ({ who, number }) => ({ who, mask: await mask(number) })));
}

/** What can be shown on a side, with its name. @param {OpenImage | null} image */
export function sides(image) {
  if (image && isBlind(image)) return blindSides(image);
  /** @type {Side[]} */
  const found = state.about.models.map((model, index) => [`model${index}`, model.name]);
  if (image?.draft) found.unshift(["draft", "Your correction"]);
  if (image?.truth) found.push(["truth", "Ground truth"]);
  if (image?.carried && image.carriedMask) found.push(["carried", `From frame ${image.carried.from}`]);
  if (image?.reviewed) found.push(["reviewed", `Reviewed by ${image.review?.who}`]);
  image?.seconds.forEach(({ who }, index) => found.push([`second${index}`, `Second: ${who}`]));
  return found;
}

/**
 * Before a person has judged an image: their own drawing, and to settle two readings those two.
 * @param {OpenImage} image @returns {Side[]}
 */
function blindSides(image) {
  const reading = readingOf(image);
  /** @type {Side[]} */
  const found = [];
  if (image.draft) found.push(["draft", "Your drawing"]);
  const settling = reading === "adjudicate";
  const { review } = image;
  const first = image.reviewed && reading !== "second" && (settling || review?.who === reviewerName());
  if (first && review) found.push(["reviewed", `${review.adjudicated ? "Settled" : "Read"} by ${review.who}`]);
  image.seconds.forEach(({ who }, index) => {
    if (settling || (reading === "second" && who === reviewerName())) found.push([`second${index}`, `Second: ${who}`]);
  });
  return [...found, ["none", "Image alone"]];
}

/** Whether what a person drew is what holds of an image. @param {OpenImage} image */
export const isCorrected = (image) => !isBlind(image) && Boolean(image.reviewed) && image.review?.decision === "corrected";

/** @param {string} side */
export const modelOf = (side) => (side.startsWith("model") ? Number(side.slice(5)) : null);

/**
 * The mask of a side; kept until the threshold or the drawing changes.
 * @param {OpenImage} image @param {string} side @returns {Mask | null}
 */
export function labelsOf(image, side) {
  const model = modelOf(side);
  if (model === null) return saved(image, side);
  const known = image.cache.get(side);
  if (known?.threshold === state.threshold) return known.labels;
  const labels = labelsAt(image.maps[model], state.threshold);
  image.cache.set(side, { threshold: state.threshold, labels });
  return labels;
}

/** @param {OpenImage} image @param {string} side */
function saved(image, side) {
  if (side.startsWith("second")) return image.seconds[Number(side.slice(6))]?.mask ?? null;
  if (side === "carried") return image.carriedMask;
  return side === "draft" || side === "truth" || side === "reviewed" ? image[side] : null;
}

/** @param {OpenImage} image */
export async function loadRegions(image, size = state.regionSize) {
  image.regions[size] ??= readRegions(await getNumbers(`${image.path}/superpixels?size=${size}`));
  return image.regions[size];
}
