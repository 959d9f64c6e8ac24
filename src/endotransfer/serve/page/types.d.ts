// What the service sends and what the page keeps, as types.  Nothing of this reaches the browser: `make check-page`
// reads it, and a test compares the answers of the service with it (tests/serve/test_page_types.py).

// ---- answers of the service ----

export interface About {
  version: string;
  models: ModelAbout[];
  classes: string[];
  colours: number[][];
  folder: string | null;
  truths: boolean;
  prompt_model: string | null; // what answers clicks; null: super-pixels
  limits: { bytes: number; pixels: number; formats: string[] };
}

export interface ModelAbout {
  name: string;
  method: string;
  preset: string;
  size: number[];
}

export type Decision = "accepted" | "corrected" | "rejected";
export type Reading = "first" | "second" | "adjudicate";

export interface Review {
  decision: Decision;
  who: string;
  when: string;
  model: string | null;
  version: string;
  threshold: number | null;
  blind: boolean;
  reading: "first" | "second";
  adjudicated: boolean;
  carried_from: number | null; // the frame that the mask was drawn on
  source: string | null; // digest of the video
  number: number;
}

export interface SecondReading {
  who: string;
  when: string;
  number: number;
}

export interface ReviewState {
  revision: number;
  review: Review | null;
  second: SecondReading[];
  carried: Carried | null;
}

// A mask from another frame that waits.
export interface Carried {
  who: string;
  number: number;
  from: number;
}

export interface ReviewVersion extends Omit<Review, "decision"> {
  decision: Decision | "taken back" | "carried";
  mask: string | null;
  restores: number | null;
}

export interface ReviewHistory extends ReviewState {
  versions: ReviewVersion[];
}

export interface Row extends ReviewState {
  id: string;
  name: string;
  tag: string | null;
  finding: string | null;
  split: string | null;
  patient: string | null;
  truth: boolean;
  unreadable: boolean;
  area: number | null;
  doubt: number | null;
  disagreement: number | null;
  iou: number | null;
  unfamiliar: string | null; // why it is unlike the images that a model was trained for
  uploaded?: boolean; // the page's own: nothing can be decided about it
}

export interface Survey {
  done: number;
  total: number;
}

export interface ModelFigures {
  area: number;
  shares: number[];
  doubt: number;
  lesion_probability: number | null;
  unfamiliarity: number | null; // above 1: unlike the training images
  unfamiliar: string | null;
  iou?: (number | null)[];
  iou_lesion?: number | null;
}

export interface Details extends Row {
  size: number[]; // [height, width] of the file
  shown: number[]; // [height, width] of the copy on the page
  models: ModelFigures[];
  differing: number | null;
}

export interface Plan {
  images: string[];
  drawn_from: string;
  seed: number;
  when: string;
  ids: string[];
}

export interface Estimate {
  planned: number;
  reviewed: number;
  blind: number;
  rejected: number;
  accepted_unchanged: number;
  corrected_seen: number;
  figures: Record<string, number | null> | null;
  intervals: Record<string, [number, number] | null> | null;
  level: number;
  readers: Readers;
}

export interface Readers {
  images: number;
  adjudicated: number;
  iou: number | null;
  interval: [number, number] | null;
}

export interface ExportJob {
  form: "native" | "coco" | "dicom-seg";
  id: string;
  done: number;
  total: number;
  state: "running" | "ready" | "failed";
  fault: string;
  images: number;
  left_out: string[]; // the first names
  left_out_count: number;
  notes: string[];
}

export interface Curve {
  steps: number[];
  epochs: number[];
  values: number[];
}

export interface Run {
  name: string;
  results: RunResults;
  curves: Record<string, Curve>;
  propagation: { name: string; epochs: number[]; picture: string | null }[];
}

export interface RunResults {
  name?: string;
  method?: string;
  preset?: string | null;
  seed?: number;
  date?: string;
  images?: number;
  figures?: { name: string; title: string; value: number; unit: string }[];
}

export interface Learning {
  possible: boolean;
  reason: string; // why it is not possible
  reviewed: number; // masks that a training would use
  job: RetrainingJob | null;
}

export interface Batch {
  asked: number;
  ids: string[];
  names: string[];
}

export interface RetrainingJob {
  name: string; // of the new run
  before: string; // the run whose experiment it is
  state: "running" | "stopped" | "failed" | "done";
  reviewed: number;
  step: number;
  steps: number; // 0: not known yet
  seconds: number;
  left: number | null;
  message: string; // why it failed
  curves: Record<string, Curve>;
}

