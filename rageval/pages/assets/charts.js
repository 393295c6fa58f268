// The charts, as SVG: sharp on paper, and to be saved. Each stands beside a table with the same numbers, which
// is what screen readers are sent to. Colours are those of the style sheet, so that a theme or a printer needs
// no second drawing.

const SVG = "http://www.w3.org/2000/svg";
const CHAR = 6.6; // pixels of a usual letter
const FEW = 300; // queries that are bars; more are one outline

function shape(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function line(x1, y1, x2, y2, kind = "grid") {
  return shape("line", { x1, y1, x2, y2, class: kind });
}

function words(text, x, y, anchor = "middle", more = {}) {
  return shape("text", { x, y, "text-anchor": anchor, ...more }, text);
}

// The width of the longest of these names, which depends on the reader's font.
function widthOf(svg, names) {
  const texts = names.map((name) => svg.appendChild(words(name, 0, 0)));
  const widest = Math.max(...texts.map((text) => text.getComputedTextLength()));
  for (const text of texts) text.remove();
  return widest || CHAR * Math.max(...names.map((name) => [...name].length));
}

// An empty chart as wide as there is room; drawn again where the room changes.
function canvasOf(id, height, label, again) {
  const svg = byId(id);
  const width = Math.max(240, Math.floor(svg.parentElement.clientWidth) || 700);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.setAttribute("aria-label", label);
  svg.replaceChildren();
  svg.drawAgain = again;
  svg.drawnAt = svg.parentElement.clientWidth;
  return { svg, width };
}

function setUpCharts() {
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const svg = target.querySelector("svg");
      if (svg.drawAgain && svg.drawnAt !== target.clientWidth) svg.drawAgain();
    }
  });
  for (const box of document.querySelectorAll(".chart")) watch.observe(box);
  for (const button of document.querySelectorAll("button[data-chart]")) button.addEventListener("click", () => saveChart(button.dataset.chart));
}

// Round numbers between two values, about so many.
function ticksOf(low, high, about) {
  if (!(high > low)) return [low];
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, at) => (first + at) * step);
}

// As few decimals as tell the ticks apart.
function tickText(value, ticks) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : Math.abs(value) || 1;
  return value.toFixed(Math.min(12, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))));
}

function shorter(text, most = 40) {
  const letters = [...text];
  return letters.length > most ? letters.slice(0, Math.max(1, most - 1)).join("") + "…" : text;
}

// --- means with their intervals, a row a run

