// The few requests the page makes.  An answer that is no success becomes an Error with the service's own sentence.
const OWN = { "X-Endotransfer": "page" };

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The viewer does not answer; is it still running in its terminal?");
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  const error = new Error(sentence(said.message ?? `the service answered ${response.status}.`));
  error.code = said.code;
  error.said = said;
  error.status = response.status;
  throw error;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const getJson = async (path) => (await ask(path)).json();

const sendJson = async (method, path, content, headers) =>
  (await ask(path, { method, headers: { ...OWN, ...headers, "Content-Type": "application/json" }, body: JSON.stringify(content) })).json();

export const postJson = (path, content) => sendJson("POST", path, content, {});

// A change of a review names the revision it knows, so that nobody's newer decision is passed over.
const knowing = (revision) => ({ "If-Match": `"${revision}"` });

export const putJson = (path, content, revision) => sendJson("PUT", path, content, knowing(revision));

export async function sendForm(method, path, fields, revision = null) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  const headers = revision === null ? OWN : { ...OWN, ...knowing(revision) };
  return (await ask(path, { method, headers, body: form })).json();
}

export const remove = async (path, revision) => (await ask(path, { method: "DELETE", headers: { ...OWN, ...knowing(revision) } })).json();

export async function getBitmap(path) {
  // The busy service asks for patience, not for an error message.
  for (let attempt = 0; ; attempt += 1) {
    try {
      const blob = await (await ask(path)).blob();
      return await createImageBitmap(blob, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
    } catch (error) {
      if (error.status !== 429 || attempt >= 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
  }
}

// The exact numbers in an image file: RGBA, row by row.
export async function getNumbers(path) {
  const bitmap = await getBitmap(path);
  const canvas = document.createElement("canvas");
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, bitmap.width, bitmap.height).data;
}
