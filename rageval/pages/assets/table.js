// Tables that stand in the page from the beginning: sorted by a click on a heading, filtered by a text field.

const collator = new Intl.Collator(undefined, { numeric: true });

// Undefined values come last, whichever way round.
function compareValues(one, other, direction) {
  const lost = [one, other].map((value) => value === null || Number.isNaN(value) || value === "");
  if (lost[0] || lost[1]) return lost[0] - lost[1];
  const order = typeof one === "number" ? one - other : collator.compare(one, other);
  return direction * order;
}

function markSorted(heading, direction) {
  for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
}

// Numbers are looked at from the highest (from the lowest, where low is good), texts from A.
function nextDirection(heading, isNumber) {
  const now = heading.getAttribute("aria-sort");
  if (!now) return isNumber && !heading.querySelector("[data-low]") ? -1 : 1;
  return now === "ascending" ? -1 : 1;
}

function sortTable(table, heading, isNumber) {
  const at = [...heading.parentElement.children].indexOf(heading);
  const direction = nextDirection(heading, isNumber);
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => {
    const text = isNumber ? row.cells[at].dataset.sort : row.cells[at].textContent;
    return [isNumber ? (text === "" ? NaN : Number(text)) : text, row];
  });
  keyed.sort((one, other) => compareValues(one[0], other[0], direction));
  body.append(...keyed.map(([, row]) => row));
  markSorted(heading, direction);
}

// Every cell learns its heading, which stands before it where the screen is too narrow for a table.
function labelCells(table) {
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell, at) => (cell.dataset.label = heads[at]));
  }
}

function setUpTables() {
  for (const table of document.querySelectorAll("table.stacks")) {
    labelCells(table);
    // What is laid out anew would be no table any more to a screen reader.
    table.setAttribute("role", "table");
    for (const part of table.querySelectorAll("thead, tbody")) part.setAttribute("role", "rowgroup");
    for (const row of table.rows) row.setAttribute("role", "row");
  }
  for (const button of document.querySelectorAll("thead .sort")) {
    const heading = button.parentElement;
    const table = heading.closest("table");
    button.addEventListener("click", () => sortTable(table, heading, button.dataset.kind === "number"));
  }
  for (const field of document.querySelectorAll("input[data-filter]")) {
    const rows = [...byId(field.dataset.filter).tBodies[0].rows];
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  }
}
