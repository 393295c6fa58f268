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
  const left = 12 + CHAR * Math.max(...names.map((name) => [...name].length));
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
