// A person labels what a plan asks, one thing after the other. Everything stays in this browser until it is
// exported (or goes to the program that serves the page). Nothing shown is ever taken for markup: see texts.js.

const data = JSON.parse(byId("data").textContent);
// One place to keep labels for each plan, annotator and order of things: labels are kept by position.
const KEY = ["rageval", data.plan, data.annotator, data.order].join("/");
const CANNOT = null; // what is kept where a person cannot tell
const TITLES = {
  question: "Question",
  time: "Asked at",
  gold: "Right answers",
  gold_passages: "Passages with the answer",
  passages: "Retrieved passages",
  passage: "Passage",
  sentence: "Sentence",
  answer: "Answer",
  answer_a: "Answer A",
  answer_b: "Answer B",
};
const MAIN = ["sentence", "answer", "answer_a", "answer_b", "passage"]; // what is judged, or judged by
const PAIR = { a: "A is better", b: "B is better", tie: "equally good" };

let state = { at: 0, said: {} }; // said[position] = { value, seconds, note }; no value: not labeled yet
const waiting = new Map(); // positions that the program that serves this page has not saved yet: number of the change
let elsewhere = []; // positions that wait in another tab, which sends them
const undone = []; // what was so before each label, the last one last
let since = performance.now(); // when the present thing was shown, or the page came back into view
let spent = 0; // milliseconds on it before that
let shownContext = null;

// --- what may be said ---------------------------------------------------------------------------------------

// The values that can be chosen here, with their names; the best first.
function choicesAt(position) {
  if (data.kind === "grades") {
    const steps = own(data.ranges, data.asks[position].text) ?? [];
    return steps.map((value) => [value, String(value)]);
  }
  const names = data.labels.map(([label]) => label);
  if (data.kind === "pair") return Object.entries(PAIR).filter(([label]) => names.includes(label));
  return names.map((label) => [label, own(data.names, label) ?? label.replaceAll("_", " ")]);
}

function isLabeled(position) {
  return state.said[position] !== undefined && state.said[position].value !== undefined;
}

function labeled() {
  return Object.keys(state.said).filter(isLabeled).length;
}

function nameOf(value, position) {
  if (value === CANNOT) return "can't tell";
  const found = choicesAt(position).find(([each]) => each === value);
  return found ? found[1] : String(value);
}

// --- keeping ------------------------------------------------------------------------------------------------

let isKept = true;

function keep() {
  try {
    // What waits is kept, too: a page that is opened again sends it.
    localStorage.setItem(KEY, JSON.stringify({ ...state, waiting: [...new Set([...waiting.keys(), ...elsewhere])] }));
    isKept = true;
  } catch (error) {
    isKept = false;
    if (!data.served) {
      trouble(`Nothing can be saved in this browser (${error.name}): export your labels before you close the page.`);
    }
  }
}

function restore() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "null");
    const said = Object.entries(kept?.said ?? {}).filter(([at, one]) => at < data.asks.length && one?.seconds >= 0);
    const mine = [...waiting.keys()].map((at) => [at, state.said[at]]); // nobody else knows it yet
    if (kept) state = { at: Number(kept.at), said: Object.fromEntries(said) };
    for (const [at, one] of mine) {
      if (one === undefined) delete state.said[at];
      else state.said[at] = one;
    }
    elsewhere = [kept?.waiting ?? []].flat().filter((at) => data.asks[at] !== undefined && !waiting.has(at));
  } catch (error) {
    isKept = false;
    if (!data.served) trouble(`Nothing can be saved in this browser (${error.name}): export before you close the page.`);
  }
  state.at = Math.min(Math.max(Math.trunc(state.at) || 0, 0), data.asks.length - 1);
}

function trouble(text) {
  const place = byId("trouble");
  place.hidden = text === "";
  // Not set again as it is: a screen reader would read it again at each try.
  if (place.textContent !== visible(text)) place.textContent = visible(text);
}

// --- as judgements ------------------------------------------------------------------------------------------

// Mulberry32, as rageval/pages/annotation.py has it: opens what is sealed.
function opened(ask) {
  const bytes = Uint8Array.from(atob(ask.sealed), (character) => character.charCodeAt(0));
  let state = ask.salt;
  let word = 0;
  const found = bytes.map((byte, at) => {
    if (at % 4 === 0) word = mixed((state = (state + 0x6d2b79f5) | 0));
    return byte ^ ((word >>> (8 * (at % 4))) & 255);
  });
  return JSON.parse(new TextDecoder().decode(found));
}

