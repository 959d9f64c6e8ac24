// The few requests the page makes.  An answer that is no success becomes a Refusal with the service's own sentence.
import { context2d } from "./dom.js";

const OWN = { "X-Endotransfer": "page" };

/** What the service answered instead: `said` is its whole answer. */
export class Refusal extends Error {
  /** @param {number} status @param {Record<string, any>} said */
  constructor(status, said) {
    super(sentence(said.message ?? `the service answered ${status}.`));
    this.status = status;
    this.said = said;
    this.code = /** @type {string | undefined} */ (said.code);
  }
}

/** @param {string} text */
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** @param {unknown} error @param {string} code @returns {error is Refusal} */
export const refusedAs = (error, code) => error instanceof Refusal && error.code === code;

/** @param {string} path @param {RequestInit} [options] */
async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The viewer does not answer; is it still running in its terminal?");
  }
  if (response.ok) return response;
  throw new Refusal(response.status, await response.json().catch(() => ({})));
}

/** Asked for before it is wanted, once. @type {Map<string, Promise<Response>>} */
const early = new Map();

/** What the page will certainly want: asked for at once, while it still waits for something else. @param {string} path */
export function askEarly(path) {
  const answer = ask(path);
  answer.catch(() => {}); // whoever wants it is told
  early.set(path, answer);
}

/** @param {string} path @returns {Promise<any>} */
export async function getJson(path) {
  const answer = early.get(path) ?? ask(path);
  early.delete(path);
  return (await answer).json();
}

/** @param {string} method @param {string} path @param {unknown} content @param {Record<string, string>} headers */
const sendJson = async (method, path, content, headers) =>
  (await ask(path, { method, headers: { ...OWN, ...headers, "Content-Type": "application/json" }, body: JSON.stringify(content) })).json();

/** @param {string} path @param {unknown} content @returns {Promise<any>} */
export const postJson = (path, content) => sendJson("POST", path, content, {});

/**
 * A change of a review names the revision it knows, so that nobody's newer decision is passed over.
 * @param {number} revision
 */
const knowing = (revision) => ({ "If-Match": `"${revision}"` });

/** @param {number | null} revision */
const headersFor = (revision) => (revision === null ? OWN : { ...OWN, ...knowing(revision) });

/** @param {string} path @param {unknown} content @param {number} revision @returns {Promise<any>} */
export const putJson = (path, content, revision) => sendJson("PUT", path, content, knowing(revision));

/**
 * @param {string} method @param {string} path @param {Record<string, string | Blob>} fields
 * @param {number | null} [revision] @returns {Promise<any>}
 */
export async function sendForm(method, path, fields, revision = null) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return (await ask(path, { method, headers: headersFor(revision), body: form })).json();
}

/** @param {string} path @param {number | null} [revision] @returns {Promise<any>} */
export const remove = async (path, revision = null) => (await ask(path, { method: "DELETE", headers: headersFor(revision) })).json();

/** @param {string} path @param {RequestInit} [options] */
export async function getBitmap(path, options) {
  // The busy service asks for patience, not for an error message.
  for (let attempt = 0; ; attempt += 1) {
    try {
      const blob = await (await ask(path, options)).blob();
      return await createImageBitmap(blob, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 429 || attempt >= 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
  }
}

/** The answer to a question, an image. @param {unknown} content @returns {RequestInit} */
export const posting = (content) => ({ method: "POST", headers: { ...OWN, "Content-Type": "application/json" }, body: JSON.stringify(content) });

/** Nothing comes back. @param {string} path */
export const postNothing = async (path) => { await ask(path, { method: "POST", headers: OWN }); };

/** The exact numbers in an image file: RGBA, row by row. @param {string} path @param {RequestInit} [options] */
export async function getNumbers(path, options) {
  const bitmap = await getBitmap(path, options);
  const canvas = document.createElement("canvas");
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  const context = context2d(canvas, { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, bitmap.width, bitmap.height).data;
}
