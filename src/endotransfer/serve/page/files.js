// Images and short videos that a person drops or chooses.  Frames of a video are taken here, in the browser.
import { sendForm } from "./api.js";
import { show } from "./list.js";
import { attempt, element, emit, state, tell } from "./state.js";

const FRAMES = 24; // of one video, spread over its length
const LONGEST = 600; // seconds

async function add(files) {
  let first = null;
  for (const file of files) {
    const row = await attempt(() => (file.type.startsWith("video/") ? addVideo(file) : addImage(file, file.name)));
    first ??= row;
  }
  if (first) await attempt(() => show(first));
}

async function addImage(blob, name) {
  if (blob.size > state.about.limits.bytes) throw new Error(`${name} is larger than ${state.about.limits.bytes / 1e6} MB.`);
  element("busy").hidden = false;
  try {
    const { id } = await sendForm("POST", "/api/uploads", { image: blob });
    const row = { id, name: name.replace(/\.[^.]+$/, ""), uploaded: true, area: null };
    state.picked.push(row);
    emit("rows");
    return row;
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  } finally {
    element("busy").hidden = true;
  }
}

async function addVideo(file) {
  const video = Object.assign(document.createElement("video"), { muted: true, preload: "auto", src: URL.createObjectURL(file) });
  try {
    await once(video, "loadeddata", `${file.name} cannot be played by this browser.`);
    if (video.duration === Infinity) { // a recording that never wrote its length: going beyond its end tells it
      video.currentTime = 1e7;
      await once(video, "seeked", `${file.name} cannot be read to its end.`);
    }
    if (!(video.duration <= LONGEST)) throw new Error(`${file.name} is longer than ${LONGEST / 60} minutes; cut it, or use endotransfer predict.`);
    const count = Math.min(FRAMES, Math.max(1, Math.ceil(video.duration * 4)));
    let first = null;
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

function frame(video) {
  const canvas = Object.assign(document.createElement("canvas"), { width: video.videoWidth, height: video.videoHeight });
  canvas.getContext("2d").drawImage(video, 0, 0);
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}

const once = (target, name, fault) => new Promise((resolve, reject) => {
  const late = setTimeout(() => reject(new Error(fault)), 15_000);
  target.addEventListener(name, () => { clearTimeout(late); resolve(); }, { once: true });
  target.addEventListener("error", () => { clearTimeout(late); reject(new Error(fault)); }, { once: true });
});

for (const id of ["choose", "choose-too"]) element(id).addEventListener("click", () => element("files").click());
element("files").addEventListener("change", async (event) => {
  await add([...event.target.files]);
  event.target.value = "";
});

addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const files = [...event.dataTransfer.files];
  if (files.length) add(files);
  else tell("Drop image files, or a video file.");
});