function mixed(state) {
  let word = Math.imul(state ^ (state >>> 15), state | 1);
  word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
  return (word ^ (word >>> 14)) >>> 0;
}

// The judgements that a label makes: one, or for a pair of answers one for each.
function judgementsOf(position) {
  const said = state.said[position];
  const { shown, ...place } = opened(data.asks[position]);
  const common = {
    ...place,
    annotator: data.annotator,
    judge: `person:${data.annotator}`,
    order: position + 1,
    plan: data.plan,
    rubric: data.rubric,
    seconds: Math.round(said.seconds / 100) / 10,
    status: said.value === CANNOT ? "refused" : "ok",
    version: data.version,
    ...(said.note ? { note: said.note } : {}),
    ...(said.value === CANNOT ? { detail: "can't tell" } : {}),
  };
  if (!shown) return [{ ...common, ...verdict(said.value) }];
  return shown.map((run, side) => ({ ...common, run_id: run, shown, ...outcome(said.value, side) }));
}

function verdict(value) {
  if (value === CANNOT) return {};
  return typeof value === "number" ? { grade: value } : { label: value, grade: data.labels.find(([label]) => label === value)[1] };
}

function outcome(value, side) {
  if (value === CANNOT) return {};
  if (value === "tie") return { label: "tie", grade: 0.5 };
  return (value === "a") === (side === 0) ? { label: "win", grade: 1 } : { label: "loss", grade: 0 };
}

function asLine(judgement) {
  return JSON.stringify(Object.fromEntries(Object.entries(judgement).sort(([one], [other]) => (one < other ? -1 : 1))));
}

function exported() {
  return [...data.asks.keys()].filter(isLabeled).flatMap(judgementsOf).map((one) => asLine(one) + "\n").join("");
}