export interface Compared {
  basis: string;
  images: number;
  rows: FigureChange[];
  conclusion: string;
  notes: string[];
  changed: ChangedImage[];
}

export interface FigureChange {
  name: string;
  title: string;
  before: number | null; // in per cent, as all of it
  after: number | null;
  difference: number | null;
  interval: [number, number] | null;
}

export interface ChangedImage {
  id: string;
  name: string;
  before: number | null; // IoU of lesions, 0 to 1
  after: number | null;
  truth: boolean;
}

export interface VideoRow {
  id: string;
  name: string;
  uploaded: boolean;
  fault: string; // why it cannot be shown
  seconds: number | null;
  frames: number;
  rate: number | null;
  size: number[];
}

export interface Walk {
  state: "none" | "running" | "stopped" | "done" | "failed";
  rate: number;
  done: number;
  total: number;
  left: number | null; // seconds
  fault: string;
  lost: number[];
}

export interface VideoDetails extends VideoRow {
  times: number[];
  walk: Walk;
  curve: [frame: number, area: number, doubt: number][];
  known: number;
  decisions: Record<string, ReviewState>;
  carrying: Carrying | null;
}

export interface Carrying {
  video: string;
  frame: number;
  who: string;
  state: "running" | "stopped" | "done" | "failed";
  looked: number;
  frames: number[];
  after: string | null;
  before: string | null;
  fault: string;
}

// ---- what the page keeps ----

export interface Point {
  x: number;
  y: number;
}

export type Mask = Uint8Array<ArrayBuffer>; // one class a pixel, row by row; 255: nobody decided

export interface ProbabilityMap {
  best: Mask; // the best class but 0
  code: Mask; // its probability in 256 steps
}

export interface Drawing {
  draft: Mask | null; // the correction in hand
  start: Mask | null; // what it began with
  draftFrom: number | null; // the model that it began from
  before: string | null; // the side that was shown before
  past: Mask[];
  future: Mask[];
}

export interface OpenImage extends Drawing, ReviewState {
  row: Row;
  path: string;
  width: number;
  height: number;
  size: number[];
  picture: ImageBitmap;
  maps: ProbabilityMap[];
  truth: Mask | null;
  reviewed: Mask | null;
  seconds: { who: string; mask: Mask | null }[];
  carriedMask: Mask | null;
  models: ModelFigures[];
  uploaded: boolean;
  version: number; // goes up with every change of a mask
  regions: Record<string, Uint32Array>;
  cache: Map<string, { threshold: number; labels: Mask }>;
}

// What goes through images in the place of the list: the frames of a video.
export interface Desk {
  readonly name: string;
  rowOf(id: string): Row | undefined;
  show(row: Row): Promise<void>;
  step(by: number): unknown;
  goOn(): unknown; // to what is to be judged next
  forget(id: string): void;
  acceptCarried?(): unknown;
}

export type Side = [name: string, title: string];

export interface View {
  scale: number; // CSS pixels for one pixel of the image
  x: number; // where the image's pixel (0, 0) is, in CSS pixels
  y: number;
}

// A tool of the page: one module, named in tools.js.  Only what it needs: `move` has none of the hooks.
export interface Tool {
  name: string;
  label: string;
  title: string; // what it does, in a few words
  key: string; // one letter, free in keys.js
  stays?: boolean; // in hand when another image comes
  taps?: boolean; // by keys, a press is lifted at once; else, or with Shift, it is dragged on until it is ended
  controls?: HTMLElement; // shown while it is in hand
  take?(): void; // it was taken in hand, or another image has come
  press?(at: Point, how: Press): void; // in pixels of the image
  drag?(at: Point): void;
  lift?(): void;
  cancel?(): void; // a second finger came: it was no press.  What it drew is taken back for it
  finish?(): void; // Enter, and a double click
  forget?(): void; // Escape
  busy?(): boolean; // whether Enter and Escape are its own just now
  paint?(context: CanvasRenderingContext2D, view: View, pointer: Pointer): void; // over the image, in CSS pixels
}

export interface Press {
  erase: boolean; // by the right button, or with Alt
  reach: number; // how near counts as touching, in pixels of the image
}

export interface Click extends Point {
  positive: boolean; // it is on the lesion
}

export type Box = [left: number, top: number, right: number, bottom: number];

// What a person has pointed out, click by click, and the drawing that it is added to.
export interface ClickedObject {
  base: Mask;
  value: number; // its class
  points: Click[];
  box: Box | null;
  waiting: boolean; // for the answer
}

export interface Pointer extends Point {
  inside: boolean;
}
