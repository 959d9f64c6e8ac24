// What the page knows, and who wants to hear when it changes.
const stored = (name, fallback) => {
  try { return localStorage.getItem(`endotransfer.${name}`) ?? fallback; } catch { return fallback; }
};

export const remember = (name, value) => {
  try { localStorage.setItem(`endotransfer.${name}`, value); } catch { /* a private window keeps nothing */ }
};

export const recall = stored;

export const state = {
  about: null,      // classes, colours, models, limits
  rows: [],         // images in the order shown
  picked: [],       // rows of uploads, in front of the folder's
  order: "name",
  filter: "all",    // which decisions
  only: {},         // tag, split, reviewer, patient: the one value that is shown
  search: "",
  image: null,      // the open one: pixels, maps, masks
  threshold: 0.5,
  opacity: 0.45,
  style: "outline",
  brightness: 1,
  contrast: 1,
  hidden: new Set(),
  masksOff: false,
  left: "model0",
  right: "",
  swipe: 0.5,
  truthOutline: false,
  tool: "move",
  paint: 1,
  brush: 20,
  path: [],         // corners of the lasso or polygon in hand, in image pixels
  regionSize: "medium",
  plan: null,       // ids of the drawn sample
  blind: true,      // whether drawn images are judged without sight of a model's mask
  reading: "first", // of the drawn sample: first, second, adjudicate
};

const listeners = new Map();

export function on(event, listener) {
  for (const name of event.split(" ")) listeners.set(name, [...(listeners.get(name) ?? []), listener]);
}

export function emit(event) {
  for (const listener of listeners.get(event) ?? []) listener();
}

export const element = (id) => document.getElementById(id);

export function say(text) {
  element("live").textContent = text;
}

// A message that stays until read or eight seconds have gone.
export function tell(text) {
  const note = document.createElement("p");
  note.textContent = text;
  element("messages").append(note);
  setTimeout(() => note.remove(), 8000);
}

// Runs work started by a person; what goes wrong is told, not thrown away.
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    tell(error.message);
    return undefined;
  }
}

export const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`);
