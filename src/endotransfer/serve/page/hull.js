// The convex hull of points (Andrew's monotone chain).
/** @import { Point } from "./types.d.ts" */

/** Twice the area of a triangle, with the sign of its sense. @param {Point} a @param {Point} b @param {Point} c */
const turn = (a, b, c) => (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);

/** The corners, around; of points row by row, left to right. @param {Point[]} points */
export function hullOf(points) {
  return [...half(points), ...half([...points].reverse())];
}

/** One side of the hull, without its last corner. @param {Point[]} points */
function half(points) {
  /** @type {Point[]} */
  const corners = [];
  for (const point of points) {
    while (corners.length > 1 && turn(corners[corners.length - 2], corners[corners.length - 1], point) <= 0) corners.pop();
    corners.push(point);
  }
  return corners.slice(0, -1);
}

/** Whether a point lies within the hull or on its edge. @param {Point[]} corners @param {Point} point */
export const isWithin = (corners, point) => corners.every((corner, index) => turn(corner, corners[(index + 1) % corners.length], point) >= 0);
