const about = JSON.parse(document.getElementById("about").textContent);
const button = document.getElementById("run");
const said = document.getElementById("said");
const here = location.href;

// What may be loaded: each file by its address, with the digest that it must have. That of the bundle is checked
// by what recomputes it, which says what differs.
const known = new Map();
for (const each of [...(about.modules ?? []), ...(about.files ?? [])])
  known.set(new URL(each.href, here).href, each.integrity);
known.set(new URL("board.tar.gz", here).href, "");

const load = window.fetch.bind(window);
window.fetch = (resource, options) => {
  const address = new URL(resource.url ?? resource, here).href;
  if (!known.has(address)) return Promise.reject(new Error(`${address} is not part of this page`));
  return load(address, { ...options, integrity: known.get(address) });
};

async function bytes(href) {
  const response = await fetch(href, { cache: "reload" }); // a site may be published again
  if (!response.ok) throw new Error(`${href}: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

function cell(row, tag, text, label, name) {
  const made = row.appendChild(document.createElement(tag));
  made.textContent = text;
  made.setAttribute("role", tag === "th" ? "rowheader" : "cell");
  if (label) made.dataset.label = label;
  if (name) made.className = name;
}

function show(found) {
  const steps = document.getElementById("steps");
  const details = document.getElementById("details");
  steps.replaceChildren();
  details.replaceChildren();
  const tell = (text) => (details.appendChild(document.createElement("li")).textContent = text);
  for (const step of found.steps) {
    const row = steps.appendChild(document.createElement("tr"));
    row.setAttribute("role", "row");
    cell(row, "th", step.step);
    cell(row, "td", step.result, "Result", step.result);
    cell(row, "td", step.of, "Of what");
    step.differences.forEach((each) => tell(`${step.step}: ${each}`));
    if (step.more) tell(`${step.step}: and ${step.more} more`);
  }
  found.remarks.forEach(tell);
  found.believed.forEach((each) => tell(`Not verified: ${each}`));
  document.getElementById("result").hidden = false;
  const states = found.steps.map((step) => step.result);
  const open = states.filter((state) => state === "not checked here").length;
  said.textContent = states.includes("differs")
    ? "This differs from what was published."
    : states.includes("missing")
      ? "Nothing differs, but something is missing."
      : `Identical${open ? `; ${open} of ${states.length} steps not checked here` : ""}.`;
}

async function started() {
  said.textContent = "Loading Python …";
  const { loadPyodide } = await import(new URL(about.modules[0].href, here).href);
  const python = await loadPyodide({ indexURL: new URL(about.home, here).href });
  const place = python.runPython("import sysconfig; sysconfig.get_paths()['purelib']");
  for (const each of about.packages) {
    said.textContent = `Loading ${each} …`;
    python.unpackArchive(await bytes(each), "zip", { extractDir: place });
  }
  return python;
}

let python = null; // kept, for who presses the button again

async function recompute() {
  python ??= await started();
  said.textContent = "Recomputing …";
  python.FS.writeFile("/board.tar.gz", await bytes("board.tar.gz"));
  await new Promise((done) => setTimeout(done, 50)); // the line above is drawn first
  const text = python.runPython(`
import json
from rageval.track.verification import verify
json.dumps(verify("/board.tar.gz", expected=${JSON.stringify(about.sha256)}).as_dict())`);
  show(JSON.parse(text));
}

if (button && location.protocol === "file:") {
  said.textContent = "Browsers cannot run this from a file. Serve the folder (python -m http.server), or use the command below.";
} else if (button) {
  button.disabled = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await recompute();
    } catch (error) {
      const lines = String(error.message ?? error).trim().split("\n");
      said.textContent = `Cannot recompute here: ${lines[lines.length - 1].slice(0, 300)}`;
    }
    button.disabled = false;
  });
}
