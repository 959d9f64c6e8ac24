// The open image: everything that can be laid over it, and the mask of each side at the present threshold.
import { getBitmap, getJson, getNumbers } from "./api.js";
import { labelsAt, readMap, readMask, readRegions } from "./masks.js";
import { state } from "./state.js";

export async function openImage(row) {
  const path = `/api/images/${row.id}`;
  const [details, picture] = await Promise.all([getJson(path), getBitmap(`${path}/picture`)]);
  const maps = await Promise.all(state.about.models.map((_, model) => getNumbers(`${path}/map/${model}`).then(readMap)));
  const truth = details.truth ? await getNumbers(`${path}/truth`).then(readMask).catch(() => null) : null;
  const reviewed = details.review && details.review.decision !== "rejected" ? await getNumbers(`${path}/reviewed`).then(readMask).catch(() => null) : null;
  const [height, width] = details.shown;
  return {
    row, path, width, height, size: details.size, picture, maps, truth, reviewed,
    models: details.models, review: details.review, uploaded: Boolean(row.uploaded),
    draft: null, draftFrom: null, version: 0, regions: null, cache: new Map(),
  };
}

// What can be shown on a side, with its name.
export function sides(image) {
  const found = state.about.models.map((model, index) => [`model${index}`, model.name]);
  if (image?.draft) found.unshift(["draft", "Your correction"]);
  if (image?.truth) found.push(["truth", "Ground truth"]);
  if (image?.reviewed) found.push(["reviewed", `Reviewed by ${image.review.who}`]);
  return found;
}

export const modelOf = (side) => (side.startsWith("model") ? Number(side.slice(5)) : null);

// The mask of a side; kept until the threshold or the drawing changes.
export function labelsOf(image, side) {
  const model = modelOf(side);
  if (model === null) return image[side] ?? null;
  const known = image.cache.get(side);
  if (known?.threshold === state.threshold) return known.labels;
  const labels = labelsAt(image.maps[model], state.threshold);
  image.cache.set(side, { threshold: state.threshold, labels });
  return labels;
}

export async function loadRegions(image) {
  image.regions ??= readRegions(await getNumbers(`${image.path}/superpixels`));
  return image.regions;
}
