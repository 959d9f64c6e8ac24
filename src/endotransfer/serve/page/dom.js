// Elements of the page by their ids.  Each is asked for as what it must be: a slip is found when the page begins.
/**
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @param {new () => T} [kind]
 * @returns {T}
 */
export function element(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof (kind ?? HTMLElement))) throw new Error(`The page has no ${kind?.name ?? "element"} called ${id}.`);
  return /** @type {T} */ (found);
}

/** @param {string} id */
export const input = (id) => element(id, HTMLInputElement);
/** @param {string} id */
export const select = (id) => element(id, HTMLSelectElement);
/** @param {string} id */
export const button = (id) => element(id, HTMLButtonElement);
/** @param {string} id */
export const details = (id) => element(id, HTMLDetailsElement);
/** @param {string} id */
export const dialog = (id) => element(id, HTMLDialogElement);

/**
 * A new element with its properties and what it holds.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Partial<Omit<HTMLElementTagNameMap[K], "style">>} [properties]
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

/**
 * A text whose commands, as `--images DIR`, are not broken over lines.
 * @param {string} text @returns {(Node | string)[]}
 */
export const unbroken = (text) => text.split(/(--[a-z-]+(?: [A-Z]+)?)/)
  .map((part, place) => (place % 2 ? make("span", { className: "command", textContent: part }) : part));

/** @param {string} id @param {(event: MouseEvent) => unknown} listener */
export function onClick(id, listener) {
  element(id).addEventListener("click", listener);
}

/**
 * Calls `listener` with the field itself, so that its value has a type.
 * @template {HTMLElement} T
 * @param {T} field
 * @param {"input" | "change"} event
 * @param {(field: T) => unknown} listener
 */
export function onValue(field, event, listener) {
  field.addEventListener(event, () => listener(field));
}

/**
 * Ticks the radio button of a group.
 * @param {string} name @param {string} value
 */
export function tick(name, value) {
  const radio = document.querySelector(`input[name=${name}][value=${value}]`);
  if (radio instanceof HTMLInputElement) radio.checked = true;
}

/** @param {HTMLCanvasElement} canvas @param {CanvasRenderingContext2DSettings} [settings] */
export function context2d(canvas, settings) {
  const context = canvas.getContext("2d", settings);
  if (!context) throw new Error("The browser has no memory left for a picture.");
  return context;
}