function drawIntervals() {
  const measure = report.measures[byId("chart-measure").value];
  const cells = report.runs.map((run) => cellOf(run, measure)).filter((cell) => cell && cell.value !== null);
  if (wayOf(measure) < 0) cells.sort((one, other) => one.value - other.value);
  else cells.sort((one, other) => other.value - one.value);
  const row = 24;
  const bottom = 8 + row * cells.length;
  const label = `Means by ${visible(measure)} with intervals; the table below has the numbers`;
  const { svg, width } = canvasOf("intervals", bottom + 40, label, drawIntervals);
  if (!cells.length) return svg.append(words("no mean", width / 2, 20));
  const most = Math.floor((0.38 * width) / CHAR);
  const names = cells.map((cell) => shorter(visible(cell.run), most));
  const left = 12 + widthOf(svg, names);
  const values = cells.flatMap((cell) => [cell.value, cell.low, cell.high]).filter((value) => value !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const space = (high - low) * 0.04 || 0.5;
  const x = (value) => left + ((value - low + space) / (high - low + 2 * space)) * (width - left - 14);
  const ticks = ticksOf(low - space, high + space, Math.max(2, (width - left) / 90));
  for (const tick of ticks) svg.append(line(x(tick), 4, x(tick), bottom), words(tickText(tick, ticks), x(tick), bottom + 15));
  cells.forEach((cell, at) => svg.append(intervalOf(cell, names[at], x, left, 8 + row * (at + 0.5))));
  svg.append(words(shorter(visible(measure), width / CHAR), (left + width) / 2, bottom + 34));
}

function intervalOf(cell, name, x, left, y) {
  const known = cell.low !== null && cell.high !== null;
  const said = `${visible(cell.run)}: ${number(cell.value)}${known ? ` [${number(cell.low)}, ${number(cell.high)}]` : ""}, ${cell.queries} queries`;
  const group = shape("g", {}, shape("title", {}, said), words(name, left - 8, y + 4, "end", { class: "name" }));
  if (known) group.append(shape("rect", { x: x(cell.low), y: y - 4.5, width: Math.max(1, x(cell.high) - x(cell.low)), height: 9, rx: 4.5, class: "interval-bar" }));
  group.append(shape("circle", { cx: x(cell.value), cy: y, r: 4.5, class: "mean" }));
  return group;
}

// --- recall of agents within budgets, a line a run in the band of its intervals

const MOST_CURVES = 8; // the bands of more hide one another
const DASHES = ["", "6 3", "2 3", "8 3 2 3"]; // told apart without colour

function drawCurves() {
  const by = [...new Set(report.curves.map((curve) => curve.by))][byId("curve-by").value];
  const all = report.curves.filter((curve) => curve.by === by);
  const curves = report.runs.map((run) => all.find((curve) => curve.run === run)).filter(Boolean).slice(0, MOST_CURVES);
  const room = Math.max(240, Math.floor(byId("curves").parentElement.clientWidth) || 700);
  const rows = legendRows(curves.map((curve) => shorter(visible(curve.run), Math.floor(room / CHAR / 2))), room);
  const [left, top, bottom] = [40, 12, 262];
  const label = `Recall by ${by} with intervals; the table below has the numbers`;
  const { svg, width } = canvasOf("curves", bottom + 44 + 20 * (rows.length + (all.length > curves.length)), label, drawCurves);
  const most = Math.max(...curves.flatMap((curve) => curve.budgets));
  const x = (value) => left + (value / most) * (width - left - 14);
  const y = (value) => bottom - value * (bottom - top);
  for (const tick of ticksOf(0, 1, 5)) svg.append(line(left, y(tick), width - 14, y(tick)), words(tick.toFixed(1), left - 6, y(tick) + 4, "end"));
  const ticks = ticksOf(0, most, Math.max(2, width / 110)).filter((tick) => by !== "searches" || Number.isInteger(tick));
  for (const tick of ticks) svg.append(words(tickText(tick, ticks), x(tick), bottom + 16));
  svg.append(line(left, y(0), width - 14, y(0), "axis"));
  curves.forEach((curve, at) => svg.append(curveOf(curve, at, x, y)));
  svg.append(words(by, (left + width) / 2, bottom + 34));
  rows.forEach((row, at) => row.forEach((entry) => svg.append(legendEntry(entry, bottom + 52 + 20 * at))));
  if (all.length > curves.length) svg.append(words(`the first ${curves.length} of ${all.length} runs`, left, bottom + 52 + 20 * rows.length, "start"));
}

function curveOf({ run, budgets, value, low, high }, number, x, y) {
  const all = budgets.map((_, i) => i);
  const banded = all.filter((i) => low[i] !== null && high[i] !== null);
  const point = (i, values) => `${x(budgets[i]).toFixed(1)} ${y(values[i]).toFixed(1)}`;
  const group = shape("g", { class: `c${number}` }, shape("title", {}, visible(run)));
  if (banded.length) group.append(shape("path", { d: `M${[...banded.map((i) => point(i, high)), ...banded.reverse().map((i) => point(i, low))].join("L")}Z`, class: "band" }));
  group.append(shape("path", { d: `M${all.map((i) => point(i, value)).join("L")}`, class: "curve", "stroke-dasharray": DASHES[number % DASHES.length] || "none" }));
  group.append(...all.map((i) => shape("circle", { cx: x(budgets[i]), cy: y(value[i]), r: 2.5, class: "dot" })));
  return group;
}

// Names beside samples of their lines, in as many rows as they need.
function legendRows(names, width) {
  const rows = [[]];
  let x = 40;
  names.forEach((name, number) => {
    const wide = 36 + CHAR * [...name].length + 18;
    if (x + wide > width && rows[rows.length - 1].length) {
      rows.push([]);
      x = 40;
    }
    rows[rows.length - 1].push({ name, number, x });
    x += wide;
  });
  return rows;
}

function legendEntry({ name, number, x }, y) {
  const sample = line(x, y - 4, x + 28, y - 4, "curve");
  sample.setAttribute("stroke-dasharray", DASHES[number % DASHES.length] || "none");
  return shape("g", { class: `c${number}` }, sample, shape("circle", { cx: x + 14, cy: y - 4, r: 2.5, class: "dot" }), words(name, x + 36, y, "start", { class: "name" }));
}

// --- how often answers of a confidence are correct, a line a run in the band of its intervals

function drawReliability() {
  const all = report.runs.map((run) => report.reliability.find((bins) => bins.run === run)).filter(Boolean);
  const curves = all.slice(0, MOST_CURVES).map(({ confidence, ...bins }) => ({ ...bins, budgets: confidence }));
  const room = Math.max(240, Math.floor(byId("reliability-chart").parentElement.clientWidth) || 700);
  const rows = legendRows(curves.map((curve) => shorter(visible(curve.run), Math.floor(room / CHAR / 2))), room);
  const [left, top] = [40, 12];
  const size = Math.min(room - left - 14, 360); // a square, in which the diagonal is one
  const bottom = top + size;
  const label = "Share of correct answers by confidence with intervals; the tables below have the numbers";
  const { svg } = canvasOf("reliability-chart", bottom + 44 + 20 * (rows.length + (all.length > curves.length)), label, drawReliability);
  const x = (value) => left + value * size;
  const y = (value) => bottom - value * size;
  for (const tick of ticksOf(0, 1, 5)) {
    svg.append(line(left, y(tick), left + size, y(tick)), words(tick.toFixed(1), left - 6, y(tick) + 4, "end"));
    svg.append(words(tick.toFixed(1), x(tick), bottom + 16));
  }
  svg.append(line(left, y(0), left + size, y(0), "axis"), line(x(0), y(0), x(1), y(1), "diagonal"));
  curves.forEach((curve, at) => svg.append(curveOf(curve, at, x, y)));
  svg.append(words("confidence", left + size / 2, bottom + 34), words("correct", left + 6, top + 12, "start"));
  rows.forEach((row, at) => row.forEach((entry) => svg.append(legendEntry(entry, bottom + 52 + 20 * at))));
  if (all.length > curves.length) svg.append(words(`the first ${curves.length} of ${all.length} runs`, left, bottom + 52 + 20 * rows.length, "start"));
}

// --- where relevant documents were lost, a bar a run

const LOSSES = [["used_recall", "seen and cited", "better"], ["uncited", "not cited", "tie"], ["unseen", "not seen", "worse"]];

function drawLosses() {
  const runs = report.runs.filter((run) => report.losses.some((share) => share.run === run));
  const row = 30;
  const bottom = 8 + row * runs.length;
  const { svg, width } = canvasOf("losses-chart", bottom + 42, "Shares of the relevant documents that were used, not cited and not seen; the table below has the numbers", drawLosses);
  const names = runs.map((run) => shorter(visible(run), Math.floor((0.3 * width) / CHAR)));
  const left = 12 + widthOf(svg, names);
  const x = (value) => left + value * (width - left - 14);
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) svg.append(line(x(tick), bottom - 2, x(tick), bottom + 3), words(String(tick), x(tick), bottom + 15));
  runs.forEach((run, at) => {
    const y = 8 + row * at;
    let from = 0;
    svg.append(words(names[at], left - 8, y + 16, "end", { class: "name" }));
    for (const [measure, text, kind] of LOSSES) {
      const value = report.losses.find((share) => share.run === run && share.measure === measure).value;
      const wide = x(from + value) - x(from);
      svg.append(shape("rect", { x: x(from), y, width: wide, height: row - 8, class: `share ${kind}` }, shape("title", {}, `${visible(run)}: ${text} ${number(value)}`)));
      const shown = [`${text} ${value.toFixed(2)}`, value.toFixed(2)].find((one) => CHAR * one.length + 8 < wide);
      if (shown) svg.append(words(shown, x(from) + wide / 2, y + 15, "middle", { class: "name" }));
      from += value;
    }
  });
  let place = Math.min(left, 12);
  for (const [, text, kind] of LOSSES) {
    svg.append(shape("rect", { x: place, y: bottom + 26, width: 10, height: 10, class: `share ${kind}` }), words(text, place + 15, bottom + 35, "start"));
    place += 31 + CHAR * text.length;
  }
}

