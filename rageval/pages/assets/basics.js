// The report's structure, and how its numbers are shown.

const report = JSON.parse(document.getElementById("report").textContent);
const places = Number(document.documentElement.dataset.places);

function number(value, digits = places) {
  return value === null || Number.isNaN(value) ? "–" : value.toFixed(digits);
}

function signed(value) {
  return value > 0 ? "+" + number(value) : number(value);
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

const placesOfQueries = new Map((report.queries || { ids: [] }).ids.map((query, at) => [addressOf(at).slice(3), at]));

// Where a query is shown, by its id. An id that no address can hold has the sign U+FFFD in the place of half a
// character.
function addressOf(at) {
  return "#q=" + encodeURIComponent(report.queries.ids[at].toWellFormed());
}

// The query of an address, however much of it the browser, or whoever typed it, has encoded.
function placeOfQuery(address) {
  let text = address;
  try {
    text = decodeURIComponent(address);
  } catch {
    // A bare % is no encoding: the id was typed as it is.
  }
  return placesOfQueries.get(encodeURIComponent(text.toWellFormed()));
}
