// A mask as a PNG file: one grey value a pixel.
// Written here, not by a canvas: `toBlob` waits until the browser is idle, which may take it ten seconds.
/** @import { Mask } from "./types.d.ts" */

const SIGNATURE = [137, 80, 78, 71, 13, 10, 26, 10];
const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? 0xedb88320 ^ (rest >>> 1) : rest >>> 1;
  return rest;
});

/**
 * At the size of the file where that is another than the page's own copy.
 * @param {Mask} values @param {number} width @param {number} height @param {number} [targetWidth] @param {number} [targetHeight]
 * @returns {Promise<Blob>}
 */
export async function toPng(values, width, height, targetWidth = width, targetHeight = height) {
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, targetWidth);
  header.setUint32(4, targetHeight);
  header.setUint8(8, 8); // bits; what follows is 0: grey, deflate, plain filters, not interlaced
  const pixels = await deflated(rows(values, width, height, targetWidth, targetHeight));
  const parts = [chunk("IHDR", new Uint8Array(header.buffer)), chunk("IDAT", pixels), chunk("IEND", new Uint8Array(0))];
  return new Blob([Uint8Array.from(SIGNATURE), ...parts], { type: "image/png" });
}

/**
 * Every row behind a zero, its filter; each pixel is that of the mask at its centre.
 * @param {Mask} values @param {number} width @param {number} height @param {number} targetWidth @param {number} targetHeight
 */
export function rows(values, width, height, targetWidth, targetHeight) {
  const bytes = new Uint8Array(targetHeight * (targetWidth + 1));
  for (let y = 0; y < targetHeight; y += 1) {
    const from = Math.floor(((y + 0.5) * height) / targetHeight) * width;
    const to = y * (targetWidth + 1) + 1;
    for (let x = 0; x < targetWidth; x += 1) bytes[to + x] = values[from + Math.floor(((x + 0.5) * width) / targetWidth)];
  }
  return bytes;
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
async function deflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Length, name, content, checksum. @param {string} name @param {Uint8Array} content */
function chunk(name, content) {
  const bytes = new Uint8Array(content.length + 12);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, content.length);
  bytes.set([...name].map((letter) => letter.charCodeAt(0)), 4);
  bytes.set(content, 8);
  let rest = 0xffffffff;
  for (const byte of bytes.subarray(4, -4)) rest = CRC[(rest ^ byte) & 0xff] ^ (rest >>> 8);
  view.setUint32(content.length + 8, (rest ^ 0xffffffff) >>> 0);
  return bytes;
}