// --- the differences of all queries, from the best to the worst

// `rows` are {at, query, difference}, sorted; `way` is that of the measure; `open` is called with the place of
// the one that was clicked.
function drawDifferences(rows, title, way, open) {
  const height = 250;
  const label = `${title}; the table below has the numbers`;
  const { svg, width } = canvasOf("differences", height, label, () => drawDifferences(rows, title, way, open));
  if (!rows.length) return svg.append(words("no queries", width / 2, height / 2));
  const values = rows.map((row) => row.difference);
  const low = values.reduce((least, value) => Math.min(least, value), 0);
  const high = values.reduce((most, value) => Math.max(most, value), 0);
  const [left, top, bottom] = [46, 22, height - 24];
  const y = (value) => (high === low ? bottom : bottom - ((value - low) / (high - low)) * (bottom - top));
  const ticks = ticksOf(low, high, 5);
  for (const tick of ticks) svg.append(line(left, y(tick), width, y(tick)), words(tickText(tick, ticks), left - 6, y(tick) + 4, "end"));
  const kinds = way === 0 ? ["tie", "tie"] : way > 0 ? ["better", "worse"] : ["worse", "better"];
  const step = (width - left) / rows.length;
  svg.append(...(rows.length > FEW ? outlines(values, kinds, left, step, y) : barsOf(rows, kinds, left, step, y)));
  svg.append(line(left, y(0), width, y(0), "axis"));
  const order = way === 0 ? "from the highest to the lowest" : "from the best to the worst";
  svg.append(words(`${rows.length.toLocaleString("en")} ${rows.length === 1 ? "query" : `queries, ${order}`}`, (left + width) / 2, height - 6));
  pointAt(svg, rows, left, step, open);
}

