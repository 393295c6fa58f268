"""The site of a bundle, and its page that recomputes in a real browser."""

from __future__ import annotations

import json
import os
import re
import threading
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from boards import FORGERIES, forged
from rageval.measures import builtin
from rageval.track.site import publish
from report_pages import browser_  # noqa: F401
from snippets import ROOT
from test_bad_input import command

pytest.importorskip("jinja2")
RUNTIME = "RAGEVAL_PYODIDE"  # a folder with the npm package pyodide, and msgspec's wheel for it
IN_BROWSER = ("value", "row", "reply", "rubric", "manifest")
ALL_BITS = """
import json, random
from rageval.measures import builtin
from rageval.testing._answer_cases import AnswerCase
from rageval.testing._cases import cut
from rageval.testing._run_cases import RunCase
from vectors import answer_vectors, run_vectors
from rageval.errors import RagevalError

def bits(found):
    if isinstance(found, RagevalError):
        return type(found).__name__
    known = {query: value for query, value in found.items() if value is not None and value == value}
    return {str(query): float(known[query]).hex() if query in known else "nan" for query in found}

every = {}
for vector in [*run_vectors(), *answer_vectors()]:
    for measure in vector.expected:
        try:
            found = bits(vector.found([measure])[measure])
        except ImportError:
            found = "not here"
        every[f"{vector.name} {measure}"] = found
for name, measure in builtin().items():
    drawn = AnswerCase if measure.of_answers else RunCase
    for seed in range(4):
        try:
            values = drawn.draw(cut(measure), random.Random(seed)).values(cut(measure))
        except RagevalError as error:
            values = error
        every[f"{seed} {name}"] = bits(values)
text = json.dumps(every, sort_keys=True)
"""


@pytest.fixture(scope="module", name="runtime")
def runtime_() -> str:
    folder = os.environ.get(RUNTIME)
    if not folder:
        pytest.skip(f"{RUNTIME} names no folder with the npm package pyodide; .ci/run fetches it with npm")
    return folder


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module", name="site")
def site_(
    tmp_path_factory: pytest.TempPathFactory, boards: Mapping[str, Path], runtime: str
) -> Iterator[tuple[Path, str]]:
    """The site of judged answers, served on this computer."""
    folder = tmp_path_factory.mktemp("site") / "site"
    publish(boards["answers"], folder, runtime)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module", name="tab")
def tab_(browser: Any, site: tuple[Path, str]) -> Iterator[Any]:
    """The page that recomputes; afterwards there was no error, and nothing was asked of anybody else."""
    said: list[str] = []
    asked: list[str] = []
    context = browser.new_context()
    tab = context.new_page()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(f"{site[1]}/recompute.html")
    yield tab
    context.close()
    assert said == []
    assert all(address.startswith(site[1]) for address in asked)


def recomputed(tab: Any) -> dict[str, str]:
    """Press the button; what came of each step."""
    tab.click("#run")
    tab.wait_for_selector("#run:not([disabled])", timeout=300_000)
    rows = tab.locator("#steps tr")
    return {row.locator("th").inner_text(): row.locator("td").first.inner_text() for row in rows.all()}


@pytest.mark.slow
def test_a_browser_recomputes(tab: Any) -> None:
    assert recomputed(tab) == {
        "files": "same",
        "judgements from replies": "same",
        "values from judgements": "same",
        "claims from values": "not checked here",
    }
    assert tab.inner_text("#said") == "Identical; 1 of 4 steps not checked here."
    assert "Not verified: " in tab.inner_text("#details")


@pytest.mark.slow
def test_a_browser_finds_forgeries(tab: Any, site: tuple[Path, str], boards: Mapping[str, Path]) -> None:
    missed = []
    for name, (board, step, forge) in FORGERIES.items():
        if name.partition(":")[0] in IN_BROWSER and board != "labelled":
            forged(boards[board], forge, site[0] / "board.tar.gz")
            found = recomputed(tab)
            if found.get(step) != "differs" or "differs from what was published" not in tab.inner_text(
                "#said"
            ):
                missed.append((name, found, tab.inner_text("#said")))
    (site[0] / "board.tar.gz").write_bytes(boards["answers"].read_bytes())
    assert missed == []


@pytest.mark.slow
def test_the_same_bits_for_every_measure(browser: Any, site: tuple[Path, str]) -> None:
    (site[0] / "bits.html").write_text(
        """<!doctype html><meta charset="utf-8"><p id="said"></p><script type="module">
import { loadPyodide } from "./pyodide/pyodide.mjs";
const said = document.getElementById("said");
try {
  const python = await loadPyodide({ indexURL: "./pyodide/" });
  const place = python.runPython("import sysconfig; sysconfig.get_paths()['purelib']");
  for (const name of NAMES) {
    const content = await (await fetch(name)).arrayBuffer();
    python.unpackArchive(new Uint8Array(content), "zip", { extractDir: place });
  }
  said.textContent = python.runPython(CODE);
} catch (error) { said.textContent = String(error).slice(-2000); }
said.className = "done";
</script>""".replace("NAMES", json.dumps(_packages(site[0]))).replace("CODE", json.dumps(f"{ALL_BITS}\ntext"))
    )
    tab = browser.new_context().new_page()
    tab.goto(f"{site[1]}/bits.html")
    tab.wait_for_selector(".done", state="attached", timeout=600_000)
    known: dict[str, Any] = {}
    exec(ALL_BITS, known)
    here, there = json.loads(known["text"]), json.loads(tab.text_content("#said"))
    lacking = {name for name, found in there.items() if found == "not here"}
    assert all("ideal=exact" in name for name in lacking), lacking
    assert {name: found for name, found in here.items() if name not in lacking} == {
        name: found for name, found in there.items() if name not in lacking
    }
    assert {f"0 {name}" for name in builtin()} <= set(here)
    assert sum(isinstance(found, dict) for found in here.values()) > 900
    tab.context.close()


