// The view Video: the videos of the folder, and the editor of the first view beside them.
/** @import { OpenImage, VideoDetails, VideoRow } from "./types.d.ts" */
import { getJson, sendForm } from "./api.js";
import { element, input, make, onClick, onValue } from "./dom.js";
import { keepDraft } from "./kept_drafts.js";
import { recall } from "./memory.js";
import { attempt } from "./messages.js";
import { emit, state } from "./state.js";
import { acceptCarried, showCarrying, take } from "./video_carry.js";
import { clock } from "./video_curve.js";
import { forgetFrames, frames, showFrame } from "./video_frames.js";
import "./video_keys.js";
import { pause } from "./video_player.js";
import { addPoints, video } from "./video_state.js";
import "./video_timeline.js";
import { look, showWalk } from "./video_walk.js";

/** The image of the first view, meanwhile. @type {OpenImage | null} */
let before = null;

// Stage and panel exist once: they move to the view that needs them.
/** @param {string} home */
function moveEditor(home) {
  const box = element(home);
  for (const part of document.querySelectorAll("main .stage, main .panel")) box.append(part);
  const here = home === "video";
  element("viewport").after(element("timeline-box"));
  element("timeline-box").hidden = element("carry").hidden = !here || !video.open;
  element("sample").hidden = here;
}

export async function showVideo() {
  if (!state.desk) {
    keepDraft();
    before = state.image;
    state.desk = { ...frames, get name() { return frames.name; }, acceptCarried };
    state.image = null;
    moveEditor("video");
    element("title").textContent = "No video yet";
    element("empty").hidden = true;
    emit("look");
  }
  const { videos } = /** @type {{ videos: VideoRow[] }} */ (await getJson("/api/videos"));
  list(videos);
  const [id, frame] = (recall(`video.${state.about.folder}`, "") || "@0").split("@");
  const usable = videos.filter(({ fault }) => !fault);
  const first = usable.find((one) => one.id === (video.open?.id ?? id)) ?? usable[0];
  if (first) await openVideo(first, first.id === id ? Number(frame) || 0 : 0);
}

export function leaveVideo() {
  if (!state.desk) return;
  pause();
  keepDraft();
  state.desk = null;
  moveEditor("images");
  state.image = before;
  if (!before) { element("title").textContent = "No image yet"; element("empty").hidden = false; emit("look"); return; }
  element("title").replaceChildren(before.row.name);
  state.left = before.draft ? "draft" : "model0";
  emit("image");
}

/** @param {VideoRow} row @param {number} [frame] */
async function openVideo(row, frame = 0) {
  pause();
  forgetFrames();
  const details = /** @type {VideoDetails} */ (await getJson(`/api/videos/${row.id}`));
  if (!state.desk) return; // one has gone to another view meanwhile
  Object.assign(video, { open: details, points: [], known: details.known, decisions: new Map(), frame });
  take(details.decisions);
  addPoints(details.curve);
  mark();
  element("timeline-box").hidden = false;
  element("carry").hidden = false;
  Object.assign(element("curve-file", HTMLAnchorElement), { href: `/api/videos/${row.id}/curve`, download: `${row.name}.csv` });
  showWalk(details.walk);
  showCarrying(details.carrying);
  await showFrame(frame);
}

/** @param {VideoRow[]} videos */
function list(videos) {
  const usable = videos.filter(({ fault }) => !fault);
  element("videos").replaceChildren(...[...usable, ...videos.filter(({ fault }) => fault)].map(item));
  element("videos-note").textContent = videos.length ? "" : "No video yet: put MP4, MOV, AVI or WebM files into the folder, or open one.";
  mark();
}

/** @param {VideoRow} row */
function item(row) {
  const size = row.size[0] ? `${row.size[1]} × ${row.size[0]}` : "";
  const facts = row.fault || [row.seconds === null ? "" : clock(row.seconds), size, row.uploaded ? "not saved" : ""].filter(Boolean).join(" · ");
  const choice = make("button", { type: "button", disabled: Boolean(row.fault) });
  choice.append(make("b", { textContent: row.name }), make("small", { textContent: facts }));
  choice.dataset.id = row.id;
  choice.addEventListener("click", () => attempt(() => openVideo(row)));
  return make("li", {}, choice);
}

function mark() {
  for (const choice of element("videos").querySelectorAll("button")) {
    if (choice.dataset.id === video.open?.id) choice.setAttribute("aria-current", "true");
    else choice.removeAttribute("aria-current");
  }
}

/** @param {File | undefined} file */
export const addVideoFile = (file) => attempt(async () => {
  if (!file) return;
  const { limits } = state.about;
  if (file.size > limits.bytes) throw new Error(`${file.name} is larger than ${limits.bytes / 1e6} MB; put it into the folder of --images instead.`);
  const row = /** @type {VideoRow} */ (await sendForm("POST", "/api/videos", { video: file, name: file.name }));
  const { videos } = await getJson("/api/videos");
  list(videos);
  await openVideo(row);
  await look();
});

onClick("video-choose", () => input("video-file").click());
onValue(input("video-file"), "change", async (field) => { await addVideoFile(field.files?.[0]); field.value = ""; });
