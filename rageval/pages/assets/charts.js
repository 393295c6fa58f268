// The charts. Each stands beside a table with the same numbers, which is what screen readers are sent to.

const drawn = new Map();

// A colour of the style sheet, as the canvas takes it.
function colour(name) {
  const probe = document.body.appendChild(document.createElement("span"));
  probe.style.color = `var(--${name})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function draw(id, height, label, settings) {
  const canvas = byId(id);
  const box = canvas.parentElement;
  box.style.height = height + "px";
  canvas.setAttribute("aria-label", label);
  drawn.get(id)?.destroy();
  const { options, ...rest } = settings;
  drawn.set(id, new Chart(canvas, { ...rest, options: { ...common(), ...options } }));
}

function common() {
  return { animation: false, responsive: true, maintainAspectRatio: false, normalized: true };
}

function axis(title, more = {}) {
  const ink = colour("soft");
  return {
    title: { display: Boolean(title), text: title, color: ink },
    ticks: { color: ink, ...more.ticks },
    grid: { color: colour("line") },
    border: { color: colour("line") },
    ...more.rest,
  };
}

function drawIntervals() {
  const measure = report.measures[byId("chart-measure").value];
  const cells = report.runs.map((run) => cellOf(run, measure)).filter(Boolean);
  const names = cells.map((cell) => shorter(visible(cell.run)));
  const ends = cells.map((cell) => (cell.low === null ? null : [cell.low, cell.high]));
  const means = cells.map((cell, at) => ({ x: cell.value, y: names[at] }));
  const faint = colour("accent").replace(")", ", 0.3)").replace("rgb(", "rgba(");
  const tip = (item) => {
    const cell = cells[item.dataIndex];
    return `${number(cell.value)} [${number(cell.low)}, ${number(cell.high)}], ${cell.queries} queries`;
  };
  draw("intervals", 70 + 26 * cells.length, `Means by ${visible(measure)} with intervals; the table below has the numbers`, {
    data: {
      labels: names,
      datasets: [
        { type: "scatter", data: means, backgroundColor: colour("accent"), pointRadius: 5, pointHoverRadius: 6 },
        { type: "bar", data: ends, backgroundColor: faint, barThickness: 9, borderSkipped: false, borderRadius: 4 },
      ],
    },
    options: {
      indexAxis: "y",
      scales: { x: axis(visible(measure), { rest: { beginAtZero: false, grace: "5%" } }), y: axis("", { rest: { type: "category", labels: names, offset: true } }) },
      plugins: { legend: { display: false }, tooltip: { callbacks: { label: tip } } },
    },
  });
}

// `rows` are {query, difference}, sorted; `way` is that of the measure; `open` is called with the place of the
// one that was clicked.
function drawDifferences(rows, title, way, open) {
  const [above, below] = way === 0 ? [colour("soft"), colour("soft")] : way > 0 ? [colour("better"), colour("worse")] : [colour("worse"), colour("better")];
  const values = rows.map((row) => row.difference);
  const many = rows.length > 300;
  const bars = { type: "bar", data: values, backgroundColor: values.map((value) => (value < 0 ? below : value > 0 ? above : colour("soft"))), minBarLength: 2 };
  const area = { type: "line", data: values, stepped: "middle", pointRadius: 0, borderWidth: 1, borderColor: colour("soft"), fill: { target: "origin", above, below } };
  const order = way === 0 ? "from the highest to the lowest" : "from the best to the worst";
  draw("differences", 260, `${title}; the table below has the numbers`, {
    data: { labels: rows.map((row) => shorter(visible(row.query))), datasets: [many ? area : bars] },
    options: {
      interaction: { mode: "index", axis: "x", intersect: false },
      onClick: (event, hits) => hits.length && open(rows[hits[0].index].at),
      scales: {
        x: axis(`${rows.length.toLocaleString("en")} queries, ${order}`, { ticks: { display: false }, rest: { grid: { display: false } } }),
        y: axis("difference"),
      },
      plugins: { legend: { display: false }, tooltip: { callbacks: { label: (item) => signed(item.raw) } } },
    },
  });
}

function shorter(text) {
  return text.length > 40 ? text.slice(0, 39) + "…" : text;
}