function saveFile() {
  const name = data.annotator.replace(/[^\w.-]+/g, "_");
  const address = URL.createObjectURL(new Blob([exported()], { type: "application/x-ndjson" }));
  make("a", { href: address, download: `labels-${data.plan.slice(0, 8)}-${name}.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  tell(`${labeled()} labels exported`);
}

// --- from judgements ----------------------------------------------------------------------------------------

function placeOf(judgement) {
  return JSON.stringify([judgement.query_id, judgement.run_id, judgement.item_id, judgement.aspect].map(String));
}

// The labels in a text, by position; a line that is not as it must be goes to `refuse`.
function takeIn(text, refuse) {
  const positions = new Map();
  for (const position of data.asks.keys()) {
    const { shown, ...place } = opened(data.asks[position]);
    positions.set(placeOf({ run_id: shown ? shown[0] : "", ...place }), position); // the first of a pair says it
    if (shown) positions.set(placeOf({ run_id: shown[1], ...place }), -1);
  }
  const found = new Map();
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    try {
      const judgement = parsed(line, at + 1);
      const position = positions.get(placeOf(judgement));
      if (position === undefined) throw new Error(`line ${at + 1}: this page does not ask for that`);
      if (position >= 0) found.set(position, saidIn(judgement, position, at + 1));
    } catch (error) {
      refuse(error);
    }
  }
  return found;
}

function parsed(line, at) {
  let judgement;
  try {
    judgement = JSON.parse(line);
  } catch {
    throw new Error(`line ${at}: expected a label as this page exports it, found no JSON`);
  }
  if (judgement === null || !judgement.plan || ![data.plan, data.extends].includes(judgement.plan)) throw new Error(`line ${at}: is a label of another plan`);
  if (judgement.annotator !== data.annotator) {
    throw new Error(`line ${at}: is a label of ${judgement.annotator}, but this page is for ${data.annotator}`);
  }
  return judgement;
}

function saidIn(judgement, position, at) {
  const sides = { win: "a", loss: "b", tie: "tie" };
  const grades = choicesAt(position).map(([each]) => each);
  // What tools wrote may have a grade alone, or one between the steps of this page.
  let value = judgement.label ?? data.labels.find(([, grade]) => grade === judgement.grade)?.[0] ?? judgement.grade;
  if (data.kind === "grades") value = judgement.grade;
  if (data.kind === "pair") value = own(sides, judgement.label ?? { 1: "win", 0.5: "tie", 0: "loss" }[judgement.grade]);
  if (judgement.status === "refused") value = CANNOT;
  const isBetween = data.kind === "grades" && value >= Math.min(...grades) && value <= Math.max(...grades);
  if (value !== CANNOT && !isBetween && !grades.includes(value)) {
    throw new Error(`line ${at}: expected one of ${choicesAt(position).map(([each]) => each).join(", ")}`);
  }
  const note = typeof judgement.note === "string" ? judgement.note : "";
  return { value, note, seconds: 1000 * (Number(judgement.seconds) || 0) };
}

async function importFile() {
  const [file] = byId("file").files;
  byId("file").value = "";
  if (!file) return;
  try {
    const found = takeIn(await file.text(), (error) => {
      throw error; // all or none
    });
    const [added, kept] = merge(found);
    trouble("");
    keep();
    show(state.at);
    tell(`${added} labels imported` + (kept ? `; ${kept} already have another label here, which is kept` : ""));
  } catch (error) {
    trouble(`Nothing was imported. ${error.message}`);
  }
}

// Takes over what is not labeled here; how many that were, and how many are labeled otherwise here.
function merge(found) {
  let added = 0;
  let otherwise = 0;
  for (const [position, said] of found) {
    if (!isLabeled(position)) {
      state.said[position] = said;
      send(position);
      added += 1;
    } else if (state.said[position].value !== said.value) otherwise += 1;
  }
  return [added, otherwise];
}

// --- served by a program on this computer, which saves each label -------------------------------------------

const PAUSES = [500, 1000, 2000, 4000, 8000]; // milliseconds between tries
const PATIENCE = 15000; // milliseconds for an answer
const UNFIT = [400, 413]; // the program will never save this, as it is
const UNKNOWN = 404; // another program, or another secret

const rejected = new Map(); // positions whose labels are not saved as they are, and why; they wait to be corrected
let changes = 0;
let isConnected = false; // whether the labels in the file are known here
let isBusy = false;
let failures = 0; // since anything was answered well
let timer = 0;

function mark(position) {
  waiting.set(position, (changes += 1));
  rejected.delete(position);
}

function send(position) {
  if (!data.served) return;
  mark(position);
  keep(); // before it is sent
  void flush();
}

// Sends what waits, and tries again later if that failed.
async function flush() {
  if (!data.served || isBusy) return; // who is busy looks again
  isBusy = true;
  clearTimeout(timer);
  showProgress();
  let problem = "";
  try {
    if (!isConnected) await connect();
    problem = await sendWaiting();
  } catch (error) {
    isConnected = false; // what is in the file may be another thing when it answers again
    problem = error instanceof Refusal ? error.message : gone();
  }
  isBusy = false;
  failures = problem === "" ? 0 : failures + 1;
  trouble(problem);
  if (problem !== "") timer = setTimeout(() => void flush(), PAUSES[Math.min(failures, PAUSES.length) - 1]);
  showProgress();
}

class Refusal extends Error {}

function lost() {
  const open = waiting.size - rejected.size;
  if (open === 0) return "";
  const [number, they] = open === 1 ? ["1 label is", "It is"] : [`${open} labels are`, "They are"];
  const kept = isKept ? "saved in this browser, and you can continue labeling." : "only in this page: do not close it, or export the labels.";
  return `${number} not saved yet. ${they} ${kept}`;
}

function gone() {
  return `The program that saves the labels (rageval label page) does not answer. ${lost()} Start the program again with the same command; this page then reconnects.`;
}

function refusal(status, reason) {
  const why = status === UNKNOWN
    ? "The program at this address does not know this page. Open the address that rageval label page printed last."
    : `The labels cannot be saved: ${reason}`;
  return `${why.replace(/[.\s]*$/, ".")} ${lost()} This page keeps trying.`;
}

async function asked(options) {
  const reply = await fetch("labels", { ...options, signal: AbortSignal.timeout(PATIENCE) });
  return { ok: reply.ok, status: reply.status, text: await reply.text() };
}

// Sends one position after the other; one that cannot be saved does not hold up the others.
async function sendWaiting() {
  const tried = new Map(); // position: its change
  let problem = "";
  for (;;) {
    const next = [...waiting].find(([at, change]) => !rejected.has(at) && tried.get(at) !== change);
    if (next === undefined) return problem && refusal(...problem);
    const [position, change] = next;
    const reply = await asked({ method: "POST", body: bodyOf(position), headers: { "Content-Type": "application/json" } });
    if (waiting.get(position) !== change) continue; // it was changed meanwhile
    tried.set(position, change);
    if (reply.ok && reply.text === "saved") {
      waiting.delete(position);
      keep();
    } else if (UNFIT.includes(reply.status)) rejected.set(position, reply.text);
    else if (reply.ok || reply.status === UNKNOWN) throw new Refusal(refusal(UNKNOWN, ""));
    else problem = [reply.status, reply.text];
    showProgress();
  }
}

function bodyOf(position) {
  if (isLabeled(position)) return JSON.stringify({ labels: judgementsOf(position) });
  const { shown, ...place } = opened(data.asks[position]);
  return JSON.stringify({ cleared: shown ? shown.map((run) => ({ ...place, run_id: run })) : [place] });
}

// Takes over the labels in the file, and sends those that it lacks. What waits here is newer than the file.
async function connect() {
  const reply = await asked({});
  if (!reply.ok) throw new Refusal(refusal(reply.status, reply.text));
  const odd = [];
  const found = takeIn(reply.text, (error) => odd.push(error.message));
  const isFirst = labeled() === 0;
  let isNew = false;
  for (const position of Object.keys(state.said).map(Number)) {
    if (isLabeled(position) && !found.has(position) && !waiting.has(position)) mark(position);
  }
  for (const [position, said] of found) {
    const here = state.said[position];
    if (waiting.has(position) || (here && here.value === said.value && (here.note ?? "") === said.note)) continue;
    state.said[position] = said;
    isNew = true;
  }
  if (isFirst && isNew) byId("task").open = false; // has been read by now
  isConnected = true;
  remark(odd.length ? `${odd.length} labels in the file are not shown here, but stay in it: ${odd[0]}` : "");
  keep();
  if (isNew) show(state.at);
}

function remark(text) {
  byId("remark").hidden = text === "";
  byId("remark").textContent = visible(text);
}

// What the program did not accept, each with its reason and the way there.
function showRejected() {
  const place = byId("rejected");
  place.hidden = rejected.size === 0;
  const items = [...rejected].map(([position, why]) => {
    const button = make("button", { type: "button" }, `Go to ${position + 1} of ${data.asks.length}`);
    button.addEventListener("click", () => goTo(position));
    return make("li", {}, button, ` ${visible(why)}`);
  });
  const number = rejected.size === 1 ? "1 label was not accepted and is" : `${rejected.size} labels were not accepted and are`;
  const what = make("p", {}, `${number} not saved. Label again, or export the labels to keep them.`);
  const key = JSON.stringify([...rejected]);
  if (place.dataset.shown === key) return; // said once: a screen reader would read it again
  place.dataset.shown = key;
  place.replaceChildren(what, make("ul", {}, ...items));
}

function whereSaved() {
  if (!data.served) return isKept ? "saved in this browser" : "not saved";
  const open = waiting.size - rejected.size;
  if (isBusy && failures === 0) return isConnected ? (open ? "saving…" : "saved on this computer") : "connecting…";
  if (open) return `${open === 1 ? "1 label" : `${open} labels`} not saved yet`;
  if (!isConnected) return "not connected";
  return rejected.size ? `${rejected.size} not accepted, the others saved` : "saved on this computer";
}

// --- what is shown ------------------------------------------------------------------------------------------

// A text of others, its lines and tabs kept, everything hidden in it written out.
function shownText(text) {
  return lines(String(text).replaceAll("\r\n", "\n").replaceAll("\t", "    "));
}

function block(name, value) {
  const title = TITLES[name] ?? visible(name).replaceAll("_", " ");
  const id = `text-${name}`;
  const many = Array.isArray(value) && value.length > 1;
  const texts = Array.isArray(value) ? value : [value];
  const body = many
    ? make("ol", { dir: "auto", tabindex: 0, "aria-labelledby": id }, ...texts.map((one) => make("li", { dir: "auto" }, shownText(one))))
    : make("div", { dir: "auto", tabindex: 0, role: "group", "aria-labelledby": id }, shownText(texts[0] ?? ""));
  const kind = ["text", MAIN.includes(name) ? "main" : null, name === "question" ? "question" : null];
  return make("div", { class: kind.filter(Boolean).join(" ") }, make("h3", { id }, title), body);
}

function showContext(number) {
  if (number === shownContext) return;
  shownContext = number;
  const context = data.contexts[number];
  const known = Object.keys(TITLES).filter((name) => Object.hasOwn(context, name));
  const others = Object.keys(context).filter((name) => !Object.hasOwn(TITLES, name));
  const names = [...others, ...known];
  const side = names.filter((name) => data.kind === "pair" && name.startsWith("answer_"));
  byId("context").replaceChildren(
    ...names.filter((name) => !side.includes(name)).map((name) => block(name, context[name])),
    make("div", { class: "pair" }, ...side.map((name) => block(name, context[name]))),
  );
  window.scrollTo(0, 0);
  unread = [...document.querySelectorAll(".text.main")];
}

// Nobody labels what was not on screen: these answers have an end that was not seen yet.
let unread = [];

function lowest() {
  const panel = document.querySelector(".panel");
  return getComputedStyle(panel).position === "sticky" ? panel.getBoundingClientRect().top : window.innerHeight;
}

function showUnread() {
  const low = lowest();
  unread = unread.filter((text) => text.lastElementChild.getBoundingClientRect().bottom > low + 1);
  byId("unread").hidden = unread.length === 0;
  byId("choices").classList.toggle("waits", unread.length > 0);
}

// A key that would label goes on reading instead.
function readOn() {
  const low = lowest();
  const bottom = unread[0].lastElementChild.getBoundingClientRect().bottom;
  window.scrollBy(0, Math.min(bottom - low + 8, Math.max(low - 48, 48)));
  tell("Read the answer to its end, then label it.");
  showUnread();
}

function showAsked(ask) {
  const what = {
    grades: `Grade: ${visible(ask.text).replaceAll("_", " ")}`,
    pair: "Which answer is better?",
    label: ask.text ? shownText(ask.text) : "Your label?",
  }[data.kind];
  byId("asked").replaceChildren(ask.text && data.kind === "label" ? make("small", {}, "To be judged:") : "", what);
}

function showChoices(position) {
  const said = isLabeled(position) ? state.said[position].value : undefined;
  const button = (value, name, key, kind) => {
    const pressed = { type: "button", class: kind, "aria-pressed": String(said === value), "aria-keyshortcuts": key };
    const found = make("button", pressed, make("kbd", { "aria-hidden": "true" }, key), " ", visible(name));
    found.addEventListener("click", () => choose(value));
    return found;
  };
  byId("choices").replaceChildren(
    ...choicesAt(position).map(([value, name], at) => button(value, name, String(at + 1), null)),
    button(CANNOT, "can't tell", "0", "cannot"),
  );
}

function showProgress() {
  const done = labeled();
  byId("bar").max = data.asks.length;
  byId("bar").value = done;
  byId("count").textContent = `${done} of ${data.asks.length} labeled`;
  byId("saved").textContent = whereSaved();
  showRejected();
  byId("undo").disabled = undone.length === 0;
  byId("open").disabled = done === data.asks.length;
}

function show(position) {
  state.at = position;
  const ask = data.asks[position];
  byId("title").textContent = `${position + 1} of ${data.asks.length} · question ${ask.query} of ${data.queries}`;
  showContext(ask.context);
  showAsked(ask);
  showChoices(position);
  byId("note").value = state.said[position]?.note ?? "";
  byId("back").disabled = position === 0;
  byId("next").disabled = position === data.asks.length - 1;
  showProgress();
  showUnread();
  spent = 0;
  since = performance.now();
}

// What a screen reader says; a sighted person sees it happen.
function tell(text) {
  byId("said").textContent = visible(text);
}

// --- what is done -------------------------------------------------------------------------------------------

function goTo(position, message = "") {
  show(position);
  keep();
  tell(`${message}${message ? ". " : ""}${position + 1} of ${data.asks.length}`);
  byId("title").focus({ preventScroll: true });
}

function nextOpen(from) {
  const number = data.asks.length;
  for (let step = 1; step <= number; step += 1) {
    const position = (from + step) % number;
    if (!isLabeled(position)) return position;
  }
  return -1;
}

function choose(value) {
  showUnread();
  if (unread.length) return readOn();
  const position = state.at;
  const before = state.said[position];
  if (labeled() === 0) byId("task").open = false; // has been read by now
  undone.push({ position, before });
  const seconds = (before?.seconds ?? 0) + spent + (document.hidden ? 0 : performance.now() - since);
  state.said[position] = { value, seconds, note: before?.note ?? "" };
  send(position);
  const next = nextOpen(position);
  if (next >= 0) return goTo(next, nameOf(value, position));
  goTo(position, nameOf(value, position));
  tell(data.served ? "Everything is labeled." : "Everything is labeled. Export your labels.");
}

function undo() {
  const last = undone.pop();
  if (last === undefined) return;
  const note = state.said[last.position]?.note;
  if (last.before === undefined) delete state.said[last.position];
  else state.said[last.position] = { ...last.before, note };
  send(last.position);
  goTo(last.position, "Undone");
}

function move(step) {
  const position = state.at + step;
  if (position >= 0 && position < data.asks.length) goTo(position);
}

function writeNote() {
  const note = byId("note").value;
  state.said[state.at] = { seconds: 0, ...state.said[state.at], note };
  if (note === "" && !isLabeled(state.at)) delete state.said[state.at];
  if (data.served && isLabeled(state.at)) mark(state.at); // sent when it is written
  keep();
  showProgress();
}

const KEYS = {
  ArrowLeft: () => move(-1),
  ArrowRight: () => move(1),
  o: () => nextOpen(state.at) >= 0 && goTo(nextOpen(state.at)),
  u: undo,
  n: () => byId("note").focus(),
  0: () => choose(CANNOT),
};

function press(event) {
  if (event.target === byId("note")) {
    if (event.key === "Escape") byId("title").focus();
    return;
  }
  if (event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey) {
    event.preventDefault();
    return void undo();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !byId("keys").checked) return;
  const chosen = /^[1-9]$/.test(event.key) ? choicesAt(state.at)[Number(event.key) - 1] : undefined;
  const action = chosen ? () => choose(chosen[0]) : own(KEYS, event.key);
  if (!action || event.repeat) return;
  event.preventDefault();
  action();
}

byId("who").textContent = `${data.queries} questions, for annotator ${visible(data.annotator)}`;
byId("instructions").textContent = shownText(data.instructions);
byId("export").addEventListener("click", saveFile);
byId("import").addEventListener("click", () => byId("file").click());
byId("file").addEventListener("change", importFile);
byId("back").addEventListener("click", () => move(-1));
byId("next").addEventListener("click", () => move(1));
byId("open").addEventListener("click", KEYS.o);
byId("undo").addEventListener("click", undo);
byId("note").addEventListener("input", writeNote);
byId("note").addEventListener("change", () => isLabeled(state.at) && send(state.at));
byId("keys").addEventListener("change", () => document.body.classList.toggle("no-keys", !byId("keys").checked));
document.addEventListener("keydown", press);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) spent += performance.now() - since;
  since = performance.now();
});
// Another tab with the same page has labeled: what it says counts here, too.
window.addEventListener("storage", (event) => {
  if (event.key !== KEY || event.newValue === null) return;
  const at = state.at;
  restore();
  show(Math.min(at, data.asks.length - 1));
});
for (const moved of ["scroll", "resize"]) window.addEventListener(moved, showUnread, { passive: true });
byId("task").addEventListener("toggle", showUnread);
// Timers sleep in a tab that nobody looks at.
document.addEventListener("visibilitychange", () => !document.hidden && failures && void flush());
window.addEventListener("beforeunload", (event) => {
  if ((!data.served && !isKept && labeled()) || waiting.size) event.preventDefault();
});

restore();
if (data.served) elsewhere.splice(0).forEach(mark); // what waited when the page was closed
// Beside the answer there is place for them; above it they would hide it.
byId("task").open = labeled() === 0 && window.matchMedia("(min-width: 64rem)").matches;
if (data.asks.length) show(state.at);
keep();
showProgress();
void flush();
