// The fields above the list: which images are shown, and who has decided how many.
/** @import { Row } from "./types.d.ts" */
import { element, input, onValue, select } from "./dom.js";
import { VALUES, known, matches, progress, shortened } from "./row_filters.js";
import { emit, on, state } from "./state.js";

/** The rows that are listed. */
export const visibleRows = () => [...state.picked, ...state.rows].filter(chosen);

/** @param {Row} row */
const chosen = (row) => matches(row, { ...state, open: state.image?.row.id });

// Only what tells images apart can be chosen.
function buildChoices() {
  for (const field of Object.keys(VALUES)) {
    const values = known(state.rows, field);
    const choice = select(`only-${field}`);
    /** @type {HTMLElement} */ (choice.closest("label")).hidden = values.length < 2 && !state.only[field];
    const options = [new Option("any", ""), ...values.map((value) => Object.assign(new Option(shortened(value), value), { title: value }))];
    if (options.map(({ value }) => value).join("\n") !== [...choice.options].map(({ value }) => value).join("\n")) choice.replaceChildren(...options);
    choice.value = state.only[field] ?? "";
    choice.title = choice.value; // a long name in full
  }
  const box = element("only-tag").closest("details");
  if (box) box.hidden = !box.querySelector("label:not([hidden])");
}

/** An empty list says why it is empty. */
function showNone() {
  const some = [...state.picked, ...state.rows];
  element("none").textContent = some.length && !some.some(chosen) ? "No image is like that: change what is searched for or shown." : "";
}

function showProgress() {
  const people = progress(state.rows).map(([who, count]) => `${who} ${count}`);
  element("progress").textContent = people.length ? `Reviewed: ${people.join(", ")} of ${state.rows.length}.` : "";
  element("progress").hidden = !people.length;
  const used = Object.keys(state.only).length;
  element("more-count").textContent = used ? ` (${used})` : "";
}

for (const field of Object.keys(VALUES)) {
  onValue(select(`only-${field}`), "change", ({ value }) => {
    if (value) state.only[field] = value;
    else delete state.only[field];
    emit("rows");
  });
}
onValue(select("filter"), "change", ({ value }) => { state.filter = value; emit("rows"); });
onValue(input("search"), "input", ({ value }) => { state.search = value.trim().toLowerCase(); emit("rows"); });
on("rows", () => { buildChoices(); showProgress(); showNone(); });
