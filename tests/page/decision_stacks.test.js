// Undo and redo of decisions.
import assert from "node:assert/strict";
import test from "node:test";
import { noted, parseStacks, travelled } from "../../src/endotransfer/serve/page/decision_stacks.js";
import { described } from "../../src/endotransfer/serve/page/versions.js";

const NONE = { done: [], undone: [] };
const [FIRST, SECOND] = [{ id: "a", from: null, to: 1 }, { id: "b", from: 2, to: 3 }];

test("undo and redo lead there and back", () => {
  const both = noted(noted(NONE, FIRST), SECOND);
  const back = travelled(both, "undo");
  assert.deepEqual([back.entry, back.expects, back.wants], [SECOND, 3, 2]);
  assert.deepEqual(back.after, { done: [FIRST], undone: [SECOND] });
  const forth = travelled(back.after, "redo");
  assert.deepEqual([forth.expects, forth.wants], [2, 3]);
  assert.deepEqual(forth.after, both);
  assert.deepEqual(back.without, { done: [FIRST], undone: [] }); // where somebody else has decided since
  assert.equal(travelled(NONE, "undo"), null);
});

test("a new decision ends what could be redone, and the oldest are forgotten", () => {
  assert.deepEqual(noted({ done: [], undone: [SECOND] }, FIRST), { done: [FIRST], undone: [] });
  let stacks = NONE;
  for (let to = 0; to < 300; to += 1) stacks = noted(stacks, { id: "a", from: null, to });
  assert.deepEqual([stacks.done.length, stacks.done[0].to], [200, 100]);
});

test("what a browser kept is read with care", () => {
  for (const text of ["", "{", "null", "[]", '{"done": 3}']) assert.deepEqual(parseStacks(text), NONE);
  assert.deepEqual(parseStacks(JSON.stringify({ done: [FIRST], undone: [] })).done, [FIRST]);
});

test("a decision in words", () => {
  const plain = { decision: "corrected", restores: null, blind: false, reading: "first", adjudicated: false };
  assert.deepEqual(described(plain), ["corrected", ""]);
  assert.deepEqual(described({ ...plain, blind: true, reading: "second" }), ["corrected", " (blind, second reading)"]);
  assert.deepEqual(described({ ...plain, adjudicated: true }), ["corrected", " (settles two readings)"]);
  assert.deepEqual(described({ ...plain, decision: "taken back", restores: 4 }), ["back to 4", ""]);
});
