// The view of one query's answers: each beside what it cites, lit where the judge quoted it, and what the judge
// was asked.

const LONG = 420; // characters of a passage that stands there without a click
const MANY = 4; // answers that all stand open

function traceOf(query) {
  return own((report.traces || {}).queries, query);
}

// Everything of a trace but the matrix: question, gold, and an article for each answer.
function traceParts(at, trace, matrix) {
  const query = report.queries.ids[at];
  const asked = trace.question || own(report.queries.texts, query);
  const gold = (trace.gold || []).map((text) => make("li", {}, lines(text)));
  const rank = new Map(report.runs.map((run, at) => [run, at]));
  const answers = [...(trace.answers || [])].sort((one, other) => (rank.get(one.run) ?? 1e9) - (rank.get(other.run) ?? 1e9));
  return [
    asked ? make("p", { class: "question" }, lines(asked)) : null,
    gold.length ? make("div", { class: "gold" }, make("h3", {}, gold.length > 1 ? "Gold answers" : "Gold answer"), make("ul", {}, ...gold)) : null,
    ...answers.map((answer, i) => (answers.length > MANY ? closedOf(i < 2, at, answer, () => answerOf(at, trace, matrix, answer)) : answerOf(at, trace, matrix, answer))),
    ...callsWithoutAnswer(trace, answers),
  ].filter(Boolean);
}

// Of many answers the best two stand open, and the others are made when they are asked for.
function closedOf(isOpen, at, answer, made) {
  const details = make("details", { class: "closed" }, make("summary", {}, visible(answer.run), " ", valuesText(at, answer.run)));
  details.addEventListener("toggle", () => details.children.length > 1 || details.append(made()));
  if (isOpen) {
    details.append(made());
    details.open = true;
  }
  return details;
}

function answerOf(at, trace, matrix, answer) {
  const verdicts = verdictsOf(matrix, answer.run);
  const text = answer.sentences.map(([sentence]) => sentence).join(" ");
  const passages = passagesOf(trace, answer);
  for (const verdict of verdicts) place(verdict, text, passages);
  const cited = passages.some((passage) => passage.by.length);
  const repeat = answer.repeat ? make("small", {}, ` repeat ${visible(answer.repeat)}`) : null;
  return make("article", { class: "trace" },
    make("h3", {}, visible(answer.run), repeat, " ", valuesText(at, answer.run)),
    make("div", { class: "row" },
      make("div", {}, make("h4", {}, "Answer"), answerText(answer, verdicts, passages)),
      verdicts.length ? make("div", {}, make("h4", {}, "Judged"), verdictList(verdicts, matrix, passages)) : null,
      passages.length ? make("div", {}, make("h4", {}, cited ? "Passages and citations" : "Passages"), passageList(passages, verdicts)) : null),
    ...callList(trace, answer.run));
}

function valuesText(at, run) {
  const known = report.measures.map((measure) => [measure, column(measure, run)]).filter(([, values]) => values);
  return make("small", {}, known.map(([measure, values]) => `${visible(measure)} ${number(values[at])}`).join(" · "));
}

// What judges said of this answer, each with a letter, by which its quote is known in the text.
function verdictsOf(matrix, run) {
  if (!matrix) return [];
  const column = matrix.columns.indexOf(run);
  const found = matrix.cells.filter((cell) => cell.column === column);
  return found.map((cell, at) => ({ cell, row: matrix.rows[cell.row], tag: letters(at), spot: "", spans: [] }));
}

function letters(at) {
  const last = String.fromCharCode(97 + (at % 26));
  return at < 26 ? last : letters(Math.floor(at / 26) - 1) + last;
}

// The passages of an answer: those it cites first, by the number under which it cites them.
function passagesOf(trace, answer) {
  const by = new Map();
  answer.sentences.forEach(([, cites], at) => cites.forEach((cite) => {
    if (cite !== null) by.set(cite, [...(by.get(cite) || []), at + 1]);
  }));
  const order = [...by.keys(), ...answer.given.filter((at) => !by.has(at))];
  return order.map((at, i) => ({ at, name: i + 1, id: trace.passages[at][0], text: trace.passages[at][1], by: [...new Set(by.get(at) || [])], spans: [] }));
}

// --- quotes

