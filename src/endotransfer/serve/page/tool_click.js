// Click: points on the lesion and beside it, or a box around it; the service answers with a mask.
// What has been clicked belongs to a step of the drawing, so that undo and redo bring it back with that step.
/** @import { Box, Click, ClickedObject, Mask, OpenImage, Point, Tool, View } from "./types.d.ts" */
import { getNumbers, posting } from "./api.js";
import { controls, finishButton, forgetButton, inWords, nextIsPositive, showClicking } from "./click_controls.js";
import { paintBox, paintObject } from "./click_paint.js";
import { prepareSoon } from "./click_ready.js";
import { boxBetween, fillIn, sameClick, withObject } from "./clicked.js";
import { beginChange, changed, endChange, replaceDraft, waitFor } from "./drafts.js";
import { area, readMask } from "./masks.js";
import { percent, say, tell } from "./messages.js";
import { emit, on, state } from "./state.js";

const MOST = 30; // points the service takes
const FIRST = "Begin with a point on the lesion, or a box around it; points beside it come then.";
/** @type {WeakMap<Mask, ClickedObject>} */
const objects = new WeakMap();
/** @typedef {{ from: Point, to: Point, positive: boolean, reach: number }} Pressed until it is lifted: a point, or a box's corner */
/** @type {Pressed | null} */
let pressed = null;

const inHand = () => (state.image?.draft ? objects.get(state.image.draft) ?? null : null);

/** One point or box more. @param {Click | null} point @param {Box | null} box */
function add(point, box) {
  const before = inHand();
  const points = [...(before?.points ?? []), ...(point ? [point] : [])];
  if (!box && !before?.box && !points.some(({ positive }) => positive)) { tell(FIRST); return; }
  if (points.length > MOST) { tell(`At most ${MOST} points a lesion: finish it (Enter), and use the brush.`); return; }
  const image = state.image;
  const step = beginChange();
  if (!image || !step) return;
  const base = before?.base ?? image.past[image.past.length - 1];
  const object = { base, value: before?.value ?? state.paint, points, box: box ?? before?.box ?? null, waiting: true };
  objects.set(step, object);
  endChange();
  waitFor(answer(image, step, object));
}

/** @param {OpenImage} image @param {Mask} step @param {ClickedObject} object */
async function answer(image, step, object) {
  const { base, box, points, value } = object;
  const { start, width } = image;
  try {
    const found = readMask(await getNumbers(`${image.path}/segment`, posting({ points, box })));
    const now = state.image?.row.id === image.row.id ? state.image : image; // it may have been opened anew
    const steps = now.draft ? [...now.past, now.draft] : [];
    const place = steps.indexOf(step);
    fillIn(step, withObject({ base, start, width }, found, points, value), place < 0 ? [] : steps.slice(place + 1));
    object.waiting = false;
    now.version += 1;
    if (now.draft === step) say(`${inWords(object)}, area ${percent(area(found))}`);
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error));
    takeAway(image, step, object);
  }
  emit("look");
  emit("drawing");
}

/** A click without an answer was none. @param {OpenImage} image @param {Mask} step @param {ClickedObject} object */
function takeAway(image, step, object) {
  object.waiting = false;
  if (image.draft !== step) return;
  image.draft = image.past.pop() ?? step;
  image.version += 1;
}

// The next click begins another lesion.
function finish() {
  const draft = state.image?.draft;
  if (!draft || !objects.delete(draft)) return;
  say("Lesion finished");
  changed();
}

function forget() {
  const object = inHand();
  if (!object) return;
  replaceDraft(() => Uint8Array.from(object.base));
  say("Lesion forgotten");
}

/** @param {Point} at @param {boolean} positive @param {number} reach */
function clickAt(at, positive, reach) {
  const image = state.image;
  if (!image || at.x < -0.5 || at.y < -0.5 || at.x > image.width - 0.5 || at.y > image.height - 0.5) return;
  const click = { x: at.x, y: at.y, positive };
  if (!inHand()?.points.some((other) => sameClick(click, other, reach))) add(click, null); // of a double click, one
}

/** @param {Pressed} press */
const isDragged = ({ from, to, reach }) => Math.hypot(to.x - from.x, to.y - from.y) > reach;

function lift() {
  const image = state.image;
  if (!pressed || !image) return;
  const { from, to, positive, reach } = pressed;
  const box = boxBetween(from, to, image.width, image.height);
  const drawn = positive && isDragged(pressed) && box[0] < box[2] && box[1] < box[3];
  if (drawn) add(null, box);
  else clickAt(from, positive, reach / 2);
  pressed = null;
  emit("look");
}

/** @param {CanvasRenderingContext2D} context @param {View} view */
function paint(context, view) {
  const [image, object] = [state.image, inHand()];
  if (object) paintObject(context, view, object);
  if (image && pressed?.positive && isDragged(pressed)) paintBox(context, view, boxBetween(pressed.from, pressed.to, image.width, image.height));
}

/** @type {Tool} */
export const click = {
  name: "click", label: "Click", key: "k", title: "Click on the lesion; right button or Alt: beside it; drag a box",
  controls, finish, forget, lift, paint, stays: true, taps: true,
  take: prepareSoon,
  press(at, { erase, reach }) {
    pressed = { from: at, to: at, positive: nextIsPositive() && !erase, reach };
  },
  drag(at) {
    if (pressed) pressed.to = at;
    emit("look");
  },
  cancel: () => { pressed = null; },
  busy: () => Boolean(inHand()),
};

finishButton.addEventListener("click", finish);
forgetButton.addEventListener("click", forget);
on(["look", "drawing", "image"], () => { if (state.tool === "click") showClicking(inHand()); });
on("image", () => { pressed = null; });
