// The view of one query: its values, and what was found where.

let current = -1;

function openQuery(at) {
  location.hash = addressOf(at);
}

function showUnknown(address) {
  byId("query-title").textContent = "No such query";
  byId("query-body").replaceChildren(make("p", { class: "hint" }, `This report has no query ${visible(address)}.`));
  byId("query-title").focus();
}

function showQuery(at, go) {
  current = at;
  const query = report.queries.ids[at];
  const text = own(report.queries.texts, query);
  const matrix = own(report.matrices, query);
  byId("query-title").textContent = `Query ${visible(query)}`;
  const trace = traceOf(query);
  byId("query-body").replaceChildren(
    ...(trace ? traceParts(at, trace, matrix) : text ? [make("p", { class: "question" }, lines(text))] : []),
    ...(report.traces && !trace ? [make("p", { class: "hint" }, noTrace())] : []),
    valuesOf(at),
    ...(matrix && matrix.trajectories ? trajectoryParts(at, matrix) : []),
    ...(matrix && matrix.rows.length ? matrixOf(matrix) : [noMatrix()]),
  );
  byId("query-before").disabled = placeOf(at) <= 0;
  byId("query-after").disabled = placeOf(at) >= differing.rows.length - 1;
  if (!go) return;
  byId("query-title").focus({ preventScroll: true });
  byId("query").scrollIntoView();
}

function placeOf(at) {
  return differing.rows.findIndex((row) => row.at === at);
}

function step(by) {
  const row = differing.rows[placeOf(current) + by];
  if (row) openQuery(row.at);
}

function noMatrix() {
  const some = Object.keys(report.matrices || {}).length;
  const why = some
    ? `Evidence is included for ${some} queries; --queries N includes more.`
    : "This report has no documents or answers.";
  return make("p", { class: "hint" }, why);
}

function valuesOf(at) {
  const head = report.measures.map((measure) => make("th", { scope: "col", class: "number" }, visible(measure)));
  const rows = report.runs.map((run) => {
    const cells = report.measures.map((measure) => {
      const values = column(measure, run);
      return make("td", { class: "number" }, values ? number(values[at]) : "–");
    });
    return make("tr", {}, make("th", { scope: "row" }, visible(run)), ...cells);
  });
  // Labels correct means: whose the values of one query are stands above all of them, and here.
  const whose = byId("whose-values");
  const caption = whose ? `Values. ${whose.textContent}` : "Values";
  const table = make("table", { id: "query-values" }, make("caption", {}, caption), make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Run"), ...head)), make("tbody", {}, ...rows));
  return make("div", { class: "scroll", role: "region", "aria-label": "Values", tabindex: "0" }, table);
}

function matrixOf(matrix) {
  const holder = make("div", {});
  const evidence = make("div", { class: "evidence", "aria-live": "polite", hidden: true });
  if (matrix.kind === "answers") {
    // Runs as everywhere, the best first; those of judgements alone, such as of gold, behind them.
    const order = [...new Set([...report.runs, ...matrix.columns])].map((run) => matrix.columns.indexOf(run)).filter((at) => at >= 0);
    holder.append(matrixTable(matrix, order, "What was judged, by run", evidence));
    return [holder, evidence, legend(matrix)];
  }
  const runs = Object.keys(matrix.rankings);
  const select = make("select", { id: "matrix-run" });
  fill(select, runs, Math.max(0, runs.indexOf(chosenColumns().run)));
  const show = () => {
    const run = runs[select.value];
    evidence.hidden = true;
    holder.replaceChildren(matrixTable(matrix, matrix.rankings[run], `Nuggets by the documents of ${visible(run)}, best first`, evidence));
  };
  select.addEventListener("change", show);
  show();
  return [make("p", { class: "controls" }, make("label", {}, "Documents of ", select)), holder, evidence, legend(matrix)];
}

function legend(matrix) {
  const vital = matrix.rows.some((row) => row.importance === "vital");
  const marks = matrix.kind === "documents" ? "✓ supports it (with its grade, where grades differ)" : "✓ full, ◐ partial, ✗ wrong, – not; ? failed, so missing";
  return make("p", { class: "legend" }, marks + "; · unknown. Select an underlined mark to see its quote or reason." + (vital ? " Vital nuggets are marked." : ""));
}

function matrixTable(matrix, shown, caption, evidence) {
  const said = new Map();
  for (const cell of matrix.cells) {
    const key = `${cell.row} ${cell.column}`;
    said.set(key, [...(said.get(key) || []), cell]);
  }
  const head = shown.map((at, rank) =>
    make("th", { scope: "col" }, make("span", { class: "id", title: visible(matrix.columns[at]) }, visible(matrix.columns[at])), matrix.kind === "documents" ? String(rank + 1) : ""));
  const graded = new Set(matrix.cells.map((cell) => cell.grade)).size > 1;
  const rows = matrix.rows.map((row, r) => {
    const cells = shown.map((at) => matrixCell(matrix, said.get(`${r} ${at}`) || [], row, at, graded, evidence));
    return make("tr", { class: row.importance || false }, nuggetHeading(row), ...cells);
  });
  const corner = make("th", { scope: "col" }, matrix.kind === "documents" ? "Nugget" : "Nugget or aspect");
  const table = make("table", { class: "matrix" }, make("caption", {}, caption), make("thead", {}, make("tr", {}, corner, ...head)), make("tbody", {}, ...rows));
  return make("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" }, table);
}

