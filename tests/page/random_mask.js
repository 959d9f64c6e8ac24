// Masks for tests: clumps of classes, the same every time.
export const WIDTH = 23;
export const HEIGHT = 17;

export function randomMask(seed, classes = 3) {
  let word = seed * 2654435761 + 1;
  const next = () => { word = (Math.imul(word, 1664525) + 1013904223) >>> 0; return word / 2 ** 32; };
  const mask = new Uint8Array(WIDTH * HEIGHT);
  for (let i = 0; i < mask.length; i += 1) mask[i] = i % WIDTH && next() < 0.7 ? mask[i - 1] : Math.floor(next() * classes);
  mask[5] = 255;
  return mask;
}

export const at = (mask, x, y) => (x >= 0 && y >= 0 && x < WIDTH && y < HEIGHT ? mask[y * WIDTH + x] : undefined);
export const eachPixel = function* () { for (let y = 0; y < HEIGHT; y += 1) for (let x = 0; x < WIDTH; x += 1) yield [x, y]; };
