// A mask as a PNG file: one grey value a pixel.
/** @import { Mask } from "./types.d.ts" */
import { context2d, make } from "./dom.js";

/**
 * At the size of the file where that is another than the page's own copy.
 * @param {Mask} values @param {number} width @param {number} height @param {number} [targetWidth] @param {number} [targetHeight]
 * @returns {Promise<Blob>}
 */
export function toPng(values, width, height, targetWidth = width, targetHeight = height) {
  const image = new ImageData(width, height);
  const words = new Uint32Array(image.data.buffer);
  for (let i = 0; i < words.length; i += 1) words[i] = (0xff000000 | (values[i] * 0x010101)) >>> 0;
  const canvas = make("canvas", { width, height });
  context2d(canvas).putImageData(image, 0, 0);
  const final = targetWidth === width && targetHeight === height ? canvas : resized(canvas, targetWidth, targetHeight);
  return new Promise((resolve, reject) => {
    final.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser could not make a PNG file."))), "image/png");
  });
}

/** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
function resized(canvas, width, height) {
  const other = make("canvas", { width, height });
  const context = context2d(other);
  context.imageSmoothingEnabled = false;
  context.drawImage(canvas, 0, 0, width, height);
  return other;
}