function barsOf(rows, [above, below], left, step, y) {
  const wide = Math.max(0.5, step * (step > 4 ? 0.84 : 1));
  return rows.map(({ difference }, at) => {
    const [top, tall] = [Math.min(y(difference), y(0)), Math.max(1.5, Math.abs(y(difference) - y(0)))];
    const kind = difference > 0 ? above : difference < 0 ? below : "tie";
    return shape("rect", { x: left + at * step + (step - wide) / 2, y: top, width: wide, height: tall, class: kind });
  });
}

// What is above zero, and what is below, each as one shape.
function outlines(values, kinds, left, step, y) {
  return kinds.map((kind, at) => {
    const end = (value) => y(at ? Math.min(0, value) : Math.max(0, value)).toFixed(1);
    const path = values.map((value, i) => `V${end(value)}H${(left + (i + 1) * step).toFixed(1)}`);
    return shape("path", { d: `M${left} ${y(0)}${path.join("")}V${y(0)}Z`, class: kind });
  });
}

// What lies under the pointer is named above the chart, and opened by a click.
function pointAt(svg, rows, left, step, open) {
  const said = words("", left, 13, "start", { class: "name" });
  svg.append(said);
  const under = (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    return rows[Math.floor((x - left) / step)];
  };
  svg.onpointermove = (event) => {
    const row = under(event);
    said.textContent = row ? `${shorter(visible(row.query), 30)}: ${signed(row.difference)}` : "";
  };
  svg.onpointerleave = () => (said.textContent = "");
  svg.onclick = (event) => {
    const row = under(event);
    if (row) open(row.at);
  };
}

// --- saving

const PAINTED = ["fill", "fill-opacity", "stroke", "stroke-width", "font-family", "font-size", "font-weight"];

// The chart as a file of its own: in light colours, and with what the style sheet says written into it.
function standalone(id) {
  const root = document.documentElement;
  const before = root.dataset.theme;
  root.dataset.theme = "light";
  const svg = byId(id);
  const copy = svg.cloneNode(true);
  const [there, here] = [svg, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  there.forEach((element, at) => {
    const style = getComputedStyle(element);
    for (const name of PAINTED) here[at].setAttribute(name, style.getPropertyValue(name));
    here[at].removeAttribute("class");
  });
  if (before === undefined) delete root.dataset.theme;
  else root.dataset.theme = before;
  for (const name of ["id", "role", "aria-describedby"]) copy.removeAttribute(name);
  copy.setAttribute("xmlns", SVG);
  return new XMLSerializer().serializeToString(copy);
}

function saveChart(id) {
  const address = URL.createObjectURL(new Blob([standalone(id)], { type: "image/svg+xml" }));
  make("a", { href: address, download: `${id}.svg` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
