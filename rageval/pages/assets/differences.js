// The view of all queries: two runs beside one another by one measure.

const STEP = 25;
const SNIPPET = 160; // characters of an answer in the table
const differing = { sort: "", direction: -1, isChosen: false, shown: STEP, rows: [] };
const HEADINGS = [["query", "Query"], ["gold", "Gold answer"], ["answer", "Answer"], ["mine", ""], ["theirs", ""], ["difference", "Difference"], ["mean", "All runs"]];
const IN_PAIRS = new Set(["theirs", "difference"]);

function chosenColumns() {
  const measure = report.measures[byId("diff-measure").value];
  const [run, base] = ["diff-run", "diff-base"].map((id) => report.runs[byId(id).value]);
  return { measure, run, base };
}

function rowsOf({ measure, run, base }) {
  const [mine, theirs] = [column(measure, run), column(measure, base)];
  if (!mine) return [];
  const single = !theirs || run === base;
  const way = wayOf(measure) || 1;
  const means = hasMeans() ? meansOf(measure) : null;
  return report.queries.ids.map((query, at) => {
    const other = single ? NaN : theirs[at];
    const difference = single ? mine[at] : mine[at] - other;
    return { at, query, mine: mine[at], theirs: other, difference, gain: way * difference, mean: means ? means[at] : NaN };
  });
}

// Texts are kept for the queries that are worst for all runs together, so that this mean is shown beside them.
function hasMeans() {
  return Boolean(report.traces) && report.runs.length > 1;
}

function meansOf(measure) {
  const all = report.runs.map((run) => column(measure, run)).filter(Boolean);
  return report.queries.ids.map((_, at) => {
    const known = all.map((values) => values[at]).filter((value) => !Number.isNaN(value));
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : NaN;
  });
}

// Until a heading is chosen the worst come first: what was lost, or what is lowest where low is bad.
function sortWorstFirst(single, measure) {
  if (differing.isChosen) return;
  differing.sort = hasMeans() ? "mean" : single ? "mine" : "difference";
  differing.direction = wayOf(measure) < 0 ? -1 : wayOf(measure) > 0 ? 1 : -1;
}

function isColumn(key, single) {
  if (key === "gold") return Object.values((report.traces || {}).queries || {}).some((trace) => trace.gold);
  if (key === "answer") return Object.values((report.traces || {}).queries || {}).some((trace) => trace.answers);
  if (key === "mean") return hasMeans();
  return !(single && IN_PAIRS.has(key));
}

function isShown(row, wanted, outcome) {
  const text = own(report.queries.texts, row.query) || "";
  if (wanted && !`${visible(row.query)}\n${text}`.toLowerCase().includes(wanted)) return false;
  if (outcome === "") return true;
  const sign = Math.abs(row.gain) <= 1e-12 ? 0 : Math.sign(row.gain);
  return sign === Number(outcome);
}

function showDifferences() {
  const chosen = chosenColumns();
  const all = rowsOf(chosen);
  const single = chosen.run === chosen.base;
  sortWorstFirst(single, chosen.measure);
  const wanted = byId("diff-find").value.toLowerCase();
  differing.rows = all.filter((row) => isShown(row, wanted, byId("diff-outcome").value));
  differing.rows.sort((one, other) => compareValues(one[differing.sort], other[differing.sort], differing.direction));
  const title = single
    ? `${visible(chosen.run)} by ${visible(chosen.measure)}`
    : `${visible(chosen.run)} − ${visible(chosen.base)} by ${visible(chosen.measure)}`;
  byId("diff-summary").textContent = `${title}: ${summary(all, single)}`;
  const known = differing.rows.filter((row) => !Number.isNaN(row.difference));
  known.sort((one, other) => other.gain - one.gain);
  drawDifferences(known, title, wayOf(chosen.measure), openQuery);
  showHeadings(chosen, single);
  showRows(single);
}

function summary(rows, single) {
  const known = rows.filter((row) => !Number.isNaN(row.difference));
  const mean = known.reduce((total, row) => total + row.difference, 0) / known.length;
  const shown = `${differing.rows.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} queries shown`;
  if (single) return `mean ${number(mean)}; ${shown}.`;
  const count = (sign) => known.filter((row) => isShown(row, "", sign)).length.toLocaleString("en");
  const [won, lost] = wayOf(chosenColumns().measure) === 0 ? ["higher", "lower"] : ["won", "lost"];
  return `mean difference ${signed(mean)}; ${count("1")} ${won}, ${count("0")} tied, ${count("-1")} ${lost}; ${shown}.`;
}

