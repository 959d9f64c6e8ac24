// Images are made ready for clicks before the first one comes: the open image, then the next in the list.
/** @import { OpenImage } from "./types.d.ts" */
import { postNothing, refusedAs } from "./api.js";
import { visibleRows } from "./filters.js";
import { tell } from "./messages.js";
import { emit, state } from "./state.js";

const PAUSE = 150; // milliseconds: who leafs through the folder prepares nothing
/** @type {number | undefined} */
let timer;
let under = ""; // the id of the open image while it is prepared

export const isPreparing = () => under !== "" && under === state.image?.row.id;

export function prepareSoon() {
  clearTimeout(timer);
  timer = setTimeout(() => { if (state.image) prepare(state.image); }, PAUSE);
}

/** @param {OpenImage} image */
async function prepare(image) {
  under = image.row.id;
  emit("look");
  try {
    await postNothing(`${image.path}/prepare`);
    if (state.image === image) await prepareNext(image);
  } catch (error) { // while the service is busy the first click prepares the image
    if (!refusedAs(error, "busy") && state.image === image) tell(error instanceof Error ? error.message : String(error));
  } finally {
    if (under === image.row.id) under = "";
    emit("look");
  }
}

/** @param {OpenImage} image */
async function prepareNext(image) {
  under = "";
  emit("look");
  const rows = visibleRows();
  const next = rows[rows.findIndex((row) => row.id === image.row.id) + 1];
  if (next) await postNothing(`/api/images/${next.id}/prepare`).catch(() => {}); // its own turn will tell
}
