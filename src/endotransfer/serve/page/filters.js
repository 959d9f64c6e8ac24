// Which images of the list are shown: by decision, tag, split, reviewer, patient, and by name.  Who has decided how many.
import { element, emit, on, state } from "./state.js";

const VALUES = {
  tag: (row) => [row.tag],
  split: (row) => [row.split],
  reviewer: (row) => [row.review?.who, ...(row.second ?? []).map(({ who }) => who)],
  patient: (row) => [row.patient],
};

export function chosen(row) {
  return decided(row) && row.name.toLowerCase().includes(state.search)
    && Object.entries(state.only).every(([field, value]) => VALUES[field](row).includes(value));
}

function decided(row) {
  if (state.filter === "all") return true;
  if (state.filter === "open") return !row.review || row.id === state.image?.row.id;
  if (state.filter === "sample") return Boolean(state.plan?.has(row.id));
  return row.review?.decision === state.filter;
}

// Only what tells images apart can be chosen.
function buildChoices() {
  for (const [field, values] of Object.entries(VALUES)) {
    const known = [...new Set(state.rows.flatMap(values).filter(Boolean))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
    const select = element(`only-${field}`);
    select.closest("label").hidden = known.length < 2 && !state.only[field];
    const options = [new Option("any", ""), ...known.map((value) => new Option(value, value))];
    if (options.map(({ value }) => value).join("\n") !== [...select.options].map(({ value }) => value).join("\n")) select.replaceChildren(...options);
    select.value = state.only[field] ?? "";
  }
}

function showProgress() {
  const counts = new Map();
  for (const row of state.rows) for (const who of new Set(VALUES.reviewer(row).filter(Boolean))) counts.set(who, (counts.get(who) ?? 0) + 1);
  const people = [...counts].sort(([, a], [, b]) => b - a).map(([who, count]) => `${who} ${count}`);
  element("progress").textContent = people.length ? `Reviewed: ${people.join(", ")} of ${state.rows.length}.` : "";
  element("progress").hidden = !people.length;
  const used = Object.keys(state.only).length;
  element("more-count").textContent = used ? ` (${used})` : "";
}

for (const field of Object.keys(VALUES)) {
  element(`only-${field}`).addEventListener("change", (event) => {
    if (event.target.value) state.only[field] = event.target.value;
    else delete state.only[field];
    emit("rows");
  });
}
element("filter").addEventListener("change", (event) => { state.filter = event.target.value; emit("rows"); });
element("search").addEventListener("input", (event) => { state.search = event.target.value.trim().toLowerCase(); emit("rows"); });
on("rows", () => { buildChoices(); showProgress(); });
