// Puts the page together once everything is there.

function followAddress() {
  const found = /^#q(\d+)$/.exec(location.hash);
  if (found && report.queries && Number(found[1]) < report.queries.ids.length) showQuery(Number(found[1]), true);
}

function setUpQueries() {
  setUpDifferences();
  byId("query-before").addEventListener("click", () => step(-1));
  byId("query-after").addEventListener("click", () => step(1));
  window.addEventListener("hashchange", followAddress);
  const first = differing.rows.find((row) => own(report.matrices, row.query)) || differing.rows[0];
  if (first) showQuery(first.at, false);
  followAddress();
}

function setUpSlices() {
  const maps = [...document.querySelectorAll("[data-slice]")];
  if (!maps.length) return;
  const select = byId("slice-measure");
  fill(select, [...new Set(report.slices.map((slice) => slice.measure))]);
  const show = () => maps.forEach((map, at) => (map.hidden = String(at) !== select.value));
  select.addEventListener("change", show);
  show();
}

// Queries that are named elsewhere lead to their view.
function linkQueries() {
  const place = new Map((report.queries || { ids: [] }).ids.map((query, at) => [visible(query), at]));
  for (const cell of document.querySelectorAll("th[data-query]")) {
    const at = place.get(cell.dataset.query);
    if (at !== undefined) cell.replaceChildren(make("a", { href: `#q${at}` }, cell.textContent));
  }
}

function drawCharts() {
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  if (report.cells.length) drawIntervals();
  if (report.queries) showDifferences();
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function setUpTheme() {
  const button = byId("theme");
  const name = () => (button.textContent = isDark() ? "Light theme" : "Dark theme");
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    name();
    drawCharts();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    name();
    drawCharts();
  });
  name();
}

// Paper is white: charts are drawn in light colours for it, and back again.
function setUpPrinting() {
  let before;
  window.addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    drawCharts();
  });
  window.addEventListener("afterprint", () => {
    if (before === undefined) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = before;
    drawCharts();
  });
}

for (const element of document.querySelectorAll(".needs-script")) element.hidden = false;
Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
setUpTables();
if (report.cells.length) {
  fill(byId("chart-measure"), report.measures);
  byId("chart-measure").addEventListener("change", drawIntervals);
  drawIntervals();
}
if (report.queries) setUpQueries();
setUpSlices();
linkQueries();
setUpTheme();
setUpPrinting();