def _packages(folder: Path) -> list[str]:
    with zipfile.ZipFile(folder / "vectors.zip", "w") as archive:
        for path in (ROOT / "rageval/vectors").glob("*.jsonl"):
            archive.write(path, f"rageval/vectors/{path.name}")
        archive.write(ROOT / "tests/peers/vectors.py", "vectors.py")
    wheels = [f"pyodide/{path.name}" for path in (folder / "pyodide").glob("*.whl")]
    return [*wheels, "rageval.zip", "vectors.zip"]


@pytest.mark.slow
def test_a_runtime_that_was_changed_is_not_run(site: tuple[Path, str], browser: Any) -> None:
    place = site[0] / "rageval.zip"
    content = place.read_bytes()
    place.write_bytes(content + b" ")
    other = browser.new_context().new_page()
    other.goto(f"{site[1]}/recompute.html")
    assert recomputed(other) == {}
    assert other.inner_text("#said").startswith("Cannot recompute here: ")
    other.context.close()
    place.write_bytes(content)


@pytest.mark.slow
def test_from_a_file_the_page_says_what_to_do(browser: Any, site: tuple[Path, str]) -> None:
    tab = browser.new_context().new_page()
    tab.goto((site[0] / "recompute.html").as_uri())
    assert tab.inner_text("#said").startswith("Browsers cannot run this from a file.")
    assert tab.is_disabled("#run")
    tab.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_cut_off(browser: Any, boards: Mapping[str, Path], width: int, tmp_path: Path) -> None:
    publish(boards["answers"], tmp_path / "site", None)
    tab = browser.new_context(viewport={"width": width, "height": 800}).new_page()
    for page in sorted((tmp_path / "site").glob("*.html")):
        tab.goto(page.as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, page.name
    assert "published without a runtime" in (tmp_path / "site" / "recompute.html").read_text()
    tab.context.close()


def test_a_site_without_a_runtime(boards: Mapping[str, Path], tmp_path: Path) -> None:
    site = tmp_path / "site"
    done = command("board", "publish", str(boards["answers"]), "-o", str(site))
    assert done.code == 0, done.err
    index = (site / "index.html").read_text()
    assert "<script" not in index
    digest = re.search(r"--sha256 ([0-9a-f]{64})", index)
    assert digest is not None
    assert command("board", "verify", str(site / "board.tar.gz"), "--sha256", digest[1]).code == 0
    assert {path.name for path in site.glob("run-*.html")} == {"run-ours.html", "run-theirs.html"}
    for link in re.findall(r'href="([^"#]+)"', index):
        assert (site / link).is_file(), link
    # A second bundle takes the place of the first.
    assert command("board", "publish", str(boards["runs"]), "-o", str(site)).code == 0
    assert not (site / "run-ours.html").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    refused = command("board", "publish", str(boards["runs"]), "-o", str(tmp_path / "other"))
    assert (refused.code, "holds other files" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("pyodide", "said"),
    [
        ("nowhere", "npm install pyodide"),
        ("http://cdn.example/pyodide", "begins with https://"),
        ("https://me:key@cdn.example/pyodide", "without a user name"),
        ("http://127.0.0.1:9/pyodide", "cannot be fetched"),
    ],
)
def test_a_runtime_that_is_none(boards: Mapping[str, Path], pyodide: str, said: str, tmp_path: Path) -> None:
    done = command("board", "publish", str(boards["runs"]), "-o", str(tmp_path / "s"), "--pyodide", pyodide)
    assert (done.code, said in done.err) == (2, True), done.err


@pytest.mark.slow
def test_the_policy_of_the_page_that_runs(boards: Mapping[str, Path], tmp_path: Path) -> None:
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    for name in ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"):
        (runtime / name).write_text(name)
    wheel = "msgspec-1.0-cp314-cp314-wasm32.whl"
    lock = {
        "packages": {
            name: {"file_name": f"{name}-1.0-cp314-cp314-wasm32.whl"} for name in ("msgspec", "numpy")
        }
    }
    (runtime / "pyodide-lock.json").write_text(json.dumps(lock))
    words = ("board", "publish", str(boards["runs"]), "-o", str(tmp_path / "s"), "--pyodide", str(runtime))
    done = command(*words)
    assert (done.code, "pip download msgspec" in done.err) == (2, True)
    (runtime / wheel).write_text("wheel")
    done = command(*words)
    assert done.code == 0, done.err
    page = (tmp_path / "s" / "recompute.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].replace("&#39;", "'").startswith("default-src 'none'; script-src 'sha256-")
    assert "'unsafe-inline'" not in policy[1]
    assert (tmp_path / "s" / "pyodide" / wheel).read_text() == "wheel"
    assert page.count("sha384-") == 2 + 7  # the modules stand in the map of imports, too


@pytest.mark.slow
def test_records_of_every_eval_ever(boards: Mapping[str, Path], tmp_path: Path) -> None:
    publish(boards["labelled"], tmp_path / "site", None)
    home = tmp_path / "site" / "every_eval_ever"
    records = [json.loads(path.read_text()) for path in sorted(home.rglob("*.json"))]
    assert {record["model_info"]["name"] for record in records} == {"ours", "theirs"}
    for record in records:
        assert record["schema_version"] == "0.3.0"
        path = record["detailed_evaluation_results"]["file_path"]
        assert (home / path).is_file()
        assert re.fullmatch(r"data/[^/]+/[^/]+/[^/]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]+_samples.jsonl", path)
        (result,) = record["evaluation_results"]
        assert result["metric_config"]["min_score"] == -1
