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

// Of many pairs the page holds some as a table, and all as numbers, of which the other rows are made.
function showAllPairs() {
  const button = document.getElementById("pairs-more");
  if (!button || button.hidden) return;
  button.hidden = true;
  const table = byId("pairs");
  const body = table.tBodies[0];
  const { fields, rows } = report.comparison.pairs;
  body.append(...rows.slice(body.rows.length).map((row) => pairRow(Object.fromEntries(fields.map((name, at) => [name, row[at]])))));
  labelCells(table);
  for (const row of body.rows) row.setAttribute("role", "row");
}

function pairRow(pair) {
  const p = (value) => (value === null ? "–" : value < 0.001 ? value.toExponential(1).replace(/e-(\d)$/, "e-0$1") : value.toFixed(4));
  const cell = (text, sort, ...more) => make("td", { class: "number", "data-sort": sort ?? "" }, make("span", { class: "value" }, text), " ", ...more);
  const known = pair.low !== null && pair.high !== null;
  const tone = pair.better_run === pair.run ? " good" : pair.better_run === pair.other ? " bad" : "";
  const alone = pair.judged ?? null;
  const labels = `${(pair.labels ?? 0).toLocaleString("en")} labels${(pair.gain ?? null) === null ? "" : `, worth ${pair.gain.toFixed(0)}`}`;
  const people = alone === null ? [] : [make("small", { class: "bounds" }, `judge only ${plus(alone)}`), " ", make("small", { class: "bounds" }, labels)];
  const small = [(pair.reasons ?? []).map((reason) => reason.text).join("; "), pair.every_completion && `under every completion: ${pair.every_completion}`].filter(Boolean);
  return make("tr", {},
    make("td", {}, visible(pair.measure)), make("th", { scope: "row" }, visible(pair.run)), make("td", {}, visible(pair.other)),
    make("td", {}, make("span", { class: `verdict${tone}` }, visible(pair.verdict)), " ", ...small.map((text) => make("small", {}, visible(text)))),
    cell(pair.difference === null ? "–" : plus(pair.difference), pair.difference, known ? make("small", { class: "interval" }, `[${number(pair.low)}, ${number(pair.high)}]`) : "", " ", ...people),
    cell(p(pair.p), pair.p), cell(p(pair.adjusted), pair.adjusted),
    cell(pair.effect === null ? "–" : plus(pair.effect, 2), pair.effect),
    make("td", { class: "number" }, `${pair.wins} · ${pair.ties} · ${pair.losses}`),
    cell(number(pair.detectable), pair.detectable));
}

// A number with its sign, as Python writes it.
function plus(value, digits = places) {
  return (value < 0 || Object.is(value, -0) ? "" : "+") + value.toFixed(digits);
}

function sortTable(table, heading, isNumber) {
  if (table.id === "pairs") showAllPairs();
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
  document.getElementById("pairs-more")?.addEventListener("click", showAllPairs);
  for (const field of document.querySelectorAll("input[data-filter]")) {
    const table = byId(field.dataset.filter);
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      if (field.dataset.filter === "pairs") showAllPairs();
      for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  }
}
