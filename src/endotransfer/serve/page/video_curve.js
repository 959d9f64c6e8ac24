// The curve of a video in numbers: peaks, the frame at a time, the line that is drawn.  Pure.
/** @typedef {[frame: number, area: number, doubt: number]} CurvePoint */

const LEAST = 0.1; // of the whole range: a smaller rise is no peak

/**
 * Frames at which a value is higher than around, by at least a tenth of its range, in order.
 * @param {CurvePoint[]} points by frame @param {1 | 2} of area or doubt
 */
export function peaks(points, of) {
  const values = points.map((point) => point[of]);
  const least = LEAST * (Math.max(...values) - Math.min(...values));
  if (!(least > 0)) return [];
  const found = [];
  let [low, top, place] = [values[0], values[0], 0];
  let rising = true;
  for (let i = 0; i < values.length; i += 1) {
    if (rising) {
      if (values[i] > top || i === 0) [top, place] = [values[i], i];
      if (values[i] < low) low = values[i];
      if (top - values[i] >= least) {
        if (top - Math.min(low, values[i]) >= least) found.push(points[place][0]);
        [rising, low] = [false, values[i]];
      }
    } else {
      if (values[i] < low) low = values[i];
      if (values[i] - low >= least) [rising, top, place] = [true, values[i], i];
    }
  }
  if (rising && top - low >= least) found.push(points[place][0]);
  return found;
}

/** The next of `frames` after a frame, or before it; null where there is none. @param {number[]} frames @param {number} from @param {number} way */
export function nextOf(frames, from, way) {
  const left = frames.filter((frame) => (frame - from) * way > 0);
  return left.length ? (way > 0 ? Math.min(...left) : Math.max(...left)) : null;
}

/** The last frame that is shown at a time. @param {number[]} times rising @param {number} seconds */
export function frameAt(times, seconds) {
  let [low, high] = [0, times.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= seconds + 1e-6) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** @param {number} seconds */
export function clock(seconds) {
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
  const hours = Math.floor(minutes / 60);
  const small = rest.toFixed(2).padStart(5, "0");
  return hours ? `${hours}:${String(minutes % 60).padStart(2, "0")}:${small}` : `${minutes}:${small}`;
}

/** @param {number | null} seconds */
export function timeLeft(seconds) {
  if (seconds === null) return "";
  if (seconds < 90) return `about ${Math.max(1, Math.round(seconds))} s left`;
  return seconds < 5400 ? `about ${Math.round(seconds / 60)} min left` : `about ${(seconds / 3600).toFixed(1)} h left`;
}

/** @type {Record<string, string>} */
const ENDINGS = {
  cut: "the scene changes", lost: "its motion cannot be followed", changed: "it looks different", area: "its size jumps, or it leaves",
  end: "the video ends", decided: "a decided frame", limit: "250 frames",
};

/** @param {string | null} ending @param {number} [way] back is below 0 */
export function endingInWords(ending, way = 1) {
  if (ending === "end" && way < 0) return "the video begins";
  return ending ? ENDINGS[ending] ?? ending : "stopped";
}
