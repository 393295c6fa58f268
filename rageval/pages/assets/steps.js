// The steps by which agents answered a query: a list for each, with what it found, and what of that is cited.

const KNOWN = [["input_tokens", (value) => `${amount(value)} tokens in`], ["output_tokens", (value) => `${amount(value)} out`], ["cost", (value) => `cost ${precise(value)}`], ["seconds", (value) => `${precise(value)} s`]];

function amount(value) {
  return value.toLocaleString("en");
}

function precise(value) {
  return String(Number(value.toPrecision(4)));
}

function amountsOf(record) {
  return KNOWN.filter(([name]) => record[name] !== undefined).map(([name, text]) => text(record[name])).join(" · ");
}

function counted(count, one) {
  return `${amount(count)} ${one}${count === 1 ? "" : one === "search" ? "es" : "s"}`;
}

function trajectoryParts(at, matrix) {
  const runs = report.runs.filter((run) => own(matrix.trajectories, run));
  const lacking = report.runs.filter((run) => !runs.includes(run));
  const parts = runs.length > MANY
    ? runs.map((run, i) => closedOf(i < 2, at, { run }, () => trajectoryOf(matrix, run)))
    : [make("div", { class: "row" }, ...runs.map((run) => trajectoryOf(matrix, run, make("h4", {}, visible(run)))))];
  const none = lacking.length ? [make("p", { class: "hint" }, `No trajectory: ${lacking.map(visible).join(", ")}.`)] : [];
  const marks = "✓ relevant, found here first; ◐ relevant, seen before; “cited”: the answer cites it.";
  return [make("h3", {}, "Steps"), ...parts, ...none, make("p", { class: "legend" }, marks)];
}

function trajectoryOf(matrix, run, heading = null) {
  const record = matrix.trajectories[run];
  const relevant = new Set(matrix.relevant);
  const cited = new Set(record.cited || []);
  const before = new Set();
  const steps = record.steps.map((step, i) => stepOf(matrix, step, i, record.steps[i - 1], relevant, cited, before));
  if (record.more) steps.push(make("li", { class: "step" }, make("small", {}, `${counted(record.more, "more step")} not shown`)));
  if (record.answer) steps.push(make("li", { class: "step" }, make("div", {}, make("b", {}, "answer")), make("p", { class: "text" }, lines(record.answer))));
  const count = record.steps.length + (record.more || 0);
  const repeats = record.others ? `the first of ${record.others + 1} trajectories` : "";
  const totals = [repeats, counted(count, "step"), counted(record.searches, "search"), amountsOf(record)].filter(Boolean).join(" · ");
  return make("article", { class: "agent" },
    heading,
    make("p", {}, foundText(matrix, record)),
    make("p", { class: "hint" }, totals),
    make("ol", { class: "steps" }, ...steps));
}

// How much of what is relevant was found and cited, and what was not found.
function foundText(matrix, record) {
  const seen = new Set(record.seen);
  const cited = new Set(record.cited || []);
  const missed = matrix.relevant.filter((doc) => !seen.has(doc)).map((doc) => visible(matrix.columns[doc]));
  const used = record.cited ? `, cited ${record.seen.filter((doc) => cited.has(doc)).length} of these` : "";
  const few = missed.length > 10 ? [...missed.slice(0, 10), `${missed.length - 10} more`] : missed;
  return `Found ${seen.size} of ${counted(matrix.relevant.length, "relevant document")}${used}.${missed.length ? ` Not found: ${few.join(", ")}.` : ""}`;
}

function stepOf(matrix, step, i, previous, relevant, cited, before) {
  const parallel = previous && step.number !== undefined && step.number === previous.number;
  const docs = (step.docs || []).map((doc) => docOf(matrix, doc, relevant, cited, before));
  if (step.more) docs.push(make("li", {}, `${amount(step.more)} more`));
  for (const doc of step.docs || []) before.add(doc);
  const known = amountsOf(step);
  const none = step.kind === "search" && !docs.length ? make("small", {}, "no documents") : null;
  return make("li", { class: `step${step.failed ? " broken" : ""}` },
    make("div", {}, make("small", {}, `${step.number ?? i + 1} `), make("b", {}, step.kind), step.tool ? ` ${visible(step.tool)}` : "",
      parallel ? make("small", {}, " in parallel") : null, step.failed ? make("span", { class: "failed" }, " ✗ failed") : null,
      known ? make("small", {}, ` ${known}`) : null),
    step.query ? make("p", { class: "text" }, lines(step.query)) : null,
    docs.length ? make("ul", { class: "docs" }, ...docs) : none);
}

function docOf(matrix, doc, relevant, cited, before) {
  const sign = !relevant.has(doc) ? "" : before.has(doc) ? "◐ " : "✓ ";
  const kind = !sign ? false : before.has(doc) ? "part" : "full";
  const words = !sign ? false : before.has(doc) ? "relevant, seen before" : "relevant";
  return make("li", { class: kind, title: words }, sign + visible(matrix.columns[doc]), cited.has(doc) ? make("small", {}, " cited") : null);
}
