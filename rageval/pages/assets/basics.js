// The report's structure, and how its texts and numbers are shown. Text enters the page as text only.

const report = JSON.parse(document.getElementById("report").textContent);
const places = Number(document.documentElement.dataset.places);
const HIDDEN = /[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/gu;

// The text with everything that hides or reorders text written out, as the command line prints it.
function visible(text) {
  return String(text).replace(HIDDEN, (character) => {
    const code = character.charCodeAt(0);
    return code < 256 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u" + code.toString(16).padStart(4, "0");
  });
}

// Several lines of such text; how they are broken is left to the style.
function lines(text) {
  return String(text).split("\n").map(visible).join("\n");
}

function number(value, digits = places) {
  return value === null || Number.isNaN(value) ? "–" : value.toFixed(digits);
}

function signed(value) {
  return value > 0 ? "+" + number(value) : number(value);
}

// What stands under this key, and not what every object has (an id may be "constructor").
function own(object, key) {
  return object && Object.hasOwn(object, key) ? object[key] : undefined;
}

function byId(id) {
  return document.getElementById(id);
}

// An element with attributes and children; strings among them become text.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function fill(select, texts, chosen = 0) {
  select.replaceChildren(...texts.map((text, at) => make("option", { value: at }, visible(text))));
  select.value = String(chosen);
}

// The numbers of a packed column, NaN where nothing is defined.
function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 8 }, (_, at) => view.getFloat64(8 * at, true));
}

const columns = new Map();

// The values of a run by a measure, a number a query.
function column(measure, run) {
  const key = measure + "\n" + run;
  if (!columns.has(key)) {
    const packed = own(own(report.queries.values, measure), run);
    columns.set(key, packed === undefined ? null : unpacked(packed));
  }
  return columns.get(key);
}

// 1 where a high value of the measure is good, -1 where a low one is, 0 where neither is.
function wayOf(measure) {
  return { higher: 1, lower: -1, neither: 0 }[own(report.better, measure)] ?? 0;
}

function cellOf(run, measure) {
  return report.cells.find((cell) => cell.run === run && cell.measure === measure);
}
