import assert from "node:assert/strict";
import { test } from "node:test";
import { inflateSync } from "node:zlib";
import { toPng } from "../../src/endotransfer/serve/page/png.js";

/** @param {Blob} blob */
const read = async (blob) => Buffer.from(await blob.arrayBuffer());

test("a mask is a grey PNG of its size", async () => {
  const file = await read(await toPng(Uint8Array.from([0, 1, 2, 3, 4, 5]), 3, 2));
  assert.deepEqual([...file.subarray(0, 8)], [137, 80, 78, 71, 13, 10, 26, 10]);
  assert.deepEqual([file.readUInt32BE(16), file.readUInt32BE(20), file[24], file[25]], [3, 2, 8, 0]);
  const length = file.readUInt32BE(33);
  assert.deepEqual([...inflateSync(file.subarray(41, 41 + length))], [0, 0, 1, 2, 0, 3, 4, 5]);
  assert.equal(file.subarray(-12).toString("hex"), "0000000049454e44ae426082"); // as every PNG file ends
});

test("at another size each pixel is the nearest one", async () => {
  const file = await read(await toPng(Uint8Array.from([1, 2, 3, 4]), 2, 2, 4, 2));
  assert.deepEqual([...inflateSync(file.subarray(41, 41 + file.readUInt32BE(33)))], [0, 1, 1, 2, 2, 0, 3, 3, 4, 4]);
});
