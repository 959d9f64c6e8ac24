// How far each pixel is from the nearest one of a set: exact, in two passes (Meijster, Roerdink and Hesselink 2000).

/**
 * Squared distances; Infinity where the set is empty.
 * @param {(place: number) => boolean} within the set @param {number} width @param {number} height
 */
export function squaredDistances(within, width, height) {
  const far = width + height; // more than any distance in the image
  const vertical = new Float64Array(width * height).fill(far);
  for (let x = 0; x < width; x += 1) alongColumn(within, vertical, x, width, height);
  const out = new Float64Array(width * height);
  for (let y = 0; y < height; y += 1) alongRow(vertical.subarray(y * width, (y + 1) * width), out.subarray(y * width, (y + 1) * width), far);
  return out;
}

/**
 * @param {(place: number) => boolean} within @param {Float64Array} vertical @param {number} x
 * @param {number} width @param {number} height
 */
function alongColumn(within, vertical, x, width, height) {
  for (let y = 0, place = x; y < height; y += 1, place += width) {
    if (within(place)) vertical[place] = 0;
    else if (y > 0) vertical[place] = Math.min(vertical[place], vertical[place - width] + 1);
  }
  for (let y = height - 2, place = y * width + x; y >= 0; y -= 1, place -= width) {
    vertical[place] = Math.min(vertical[place], vertical[place + width] + 1);
  }
}

/**
 * The least of (x - k)^2 + vertical[k]^2 over k: the lower envelope of one parabola a pixel.
 * @param {Float64Array} vertical @param {Float64Array} out @param {number} far
 */
function alongRow(vertical, out, far) {
  const lowest = new Int32Array(vertical.length); // the parabolas of the envelope
  const from = new Float64Array(vertical.length); // and where each begins to be the lowest
  let last = -1;
  for (let k = 0; k < vertical.length; k += 1) {
    if (vertical[k] >= far) continue;
    let start = -Infinity;
    while (last >= 0) {
      const other = lowest[last];
      start = (vertical[k] ** 2 - vertical[other] ** 2 + k * k - other * other) / (2 * (k - other));
      if (start > from[last]) break;
      last -= 1;
      start = -Infinity;
    }
    last += 1;
    lowest[last] = k;
    from[last] = start;
  }
  if (last < 0) { out.fill(Infinity); return; }
  for (let x = 0, at = 0; x < out.length; x += 1) {
    while (at < last && from[at + 1] < x) at += 1;
    out[x] = (x - lowest[at]) ** 2 + vertical[lowest[at]] ** 2;
  }
}
