// The open image: everything that can be laid over it, and the mask of each side at the present threshold.
import { getBitmap, getJson, getNumbers } from "./api.js";
import { isBlind, readingOf } from "./blind.js";
import { labelsAt, readMap, readMask, readRegions } from "./masks.js";
import { element, state } from "./state.js";

export async function openImage(row) {
  const path = `/api/images/${row.id}`;
  const [details, picture] = await Promise.all([getJson(path), getBitmap(`${path}/picture`)]);
  const maps = await Promise.all(state.about.models.map((_, model) => getNumbers(`${path}/map/${model}`).then(readMap)));
  const truth = details.truth ? await getNumbers(`${path}/truth`).then(readMask).catch(() => null) : null;
  const [height, width] = details.shown;
  const image = {
    row, path, width, height, size: details.size, picture, maps, truth, reviewed: null, seconds: [],
    models: details.models, review: details.review, revision: details.revision, second: details.second, uploaded: Boolean(row.uploaded),
    draft: null, draftFrom: null, past: [], future: [], version: 0, regions: {}, cache: new Map(),
  };
  await loadReviews(image);
  return image;
}

// The masks that people have saved, as the record of the image names them now.
export async function loadReviews(image) {
  image.version += 1;
  const mask = (number) => getNumbers(`${image.path}/reviewed?version=${number}`).then(readMask).catch(() => null);
  image.reviewed = image.review && image.review.decision !== "rejected" ? await mask(image.review.number) : null;
  image.seconds = await Promise.all((image.second ?? []).map(async ({ who, number }) => ({ who, mask: await mask(number) })));
}

const reviewer = () => element("who").value.trim();

// What can be shown on a side, with its name.
export function sides(image) {
  if (isBlind(image)) return blindSides(image);
  const found = state.about.models.map((model, index) => [`model${index}`, model.name]);
  if (image?.draft) found.unshift(["draft", "Your correction"]);
  if (image?.truth) found.push(["truth", "Ground truth"]);
  if (image?.reviewed) found.push(["reviewed", `Reviewed by ${image.review.who}`]);
  image?.seconds.forEach(({ who }, index) => found.push([`second${index}`, `Second: ${who}`]));
  return found;
}

// Before a person has judged an image: their own drawing, and to settle two readings those two.
function blindSides(image) {
  const reading = readingOf(image);
  const found = [];
  if (image.draft) found.push(["draft", "Your drawing"]);
  const settling = reading === "adjudicate";
  const first = image.reviewed && reading !== "second" && (settling || image.review.who === reviewer());
  if (first) found.push(["reviewed", `${image.review.adjudicated ? "Settled" : "Read"} by ${image.review.who}`]);
  image.seconds.forEach(({ who }, index) => {
    if (settling || (reading === "second" && who === reviewer())) found.push([`second${index}`, `Second: ${who}`]);
  });
  return [...found, ["none", "Image alone"]];
}

export const modelOf = (side) => (side.startsWith("model") ? Number(side.slice(5)) : null);

// The mask of a side; kept until the threshold or the drawing changes.
export function labelsOf(image, side) {
  const model = modelOf(side);
  if (model === null) return side.startsWith("second") ? image.seconds[Number(side.slice(6))]?.mask ?? null : image[side] ?? null;
  const known = image.cache.get(side);
  if (known?.threshold === state.threshold) return known.labels;
  const labels = labelsAt(image.maps[model], state.threshold);
  image.cache.set(side, { threshold: state.threshold, labels });
  return labels;
}

export async function loadRegions(image, size = state.regionSize) {
  image.regions[size] ??= readRegions(await getNumbers(`${image.path}/superpixels?size=${size}`));
  return image.regions[size];
}