// Text as quotes are compared: without case, marks and blanks that copying changes; and where each sign stood.
function folded(text) {
  let fold = "";
  const from = [];
  let at = 0;
  for (const sign of text) {
    const plain = sign.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}\p{M}_]+/gu, " ");
    for (const unit of plain) {
      if (unit === " " && fold.endsWith(" ")) continue;
      fold += unit;
      for (let i = 0; i < unit.length; i++) from.push([at, at + sign.length]);
    }
    at += sign.length;
  }
  return { fold, from };
}

// Where the quote stands in the text, as [start, end]; nothing unless every piece of it does (judges leave words
// out with dots).
function spansOf(quote, text) {
  const pieces = quote.split(/\.{3,}|…|\[…\]|\[\.\.\.\]/).map((piece) => piece.trim()).filter(Boolean);
  if (!pieces.length || pieces.length > 20 || !text) return [];
  let shown = null;
  const found = [];
  for (const piece of pieces) {
    const exact = text.indexOf(piece);
    if (exact >= 0) {
      found.push([exact, exact + piece.length]);
      continue;
    }
    shown = shown || folded(text);
    const wanted = folded(piece).fold.trim();
    const start = wanted ? shown.fold.indexOf(wanted) : -1;
    if (start < 0) return [];
    found.push([shown.from[start][0], shown.from[start + wanted.length - 1][1]]);
  }
  return found;
}

// Finds the quote of a verdict: in the passage it is about, else in the answer, else in any passage.
function place(verdict, text, passages) {
  const quote = verdict.cell.evidence;
  if (!quote) return;
  const about = passages.filter((passage) => passage.id === verdict.row.item);
  for (const where of [...about, null, ...passages]) {
    verdict.spans = spansOf(quote, where ? where.text : text);
    if (!verdict.spans.length) continue;
    verdict.spot = where ? `quoted from passage ${where.name}` : "quoted in the answer";
    verdict.where = where;
    return;
  }
  verdict.spot = "its quote was not found word for word" + (passages.some((passage) => passage.text === null) ? "; some passage texts are missing" : "");
}

// The text in pieces, each lit by the verdicts that quote it; `breaks` are nodes by the place they stand at.
function lit(text, verdicts, breaks = new Map()) {
  const ends = new Set([0, text.length, ...breaks.keys()]);
  for (const { spans } of verdicts) for (const span of spans) span.forEach((end) => ends.add(end));
  const cuts = [...ends].sort((one, other) => one - other);
  const parts = [];
  cuts.forEach((cut, i) => {
    parts.push(...(breaks.get(cut) || []));
    const end = cuts[i + 1];
    if (end === undefined) return;
    const over = verdicts.filter(({ spans }) => spans.some(([from, to]) => from <= cut && to >= end));
    const piece = lines(text.slice(cut, end));
    if (!over.length) return parts.push(piece);
    const [kind] = lookOf(over[0].cell, over[0].row.fault);
    const last = over.filter(({ spans }) => Math.max(...spans.map(([, to]) => to)) === end);
    const tags = last.map(({ tag }) => tag).join(",");
    const said = over.map(({ row }) => visible(row.text || row.id)).join("; ");
    parts.push(make("mark", { class: kind, title: said }, piece, tags ? make("sup", {}, tags) : ""));
  });
  return parts;
}

function answerText(answer, verdicts, passages) {
  const names = new Map(passages.map((passage) => [passage.at, passage.name]));
  const breaks = new Map();
  let end = -1;
  let text = "";
  for (const [sentence, cites] of answer.sentences) {
    text += (text ? " " : "") + sentence;
    end = text.length;
    const marks = cites.map((cite) => (cite === null ? "[?]" : `[${names.get(cite)}]`));
    if (marks.length) breaks.set(end, [...(breaks.get(end) || []), make("span", { class: "cites" }, ` ${marks.join("")}`)]);
  }
  if (!text.trim()) return make("p", { class: "hint" }, "The answer is empty.");
  return make("p", { class: "text" }, ...lit(text, verdicts.filter((verdict) => !verdict.where), breaks));
}

// --- beside the answer

// What was judged: a nugget, a sentence beside a passage that it cites, or whatever it is called.
function aboutOf(row, passages) {
  const passage = passages.find((one) => one.id === row.item);
  if (passage && /^\d{1,6}$/.test(row.id)) return `sentence ${Number(row.id) + 1} by passage ${passage.name}`;
  const name = row.text || (row.id === "0" && !row.item ? "" : row.id);
  return [row.item, name].filter(Boolean).map(visible).join(" · ");
}