function nuggetHeading(row) {
  const item = row.item ? make("small", {}, visible(row.item) + " ") : null;
  const vital = row.importance === "vital" ? make("span", { class: "vital-mark" }, "vital") : null;
  const name = row.text ? [visible(row.text), make("small", {}, " " + visible(row.id))] : [row.id === "0" && !row.item ? "answer" : visible(row.id)];
  return make("th", { scope: "row" }, vital, item, ...name);
}

// What a judgement looks like: its class, its mark, and the mark in words.
function lookOf(cell, isFault = false) {
  if (cell.status) return ["lost", "?", cell.status];
  const label = cell.label;
  const grade = cell.grade;
  if (/^(no|not)_|^(missing|loss|non_relevant)$/.test(label || "")) return ["none", "–", label];
  if (/^partial|^(acceptable|tie)$/.test(label || "")) return ["part", "◐", label];
  if (label === "incorrect" || (grade !== undefined && grade < 0)) return ["wrong", "✗", label || `grade ${grade}`];
  if (label) return ["full", "✓", label];
  if (isFault) return grade > 0 ? ["wrong", "✗", `grade ${grade}`] : ["full", "✓", `grade ${grade}`];
  return grade > 0 ? ["full", "✓", `grade ${grade}`] : ["none", "–", `grade ${grade}`];
}

function matrixCell(matrix, cells, row, at, graded, evidence) {
  if (!cells.length) return make("td", { class: "none" }, make("span", { "aria-label": "unknown" }, "·"));
  const looks = cells.map((cell) => lookOf(cell, row.fault));
  const plain = graded && matrix.kind === "documents";
  const mark = looks.map(([, sign], i) => (plain || !cells[i].label && !cells[i].status && cells[i].grade !== 1 ? `${sign} ${cells[i].grade}` : sign)).join(" ");
  const words = looks.map(([, , word], i) => visible(word) + chanceOf(cells[i])).join(", ");
  const has = cells.some((cell) => cell.evidence || cell.reason || cell.detail);
  const inside = has ? make("button", { type: "button", "aria-label": `${words}; show evidence` }, mark) : make("span", { "aria-label": words, title: words }, mark);
  if (has) inside.addEventListener("click", () => showEvidence(evidence, cells, row, matrix.columns[at], matrix.judges));
  return make("td", { class: looks[0][0] }, inside);
}

// The chance that the answer is right, where the judge says it.
function chanceOf(cell) {
  return cell.p === undefined ? "" : ` (chance ${cell.p.toFixed(2)})`;
}

function showEvidence(place, cells, row, name, judges) {
  const parts = cells.map((cell) => {
    const [, , word] = lookOf(cell, row.fault);
    const who = judges && judges[cell.judge] ? `${visible(judges[cell.judge])}: ` : "";
    return make("div", {},
      make("p", {}, make("strong", {}, who + visible(word) + chanceOf(cell))),
      cell.evidence ? make("p", {}, make("q", {}, lines(cell.evidence))) : null,
      cell.reason ? make("p", { class: "reason" }, lines(cell.reason)) : null,
      cell.detail ? make("p", { class: "reason" }, lines(cell.detail)) : null);
  });
  place.replaceChildren(make("p", {}, `${visible(row.text || row.id)} · ${visible(name)}`), ...parts);
  place.hidden = false;
}
