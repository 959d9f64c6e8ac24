// A click on a column's head sorts its table; rows without a figure stay at the end.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const down = column > 0 ? head.ariaSort !== "descending" : head.ariaSort === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const valueOf = (row) => row.cells[column].dataset.value;
      const compare = (a, b) => {
        const [x, y] = [valueOf(a), valueOf(b)];
        if (x === "" || y === "") return (x === "") - (y === "");
        const order = column > 0 ? Number(x) - Number(y) : x.localeCompare(y);
        return down ? -order : order;
      };
      body.append(...[...body.rows].sort(compare));
    });
  });
}
