// The heat map: arrow keys move between cells, and a cell opens the rules that apply there.
"use strict";
(() => {
  const table = document.getElementById("heat");
  if (!table) return;
  const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1));
  const cells = rows.flat();
  let current;

  table.setAttribute("role", "grid");
  for (const cell of cells) {
    cell.setAttribute("role", "gridcell");
    cell.tabIndex = -1;
  }

  /** Only one cell at a time is reached by the tab key. */
  function enter(cell, focusing = true) {
    if (!cell) return;
    if (current) current.tabIndex = -1;
    current = cell;
    cell.tabIndex = 0;
    if (focusing) cell.focus();
  }

  function open(cell) {
    if (cell.dataset.capability === undefined) return;
    const rules = cell.dataset.rules.split(" ").filter(Boolean).map(Number);
    capscope.openRules(Number(cell.dataset.capability), rules);
  }

  table.addEventListener("click", (event) => {
    const cell = event.target.closest("td");
    if (!cell) return;
    enter(cell);
    open(cell);
  });
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td");
    if (!cell) return;
    const row = rows.findIndex((own) => own.includes(cell));
    const column = rows[row].indexOf(cell);
    const [down, right] = {
      ArrowDown: [1, 0],
      ArrowUp: [-1, 0],
      ArrowRight: [0, 1],
      ArrowLeft: [0, -1],
    }[event.key] ?? [0, 0];
    if (down || right) {
      event.preventDefault();
      enter(rows[row + down]?.[column + right]);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      open(cell);
    }
  });
  enter(cells[0], false);
})();
