// Puts the page together once everything is there.

// `#q=ID` opens the query with this id, whatever signs are in it.
function followAddress() {
  if (!report.queries || !location.hash.startsWith("#q=")) return;
  const at = placeOfQuery(location.hash.slice(3));
  if (at === undefined) showUnknown(location.hash.slice(3));
  else showQuery(at, true);
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
    if (at !== undefined) cell.replaceChildren(make("a", { href: addressOf(at) }, cell.textContent));
  }
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// Colours are the style sheet's everywhere, charts included: nothing is drawn anew.
function setUpTheme() {
  const button = byId("theme");
  const name = () => (button.textContent = isDark() ? "Light theme" : "Dark theme");
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();
}

for (const element of document.querySelectorAll(".needs-script")) element.hidden = false;
setUpTables();
if (report.cells.length) {
  fill(byId("chart-measure"), report.measures);
  byId("chart-measure").addEventListener("change", drawIntervals);
  drawIntervals();
}
if ((report.curves || []).length) {
  fill(byId("curve-by"), [...new Set(report.curves.map((curve) => curve.by))]);
  byId("curve-by").addEventListener("change", drawCurves);
  drawCurves();
}
if ((report.losses || []).length) drawLosses();
if ((report.reliability || []).length) drawReliability();
if (report.queries) setUpQueries();
setUpSlices();
linkQueries();
setUpCharts();
setUpTheme();