function verdictList(verdicts, matrix, passages) {
  return make("ul", { class: "verdicts" }, ...verdicts.map(({ cell, row, tag, spot }) => {
    const [kind, sign, word] = lookOf(cell, row.fault);
    const about = aboutOf(row, passages);
    const who = matrix.judges.length > 1 && matrix.judges[cell.judge] ? `${visible(matrix.judges[cell.judge])}: ` : "";
    const lost = spot.startsWith("its quote");
    return make("li", {},
      make("span", { class: `sign ${kind}` }, `${tag} ${sign}`), " ",
      row.importance === "vital" ? make("span", { class: "vital-mark" }, "vital") : "",
      about ? make("span", {}, about + " ") : "",
      make("b", {}, who + visible(word)),
      spot ? make("small", { class: lost ? "failed" : "" }, ` ${spot}`) : "",
      lost ? make("q", {}, lines(cell.evidence)) : "",
      cell.reason ? make("span", { class: "reason" }, lines(cell.reason)) : "",
      cell.detail ? make("span", { class: "reason" }, lines(cell.detail)) : "");
  }));
}

function passageList(passages, verdicts) {
  return make("ol", { class: "passages" }, ...passages.map((passage) => {
    const cited = passage.by.length ? `cited by sentence ${passage.by.join(", ")}` : "not cited";
    const head = [make("b", {}, `[${passage.name}] ${visible(passage.id)}`), make("small", {}, ` ${cited}`)];
    if (passage.text === null) return make("li", {}, ...head, make("span", { class: "reason" }, "its text is missing (--passages FILE)"));
    const body = make("p", { class: "text" }, ...lit(passage.text, verdicts.filter((verdict) => verdict.where === passage)));
    const isLit = verdicts.some((verdict) => verdict.where === passage);
    if (passage.text.length <= LONG || isLit) return make("li", {}, ...head, body);
    return make("li", {}, ...head, make("details", {}, make("summary", {}, `${visible(shorter(passage.text, 120))} (${passage.text.length.toLocaleString("en")} characters)`), body));
  }));
}

// --- what the judge was asked

function callList(trace, run) {
  return (trace.calls || []).filter((call) => call.run === run).map(callOf);
}

// Of runs whose answers are not in the page.
function callsWithoutAnswer(trace, answers) {
  const shown = new Set(answers.map((answer) => answer.run));
  return (trace.calls || []).filter((call) => !shown.has(call.run)).map((call) => callOf(call, true));
}

function callOf(call, isNamed = false) {
  const isWhole = (call.item || "answer") === "answer" && call.aspect === "0";
  const about = [isNamed === true ? call.run : "", isWhole || call.item === "answer" ? "" : call.item, isWhole ? "" : call.aspect].filter(Boolean);
  const title = `${call.user === undefined ? "Raw reply" : "Prompt and raw reply"} of ${visible(call.judge || "the judge")}${about.length ? ", " + about.map(visible).join(" · ") : ""}`;
  const details = make("details", { class: "call" }, make("summary", {}, title));
  // Prompts are long, and few are read: they are put into the page when asked for.
  details.addEventListener("toggle", () => details.children.length > 1 || details.append(...callTexts(call)));
  return details;
}

function callTexts(call) {
  const turns = (call.turns || []).flatMap(([asked, said]) => [["Example", asked], ["Its reply", said]]);
  const prompt = call.user === undefined ? [] : [["System prompt", report.traces.systems[call.system]], ...turns, ["Prompt", call.user]];
  const texts = [...prompt, ["Raw reply", call.reply ?? "Unknown."]].filter(([, text]) => text);
  const key = call.key ? make("p", { class: "hint" }, `Stored as ${visible(call.key)}${call.made ? `, ${visible(call.made)}` : ""}`) : null;
  const why = call.user === undefined ? make("p", { class: "hint" }, `The prompt is missing: ${visible((report.traces.replies || {}).why || "unknown reason")}.`) : null;
  return [...texts.flatMap(([title, text]) => [make("h4", {}, title), make("pre", { tabindex: "0" }, lines(text))]), key, why].filter(Boolean);
}

// What this page has no texts of, and how to have them.
function noTrace() {
  const traces = report.traces;
  if (!traces) return "";
  const kept = Object.keys(traces.queries).length;
  return `This page has answers, passages, prompts and replies of the ${kept.toLocaleString("en")} ${traces.first || "worst"} of ${traces.of.toLocaleString("en")} queries; --texts all includes all.`;
}
