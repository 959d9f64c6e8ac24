// Which rows are shown, and who has done how many.
import assert from "node:assert/strict";
import test from "node:test";
import { known, matches, progress, shortened } from "../../src/endotransfer/serve/page/row_filters.js";

const review = (who, decision = "accepted") => ({ who, decision, number: 1 });
const ROWS = [
  { id: "a", name: "Polyp 2", tag: "lesion", split: "train", patient: "p10", review: review("Ada"), second: [] },
  { id: "b", name: "polyp 10", tag: "normal", split: "test", patient: "p9", review: null, second: [] },
  { id: "c", name: "Bulb", tag: "lesion", split: "test", patient: null, review: review("Bo", "rejected"), unfamiliar: "blurred",
    second: [{ who: "Ada" }] },
];
const ALL = { filter: "all", search: "", only: {}, plan: null, open: undefined };
const ids = (wanted) => ROWS.filter((row) => matches(row, { ...ALL, ...wanted })).map(({ id }) => id).join("");

test("by decision", () => {
  assert.equal(ids({}), "abc");
  assert.equal(ids({ filter: "accepted" }), "a");
  assert.equal(ids({ filter: "rejected" }), "c");
  assert.equal(ids({ filter: "open" }), "b");
  assert.equal(ids({ filter: "open", open: "a" }), "ab"); // what is open does not vanish
  assert.equal(ids({ filter: "sample" }), "");
  assert.equal(ids({ filter: "unfamiliar" }), "c");
  assert.equal(ids({ filter: "sample", plan: new Set(["b", "c"]) }), "bc");
});

test("by name and by field, all at once", () => {
  assert.equal(ids({ search: "polyp" }), "ab");
  assert.equal(ids({ only: { tag: "lesion" } }), "ac");
  assert.equal(ids({ only: { tag: "lesion", split: "test" } }), "c");
  assert.equal(ids({ only: { reviewer: "Ada" } }), "ac"); // a second reading counts
  assert.equal(ids({ only: { patient: "p9" }, search: "bulb" }), "");
});

test("the choices are what occurs, in the order of a reader", () => {
  assert.deepEqual(known(ROWS, "patient"), ["p9", "p10"]);
  assert.deepEqual(known(ROWS, "reviewer"), ["Ada", "Bo"]);
  assert.deepEqual(progress(ROWS), [["Ada", 2], ["Bo", 1]]);
});

test("a long value keeps its beginning and its end", () => {
  assert.equal(shortened("fifteen letters"), "fifteen letters");
  assert.equal(shortened("University-Hospital-Unit-7-Patient-00003"), "Unive…ent-00003");
  assert.equal(shortened("sixteen letters!").length, 15);
});
