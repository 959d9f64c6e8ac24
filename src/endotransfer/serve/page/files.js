// Images and short videos that a person drops or chooses.  Frames of a video are taken here, in the browser.
/** @import { Row } from "./types.d.ts" */
import { sendForm } from "./api.js";
import { context2d, element, input, make, onClick, onValue } from "./dom.js";
import { show } from "./list.js";
import { attempt, tell } from "./messages.js";
import { emit, state } from "./state.js";
import { addVideoFile } from "./video.js";

const FRAMES = 24; // of one video, spread over its length
const LONGEST = 600; // seconds
/** What the list knows of an image that it has not heard of. @type {Omit<Row, "id" | "name">} */
const UPLOADED = {
  uploaded: true, tag: null, finding: null, split: null, patient: null, truth: false, unreadable: false,
  area: null, doubt: null, disagreement: null, iou: null, unfamiliar: null, revision: 0, review: null, second: [], carried: null,
};

/** @param {File[]} files */
async function add(files) {
  /** @type {Row | undefined} */
  let first;
  for (const file of files) {
    const row = await attempt(() => (file.type.startsWith("video/") ? addVideo(file) : addImage(file, file.name)));
    first ??= row;
  }
  const shown = first;
  if (shown) await attempt(() => show(shown));
}

/** @param {Blob} blob @param {string} name @returns {Promise<Row>} */
async function addImage(blob, name) {
  if (blob.size > state.about.limits.bytes) throw new Error(`${name} is larger than ${state.about.limits.bytes / 1e6} MB.`);
  element("busy").hidden = false;
  try {
    const { id } = await sendForm("POST", "/api/uploads", { image: blob });
    const row = { ...UPLOADED, id, name: name.replace(/\.[^.]+$/, "") };
    state.picked.push(row);
    emit("rows");
    return row;
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : error}`, { cause: error });
  } finally {
    element("busy").hidden = true;
  }
}

/** @param {File} file @returns {Promise<Row | undefined>} */
async function addVideo(file) {
  const video = make("video", { muted: true, preload: "auto", src: URL.createObjectURL(file) });
  try {
    await once(video, "loadeddata", `${file.name} cannot be played by this browser.`);
    if (video.duration === Infinity) { // a recording that never wrote its length: going beyond its end tells it
      video.currentTime = 1e7;
      await once(video, "seeked", `${file.name} cannot be read to its end.`);
    }
    if (!(video.duration <= LONGEST)) throw new Error(`${file.name} is longer than ${LONGEST / 60} minutes; cut it, or use endotransfer predict.`);
    const count = Math.min(FRAMES, Math.max(1, Math.ceil(video.duration * 4)));
    let first;
    for (let index = 0; index < count; index += 1) {
      const at = (video.duration * (index + 0.5)) / count;
      video.currentTime = at;
      await once(video, "seeked", `${file.name} cannot be read to its end.`);
      const row = await addImage(await frame(video), `${file.name} ${at.toFixed(2)} s.png`);
      first ??= row;
    }
    return first;
  } finally {
    URL.revokeObjectURL(video.src);
  }
}

/** @param {HTMLVideoElement} video @returns {Promise<Blob>} */
function frame(video) {
  const canvas = make("canvas", { width: video.videoWidth, height: video.videoHeight });
  context2d(canvas).drawImage(video, 0, 0);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser could not keep a frame."))), "image/png");
  });
}

/** @param {HTMLVideoElement} target @param {string} name @param {string} fault @returns {Promise<void>} */
const once = (target, name, fault) => new Promise((resolve, reject) => {
  const late = setTimeout(() => reject(new Error(fault)), 15_000);
  target.addEventListener(name, () => { clearTimeout(late); resolve(); }, { once: true });
  target.addEventListener("error", () => { clearTimeout(late); reject(new Error(fault)); }, { once: true });
});

for (const id of ["choose", "choose-too"]) onClick(id, () => input("files").click());
onValue(input("files"), "change", async (field) => {
  await add([...(field.files ?? [])]);
  field.value = "";
});

addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const files = [...(event.dataTransfer?.files ?? [])];
  if (state.desk) addVideoFile(files.find(({ type }) => type.startsWith("video/")));
  else if (files.length) add(files);
  else tell("Drop image files, or a video file.");
});
