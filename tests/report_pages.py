"""Reports in a real browser: the pages, and a tab that remembers what went wrong in it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rageval.cli import main
from rageval.judges.base import Reply, Request
from rageval.judges.store import Store

DATA = Path(__file__).parents[1] / "examples/data"
RUNS = [str(DATA / name) for name in ("run.trec", "baseline.trec", "qrels.nugget")]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ATTACK = "</script><script>hacked = 1</script><img src=x onerror='hacked = 2'>"
HOSTILE = f"{ATTACK}abc\u202edcba"
ATTACKING_QUERIES = [HOSTILE, "javascript:alert(1)", "__proto__", "constructor", "100% a/b?c#d+é"]
ATTACKING_RUNS = [f"run {HOSTILE}", "__proto__", "javascript:hacked=3"]
Open = Callable[..., Any]


@pytest.fixture(scope="module", name="browser")
def browser_() -> Iterator[Any]:
    """Chromium without a window; where there is none the tests are skipped, but not in CI."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("there is no Chromium; .ci/run installs it where it may (apt-get install chromium)")
        pytest.skip("there is no Chromium to open the page with (apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path)
        yield chromium
        chromium.close()


@pytest.fixture(name="opened")
def opened_(browser: Any) -> Iterator[Open]:
    """Opens a page; afterwards there was no error, and no request for anything but the page itself."""
    messages: list[str] = []
    asked: list[str] = []
    contexts = []

    def open_(path: Path, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: messages.append(message.text))
        tab.on("pageerror", lambda error: messages.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(path.as_uri())
        return tab

    yield open_
    for context in contexts:
        context.close()
    assert messages == []
    assert {address.partition("#")[0].rpartition("/")[2] for address in asked} <= {
        "report.html",
        "label.html",
    }


@pytest.fixture(scope="module", name="pages")
def pages_(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report on runs, one on answers, and two on texts that attack the page: of answers, of agents."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("runs", "answers", "hostile", "agents")}
    words = {
        "runs": [*RUNS, "-m", "alpha_ndcg@10,recall@10", "--baseline", "baseline.trec"],
        "answers": _answers(folders["answers"]),
        "hostile": _hostile(folders["hostile"]),
        "agents": _agents(folders["agents"]),
    }
    pages_by_name = {}
    for name, folder in folders.items():
        pages_by_name[name] = folder / "report.html"
        result = CliRunner().invoke(main, ["report", *words[name], "-o", str(pages_by_name[name])])
        assert result.exit_code == 0, result.output
    return pages_by_name


def _lines(path: Path, records: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def _judgements(queries: list[str], runs: list[str], nuggets: list[str]) -> list[dict[str, Any]]:
    """Support that differs by query, run and nugget, with a quote for whatever is supported.

    Quotes for the first nugget are words of the answer, those for the others are not.
    """
    rows = []
    for q, query in enumerate(queries):
        for r, run in enumerate(runs):
            for n in range(len(nuggets)):
                label = ("not_support", "partial_support", "support")[(q + r * (n + 1)) % 3]
                quote = f"quote {q} {r} {n}" if n else f"RAINS  in place {q}"
                more = {"evidence": quote} if label != "not_support" else {}
                rows.append(
                    {"query_id": query, "run_id": run, "item_id": "answer", "aspect": str(n), "label": label}
                    | {"status": "ok", "judge": "openai:gpt-4o-mini@1", "rubric": "nugget-assignment"}
                    | {"reason": f"reason {q} {r} {n}", "importance": "okay" if n else "vital", **more}
                    | {"usage": {"input": 500, "output": 40}}
                )
    return rows


def answered(queries: list[str], runs: list[str], text: str = "") -> list[dict[str, Any]]:
    """Answers of two sentences: the first cites a passage that is there, the second one without a text."""
    return [
        {
            **{"query_id": query, "run_id": run, "references": ["d1", "d2"]},
            "answer": [
                {"text": f"It rains in place {index}{text}.", "citations": ["d1"]},
                {"text": f"More{text}.", "citations": ["d2", "d1"]},
            ],
            "passages": [{"id": "d1", "text": f"Rain falls in place {index}. " + "It is wet. " * 50 + text}],
        }
        for index, query in enumerate(queries)
        for run in runs
    ]


def stored(folder: Path, judged: list[dict[str, Any]], count: int, text: str = "") -> str:
    """A store with the replies to the first calls; the judgements name them, as those of `judge` do."""
    path = str(folder / "store.sqlite")
    with Store(path) as store:
        for index, first in enumerate(judged[::2][:count]):
            request = Request(f"Judge well{text}.", f"prompt {index}{text}", {"type": "object"})
            raw = json.dumps({"said": f"raw {index}{text}"})
            key = request.key("m", "")
            store.put(key, request, Reply("ok", raw), "m", "")
            first |= {"key": key[:16], "raw": raw}
    return path


def _answers(folder: Path) -> list[str]:
    queries, nuggets = [f"q{index:02d}" for index in range(45)], ["It rains.", "It snows."]
    judged = _judgements(queries, ["ours", "theirs", "older"], nuggets)
    gold = [{**record, "judge": "person", "reason": "people say so"} for record in judged]
    store = stored(folder, judged, 6)
    judged[-2] |= {"key": "f" * 16, "raw": "a reply that no store has"}
    for record in gold[::7]:
        record["label"] = "support"
    importance = ("vital", "okay")
    listed = [{"text": text, "importance": how} for text, how in zip(nuggets, importance, strict=True)]
    bank = [{"qid": query, "query": "?", "nuggets": listed} for query in queries]
    asked = [
        {"query_id": query, "question": f"Question {index}?", "answer": f"Gold {index}"}
        | {"kind": "rare" if index < 5 else "common"}
        for index, query in enumerate(queries)
    ]
    return [
        *(_lines(folder / "judged.jsonl", judged), "-m", "v_strict,nugget_recall", "--all-pairs"),
        *("--gold", _lines(folder / "gold.jsonl", gold), "--by", "kind"),
        *("--nuggets", _lines(folder / "nuggets.jsonl", bank)),
        *("--questions", _lines(folder / "questions.jsonl", asked), "--store", store, "--texts", "44"),
        *("--answers", _lines(folder / "answers.jsonl", answered(queries, ["ours", "theirs"]))),
    ]


def _hostile(folder: Path) -> list[str]:
    queries, runs = ATTACKING_QUERIES, ATTACKING_RUNS
    judged = _judgements(queries, runs, [HOSTILE])
    for record in judged:
        record |= {"reason": HOSTILE, "judge": f"judge {ATTACK}"}
        record |= {"evidence": HOSTILE} if "evidence" in record else {}
    gold = [{**record, "judge": "p", "label": "support"} for record in judged]
    store = stored(folder, judged, 6, ATTACK)
    asked = [
        {"query_id": query, "question": HOSTILE, "answer": HOSTILE, "kind": HOSTILE} for query in queries
    ]
    bank = [
        {"qid": query, "query": "?", "nuggets": [{"text": HOSTILE, "importance": "vital"}]}
        for query in queries
    ]
    place = folder / "<img src=x onerror='hacked = 4'>.jsonl"
    return [
        *(_lines(place, judged), "-m", "nugget_recall", "--title", HOSTILE, "--by", "kind"),
        *("--gold", _lines(folder / "gold.jsonl", gold), "--nuggets", _lines(folder / "n.jsonl", bank)),
        *("--questions", _lines(folder / "q.jsonl", asked), "--store", store),
        *("--answers", _lines(folder / "a.jsonl", answered(queries, runs, HOSTILE))),
    ]


def _agents(folder: Path) -> list[str]:
    """Agents of which one searches twice at once, one fails, one has two trajectories, and one is lacking."""
    docs = [HOSTILE, "__proto__", "constructor", "d4"]
    steps = []
    for query in ATTACKING_QUERIES:
        for number, run in enumerate(ATTACKING_RUNS):
            place = {"query_id": query, "run_id": run}
            call = {"tool": HOSTILE, "arguments": {HOSTILE: HOSTILE}}
            for repeat in range(1, 2 + (number == 1)):
                place["repeat"] = f"{repeat}{HOSTILE}"
                used = {"input_tokens": 1200, "output_tokens": 30, "cost": 0.002, "seconds": 1.5}
                steps.append(place | {"step": 1, "kind": "model"} | used)
                steps.append(place | {"step": 2, "kind": "search", "docs": docs[number : number + 2]} | call)
                steps.append(place | {"step": 2, "kind": "search", "query": HOSTILE, "docs": docs[:2]})
                steps.append(place | {"step": 3, "kind": "tool", "status": "error"} | call)
    steps = [step for step in steps if (step["query_id"], step["run_id"]) != ("__proto__", "__proto__")]
    rows = [f"{query}\t{doc}\t{int(doc != 'd4')}\n" for query in ATTACKING_QUERIES for doc in docs]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows), encoding="utf-8")
    answers = [
        {"query_id": query, "run_id": run, "repeat": f"1{HOSTILE}"}
        | {"answer": [{"text": HOSTILE, "citations": docs[:1]}]}
        for query in ATTACKING_QUERIES
        for run in ATTACKING_RUNS
    ]
    return [
        *(_lines(folder / "steps.jsonl", steps), str(folder / "qrels.tsv")),
        *("-m", "seen_recall,cost", "--title", HOSTILE),
        *("--answers", _lines(folder / "answers.jsonl", answers)),
    ]


def until(tab: Any, expression: str) -> None:
    """Wait for the page: what an address leads to is drawn a moment after it has changed, in one go.

    Playwright's own way to wait for an expression is one of those that the policy of the page forbids.
    """
    for _ in range(3000):
        if tab.evaluate(expression):
            return
        tab.wait_for_timeout(10)
    raise AssertionError(f"never so: {expression}")


def texts(tab: Any, selector: str) -> list[str]:
    texts_found: list[str] = tab.eval_on_selector_all(
        selector, "all => all.map(one => one.textContent.trim())"
    )
    return texts_found


def shown(value: float | None, places: int = 4) -> str:
    return "–" if value is None else f"{value:.{places}f}"