function showHeadings({ run, base }, single) {
  const names = { mine: run, theirs: base };
  const cells = HEADINGS.filter(([key]) => isColumn(key, single)).map(([key, text]) => {
    if (key === "gold" || key === "answer") return make("th", { scope: "col", "data-key": key }, ...(key === "answer" ? breakable(`${text} of ${names.mine}`) : [text]));
    const button = make("button", { type: "button", class: "sort", "data-kind": key === "query" ? "text" : "number" }, ...breakable(text || names[key]));
    const heading = make("th", { scope: "col", "data-key": key }, button);
    if (key === differing.sort) heading.setAttribute("aria-sort", differing.direction > 0 ? "ascending" : "descending");
    button.addEventListener("click", () => sortDifferences(heading, key));
    return heading;
  });
  byId("diff-table").tHead.rows[0].replaceChildren(...cells);
}

function sortDifferences(heading, key) {
  differing.direction = nextDirection(heading, key !== "query");
  differing.sort = key;
  differing.isChosen = true;
  differing.shown = STEP;
  showDifferences();
  document.querySelector(`#diff-table th[data-key=${key}] button`).focus();
}

function showRows(single) {
  const way = wayOf(chosenColumns().measure);
  const rows = differing.rows.slice(0, differing.shown).map((row) => {
    const asked = own(report.queries.texts, row.query);
    const link = make("a", { href: addressOf(row.at) }, visible(shorter(asked || row.query, SNIPPET)));
    const id = asked ? make("small", {}, " " + visible(row.query)) : null;
    const cells = [...textCells(row, single), make("td", { class: "number" }, number(row.mine))];
    if (!single) {
      const tone = way * row.difference > 0 ? "up" : way * row.difference < 0 ? "down" : "";
      cells.push(make("td", { class: "number" }, number(row.theirs)));
      cells.push(make("td", { class: `number ${tone}` }, signed(row.difference)));
    }
    if (hasMeans()) cells.push(make("td", { class: "number" }, number(row.mean)));
    return make("tr", { "data-at": row.at }, make("th", { scope: "row" }, link, id), ...cells);
  });
  byId("diff-table").tBodies[0].replaceChildren(...rows);
  labelCells(byId("diff-table"));
  const rest = differing.rows.length - rows.length;
  byId("diff-more").hidden = rest <= 0;
  byId("diff-more").textContent = `Show ${Math.min(rest, 10 * STEP)} more of ${rest.toLocaleString("en")}`;
}

// What stands in the row of the gold answer and of the run's answer, as far as there is room.
function textCells(row, single) {
  const trace = traceOf(row.query) || {};
  const run = chosenColumns().run;
  const answer = (trace.answers || []).find((one) => one.run === run);
  const said = answer ? answer.sentences.map(([text]) => text).join(" ") : "";
  const texts = { gold: (trace.gold || []).join("; "), answer: said };
  return ["gold", "answer"].filter((key) => isColumn(key, single)).map((key) => make("td", { class: "snippet" }, visible(shorter(texts[key], SNIPPET)) || "–"));
}

function bestRun(measure) {
  const best = report.cells.find((cell) => cell.measure === measure && cell.best);
  return best ? report.runs.indexOf(best.run) : 0;
}

// From the baseline if there is one, else from the best run.
function chooseRuns() {
  const named = report.runs.indexOf((report.comparison || {}).baseline);
  const base = named >= 0 ? named : bestRun(report.measures[byId("diff-measure").value]);
  const run = report.runs.length > 1 && base === 0 ? 1 : 0;
  byId("diff-run").value = String(run);
  byId("diff-base").value = String(base);
}

function setUpDifferences() {
  fill(byId("diff-measure"), report.measures);
  fill(byId("diff-run"), report.runs);
  fill(byId("diff-base"), report.runs);
  chooseRuns();
  const again = () => {
    differing.shown = STEP;
    showDifferences();
  };
  for (const id of ["diff-measure", "diff-run", "diff-base", "diff-outcome"]) byId(id).addEventListener("change", again);
  byId("diff-find").addEventListener("input", again);
  byId("diff-more").addEventListener("click", () => {
    differing.shown += 10 * STEP;
    const { run, base } = chosenColumns();
    showRows(run === base);
  });
  showDifferences();
}
