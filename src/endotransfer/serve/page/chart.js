// A small line chart: one line a run, a scale of its own, the value under the pointer.
import { make } from "./dom.js";

/** @typedef {{ label: string, place: number, x: number[], y: number[] }} Line `place` chooses the colour */
/** @typedef {(value: number, digits?: number) => string} Spell */
/** @typedef {{ axis?: string, unit?: "share" | null }} Kind */

const SPACE = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [320, 170];
const EDGE = { left: 54, right: 10, top: 10, bottom: 24 };

/** @param {string} name @param {Record<string, string | number>} [attributes] @param {string} [text] */
function draw(name, attributes = {}, text = "") {
  const node = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  node.textContent = text;
  return node;
}

/** @param {number} low @param {number} high @param {number} wanted */
export function ticks(low, high, wanted) {
  const rough = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const size = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? 10 * power;
  const found = [];
  for (let value = Math.ceil(low / size) * size; value <= high + size * 1e-6; value += size) found.push(Number(value.toPrecision(12)));
  return found;
}

/** @param {number} value @param {number} [digits] */
export function short(value, digits = 3) {
  if (value === 0) return "0";
  const magnitude = Math.abs(value);
  return magnitude >= 1e4 || magnitude < 1e-3 ? value.toExponential(digits - 2) : String(Number(value.toPrecision(digits)));
}

/** A share in percent; of more than tenfold, how often. @param {number} value @param {number} [digits] */
export function spellShare(value, digits = 3) {
  if (Math.abs(value) >= 10) return `${short(value, digits)} ×`;
  return `${(100 * value).toFixed((value && value < 0.1 ? 1 : 0) + digits - 3)} %`;
}

/** The labels of an axis of shares, in one unit. @param {number[]} values */
export function shares(values) {
  const often = values.some((value) => Math.abs(value) >= 10);
  return apart(values, often ? (value, digits) => `${short(value, digits)} ×` : spellShare);
}

/** The labels of an axis, with as many digits as it takes to tell them apart. @param {number[]} values @param {Spell} spell */
export function apart(values, spell) {
  const tries = [3, 4, 5].map((digits) => values.map((value) => spell(value, digits)));
  return tries.find((words) => new Set(words).size === words.length) ?? tries[2];
}

/** @param {string} title @param {Line[]} lines @param {Kind} [kind] */
export function chart(title, lines, { axis = "step", unit = null } = {}) {
  const xs = lines.flatMap((line) => line.x);
  const ys = lines.flatMap((line) => line.y);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  let [y0, y1] = unit === "share" ? [0, Math.max(...ys, 0.05)] : [Math.min(...ys), Math.max(...ys)];
  if (y1 - y0 < 1e-12) [y0, y1] = [y0 - Math.abs(y0 || 1) * 0.1, y1 + Math.abs(y1 || 1) * 0.1];
  /** @param {number} x */
  const toX = (x) => EDGE.left + ((x - x0) / (x1 - x0 || 1)) * (WIDTH - EDGE.left - EDGE.right);
  /** @param {number} y */
  const toY = (y) => HEIGHT - EDGE.bottom - ((y - y0) / (y1 - y0)) * (HEIGHT - EDGE.top - EDGE.bottom);
  const spell = unit === "share" ? spellShare : short;

  const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": spoken(title, lines, spell) });
  const heights = ticks(y0, y1, 5);
  const labels = unit === "share" ? shares(heights) : apart(heights, spell);
  for (const [place, value] of heights.entries()) {
    svg.append(draw("line", { class: "grid", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: toY(value), y2: toY(value) }));
    svg.append(draw("text", { class: "tick", x: EDGE.left - 6, y: toY(value) + 3.5, "text-anchor": "end" }, labels[place]));
  }
  for (const value of ticks(x0, x1, 4)) {
    if (Number.isInteger(value)) svg.append(draw("text", { class: "tick", x: toX(value), y: HEIGHT - 8, "text-anchor": "middle" }, String(value)));
  }
  for (const line of lines) {
    const points = line.x.map((x, i) => [toX(x).toFixed(1), toY(line.y[i]).toFixed(1)]);
    svg.append(draw("polyline", { class: `line run${line.place}`, points: points.join(" ") }));
    if (points.length < 25) svg.append(...points.map(([cx, cy]) => draw("circle", { class: `dot run${line.place}`, cx, cy, r: 2.2 })));
  }
  return figure(title, svg, lines, { toX, spell, axis });
}

/** @param {number | undefined} value @param {(value: number) => string} spell */
const spelt = (value, spell) => (value === undefined ? "nothing" : spell(value));

/** @param {string} title @param {Line[]} lines @param {(value: number) => string} spell */
const spoken = (title, lines, spell) =>
  `${title}: ${lines.map((line) => `${line.label} from ${spelt(line.y[0], spell)} to ${spelt(line.y.at(-1), spell)}`).join("; ")}`;

/**
 * @param {string} title @param {Element} svg @param {Line[]} lines
 * @param {{ toX: (x: number) => number, spell: (value: number) => string, axis: string }} how
 */
function figure(title, svg, lines, { toX, spell, axis }) {
  const value = make("span");
  const caption = make("figcaption", {}, make("b", { textContent: title }), value);
  const rest = () => { value.textContent = lines.map((line) => spelt(line.y.at(-1), spell)).join(" / "); };
  const cursor = draw("line", { class: "cursor", y1: EDGE.top, y2: HEIGHT - EDGE.bottom, visibility: "hidden" });
  svg.append(cursor);
  svg.addEventListener("pointermove", (moved) => {
    const event = /** @type {PointerEvent} */ (moved);
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * WIDTH;
    const near = lines.map((line) => line.x.reduce((best, x, i) => (Math.abs(toX(x) - at) < Math.abs(toX(line.x[best]) - at) ? i : best), 0));
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, String(toX(lines[0].x[near[0]])));
    cursor.setAttribute("visibility", "visible");
    value.textContent = `${axis} ${lines[0].x[near[0]]}: ${lines.map((line, i) => spell(line.y[near[i]])).join(" / ")}`;
  });
  svg.addEventListener("pointerleave", () => { cursor.setAttribute("visibility", "hidden"); rest(); });
  rest();
  return make("figure", {}, caption, svg);
}
