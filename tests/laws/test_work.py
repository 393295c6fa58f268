"""Twice the input costs at most about twice the work: every command, in each thing that it grows in.

Work is counted, not timed: the lines of rageval that run, at n and at 2n. What lies within one call of C (a
search in a list, numpy) is not seen by the count; `benchmarks/growth.py` takes the processor time and memory
of the same commands, of inputs that are doubled until they show. A command that is in no table fails.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

import rageval
from commands import write_jsonl
from every_command import walked
from rageval.cli import main

RATIO, SLACK = 2.3, 400  # lines that a command may run beyond
OURS = str(Path(rageval.__file__).parent)
LABELS = ("perfect", "acceptable", "missing", "incorrect")


def judged(systems: int = 3, queries: int = 6, path: str = "judged", judge: str = "m:x") -> None:
    rng = random.Random(7)
    write_jsonl(
        path,
        [
            {
                **{"query_id": f"q{query}", "run_id": f"s{system}", "aspect": "crag", "rubric": "crag"},
                **{"judge": judge, "label": rng.choice(LABELS)},
            }
            for system in range(systems)
            for query in range(queries)
        ],
    )


def of_two(systems: int = 3, queries: int = 6) -> None:
    judged(systems, queries)
    judged(systems, queries, "people", "person:ann")


def judges(number: int) -> None:
    rows = []
    for index in range(number):
        judged(3, 4, "one", f"m:{index}")
        rows += Path("one").read_text().splitlines()
    Path("judged").write_text("\n".join(rows) + "\n")


def aspects(number: int) -> None:
    write_jsonl(
        "judged",
        [
            {
                **{"query_id": f"q{query}", "run_id": run, "aspect": f"n{index}", "rubric": "nuggets"},
                **{"judge": "m:x", "importance": "vital", "label": "support" if index % 2 else "not_support"},
            }
            for run in "ab"
            for query in range(2)
            for index in range(number)
        ],
    )


def log_records(number: int) -> None:
    write_jsonl(
        "log.jsonl",
        [
            {"user_input": f"What is {row}?", "response": f"Fact {row}.", "faithfulness": row / number}
            | {"retrieved_contexts": [f"A text of {row}.", "A text of all."]}
            for row in range(number)
        ],
    )


def answers(systems: int = 2, queries: int = 6) -> None:
    write_jsonl(
        "answers",
        [
            {"query_id": f"q{query}", "run_id": f"s{system}", "question": "What?", "answer": f"Fact {query}."}
            for system in range(systems)
            for query in range(queries)
        ],
    )
    write_jsonl(
        "questions",
        [
            {"query_id": f"q{query}", "question": "What?", "answer": f"Fact {query}"}
            for query in range(queries)
        ],
    )
    nuggets(queries, 3)


def nuggets(queries: int, number: int) -> None:
    write_jsonl(
        "nuggets",
        [
            {
                **{"query": "What?", "qid": f"q{query}"},
                "nuggets": [
                    {"text": f"fact {index} of {query}", "importance": "vital"} for index in range(number)
                ],
            }
            for query in range(queries)
        ],
    )


def bank(number: int) -> None:
    answers(2, 2)
    nuggets(2, number)


def runs(systems: int = 2, queries: int = 6, documents: int = 8) -> None:
    rng = random.Random(3)
    shutil.rmtree("runs", ignore_errors=True)
    os.mkdir("runs")
    for system in range(systems):
        rows = []
        for query in range(queries):
            for rank, doc in enumerate(rng.sample(range(2 * documents), documents)):
                rows.append(f"q{query} Q0 d{doc} {rank + 1} {documents - rank} s{system}\n")
        Path(f"runs/{system}").write_text("".join(rows))
    graded = [f"q{q} n{d % 3} d{d} {d % 2}\n" for q in range(queries) for d in range(documents)]
    Path("qrels").write_text("".join(graded))
    write_jsonl("questions", [{"query_id": f"q{query}", "question": "What?"} for query in range(queries)])


def ranked(systems: int) -> None:
    write_jsonl(
        "judged",
        [
            {
                **{"query_id": f"q{query}", "run_id": f"s{system}", "aspect": order},
                "grade": (system + query) % systems + 1,
            }
            for query in range(3)
            for order in "12"
            for system in range(systems)
        ],
    )


def columns(number: int, rows: int = 2) -> None:
    head = ["user_input", "response", *(f"m{index}" for index in range(number))]
    body = [[f"q{row}", f"a{row}", *["0.5"] * number] for row in range(rows)]
    Path("log.csv").write_text("".join(",".join(row) + "\n" for row in (head, *body)))


def parquet_columns(number: int) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    scores = {f"m{index}": [0.5] for index in range(number)}
    parquet.write_table(pyarrow.table({"user_input": ["q"], "response": ["a"], **scores}), "log.parquet")


def entries(number: int) -> None:
    about = {"task": "t", "model": "m", "dataset": {"sample_ids": list(range(number))}, "scorers": []}
    with zipfile.ZipFile("log.eval", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": about}))
        for index in range(number):
            output = {"completion": "a", "choices": [1]}
            sample = {"id": index, "epoch": 1, "input": f"q{index}", "target": "x", "output": output}
            packed.writestr(
                f"samples/{index}_epoch_1.json", json.dumps(sample | {"scores": {"s": {"value": "C"}}})
            )


def chunks(number: int) -> None:
    texts = [f"This is sentence {index} of a text that says something." for index in range(number)]
    write_jsonl(
        "chunks", [{"id": f"c{number}", "doc_id": "d", "text": text} for number, text in enumerate(texts)]
    )
    write_jsonl("sources", [{"id": "d", "text": " ".join(texts)}])
    Path("qrels").write_text("".join(f"q1 n{index} c{index} 1\n" for index in range(number)))


def spans(number: int) -> None:
    chunks(number)
    done("spans anchor qrels --chunks chunks --sources sources -o spans")


def baseline(queries: int) -> None:
    runs(2, queries)
    done("gate runs/1 qrels -m recall@5 --save-baseline base")


def traced(queries: int, number: int = 3) -> None:
    """Nuggets, by answers and by documents."""
    runs(1, queries, number)
    Path("qrels").write_text(
        "".join(f"q{query} n{index} d{index} 1\n" for query in range(queries) for index in range(number))
    )
    write_jsonl(
        "judged",
        [
            {
                **{"query_id": f"q{query}", "run_id": "s0", "aspect": f"n{index}", "rubric": "nuggets"},
                **{"judge": "m:x", "label": "support" if index % 2 else "not_support"},
            }
            for query in range(queries)
            for index in range(number)
        ],
    )


def names_of_runs() -> str:
    return " ".join(f"runs/{index}" for index in range(len(os.listdir("runs"))))


MOST = 400_000


class Growing(NamedTuple):
    """What a command grows in: how an input of n is made, and the command line."""

    thing: str
    make: Callable[[int], object]
    words: str
    number: int = 20
    codes: tuple[int, ...] = (0,)
    most: int = MOST  # the largest input that `benchmarks/growth.py` doubles


def by(
    systems: Callable[[int], object],
    queries: Callable[[int], object],
    words: str,
    most: int = MOST,  # systems
    **more: Any,
) -> list[Growing]:
    return [Growing("systems", systems, words, most=most, **more), Growing("queries", queries, words, **more)]


RUNS = (lambda n: runs(n, 4), lambda n: runs(2, n))
JUDGED = (lambda n: judged(n, 3), lambda n: judged(2, n))
BOTH = (lambda n: of_two(n, 3), lambda n: of_two(2, n))
ANSWERS = (lambda n: answers(n, 3), lambda n: answers(2, n))
CRAG = "-m crag_score"
QUICK = "--draws 200 --resamples 200"
# Ranks look at each two systems. The work is bounded to 500 of them, and each pair costs something beyond.
RANKED = 256
GROWS: dict[str, list[Growing]] = {
    "score": [
        *by(*RUNS, "score {runs} qrels -m recall@5"),
        Growing("documents", lambda n: runs(2, 30, n), "score {runs} qrels -m recall@5,alpha_ndcg@5"),
        *by(*JUDGED, f"score judged {CRAG}", number=80),
        *by(*JUDGED, f"score judged {CRAG} -q --format json"),
        *by(*ANSWERS, "score answers -m length", number=80),
        Growing("judges", judges, f"score judged {CRAG}"),
        Growing("nuggets", aspects, "score judged -m v_strict"),
        Growing("systems of a ranking", ranked, "score judged -m rank_score"),
    ],
    # All pairs, and a best run that is picked from the data, are quadratic in systems by nature.
    "compare": [
        *by(*RUNS, f"compare {{runs}} qrels -m recall@5 --baseline 0 {QUICK}"),
        *by(*JUDGED, f"compare judged {CRAG} --baseline s0 {QUICK}", number=50),
        *by(*JUDGED, f"compare judged {CRAG} --baseline s0 --format latex {QUICK}", number=50),
        *by(*JUDGED, f"compare judged {CRAG} --baseline s0 --format csv {QUICK}", number=50),
        Growing("queries", BOTH[1], f"compare judged {CRAG} --gold people --gold-chosen uniform {QUICK}"),
    ],
    "gate": [
        Growing(
            "queries", baseline, "gate runs/0 qrels -m recall@5 --baseline base --margin .1", 20, (0, 1, 5)
        )
    ],
    "report": [
        Growing(
            "systems",
            RUNS[0],
            f"report {{runs}} qrels -m recall@5 -o page.html --baseline 0 {QUICK}",
            most=RANKED,
        ),
        Growing("queries", RUNS[1], f"report {{runs}} qrels -m recall@5 -o page.html {QUICK}"),
        Growing("queries", JUDGED[1], f"report judged {CRAG} -o page.html {QUICK}"),
    ],
    # Its table has a cell for each two systems.
    "arena": [Growing("queries", lambda n: ranked_queries(n), "arena judged")],
    "track": by(*RUNS, "track runs --track run --qrels qrels -m recall@5 -o made", number=5, most=RANKED),
    "board bundle": by(*RUNS, "board bundle {runs} qrels -m recall@5 -o made.tgz", number=5, most=RANKED),
    "judge": [
        *by(*ANSWERS, "judge crag-auto answers --questions questions --judge contains -o out"),
        Growing("nuggets", bank, "judge nugget-assignment answers --nuggets nuggets --judge lexical -o out"),
    ],
    "diagnose": [
        Growing("queries", traced, "diagnose judged --run runs/0 --qrels qrels", codes=(0, 3)),
        Growing(
            "nuggets", lambda n: traced(2, n), "diagnose judged --run runs/0 --qrels qrels", codes=(0, 3)
        ),
    ],
    "label agree": by(*BOTH, f"label agree judged people {CRAG}", number=40),
    "label correct": by(*BOTH, f"label correct judged --gold people {CRAG}", number=40),
    "label plan": by(*JUDGED, f"label plan judged {CRAG} -o plan -n 2 --overwrite"),
    "spans anchor": [
        Growing("chunks", chunks, "spans anchor qrels --chunks chunks --sources sources -o spans")
    ],
    "spans project": [
        Growing("spans", spans, "spans project spans --chunks chunks --sources sources -o out")
    ],
    "doctor": [*by(*RUNS, "doctor {runs} qrels", codes=(0, 1)), *by(*JUDGED, "doctor judged", codes=(0, 1))],
    "validate": by(*ANSWERS, "validate answers --track rag24", codes=(0, 1)),
    "import": [
        Growing("rows", lambda n: columns(3, n), "import log.csv -o made"),
        Growing("records", log_records, "import log.jsonl -o made"),
        Growing("columns", columns, "import log.csv -o made", 100),
        Growing("columns", columns, "import log.csv -o made --map question=user_input,answer=response", 100),
        Growing("columns", columns, "import log.csv -o made --tool records", 100, (2,), 100_000),
        Growing("columns", parquet_columns, "import log.parquet -o made", 100),
        Growing("entries", entries, "import log.eval -o made"),
    ],
    "collection check": by(*RUNS, "collection check {runs} --against qrels", codes=(0, 1, 3)),
    "collection fuse": by(*RUNS, "collection fuse {runs}"),
}
# What has no data of the user's to grow in, or is held elsewhere.
OTHERS = {
    "demo": "writes a few files that are always the same",
    "init": "looks at the first lines of each file of a folder, and at a baseline",
    "measures": "lists what there is",
    "skill": "prints one file",
    "rubrics": "lists what there is",
    "rubrics show": "prints one file",
    "rubrics import": "reads one prompt",
    "board": "a group of commands",
    "board verify": "scores and compares once more, as board bundle does",
    "board publish": "writes pages, as track does",
    "store": "a group of commands",
    "label": "a group of commands",
    "spans": "a group of commands",
    "collection": "a group of commands",
    "store export": "tests/judges: a store",
    "store import": "tests/judges: a store",
    "store merge": "tests/judges: a store",
    "store show": "looks up one reply",
    "store stats": "one question to the store",
    "collection build": "asks models",
    "collection audit": "asks models",
    "collection filter": "asks models",
    "collection nuggetize": "asks models",
    "collection pool": "asks models",
    "collection qrels": "asks models",
    "collection support": "asks models",
    "collection variants": "asks models",
    "label page": "writes one page of a plan",
    "reproduce": "scores each file as score does",
    "datasets": "a group of commands",
    "datasets check": "needs a data set",
    "datasets export": "needs a data set",
    "datasets fetch": "fetches",
    "datasets import": "needs a data set",
    "datasets leaderboard": "needs a data set",
    "datasets show": "prints one entry",
}


def ranked_queries(number: int) -> None:
    write_jsonl(
        "judged",
        [
            {
                "query_id": f"q{query}",
                "run_id": f"s{system}",
                "aspect": "1",
                "grade": (system + query) % 3 + 1,
            }
            for query in range(number)
            for system in range(3)
        ],
    )


def done(words: str, codes: tuple[int, ...] = (0,)) -> None:
    words = words.replace("{runs}", names_of_runs()) if "{runs}" in words else words
    result = CliRunner().invoke(main, shlex.split(words), prog_name="rageval")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in codes, f"{words[-200:]}: {result.exit_code} {result.output[-500:]}"


def cleared() -> None:
    shutil.rmtree("made", ignore_errors=True)
    for name in ("out", "page.html", "plan", "spans.out"):
        Path(name).unlink(missing_ok=True)


def lines_run(words: str, codes: tuple[int, ...]) -> int:
    """How many lines of rageval a command line runs; one that is a loop counts each time round."""
    number = 0
    ours: dict[str, bool] = {}

    def line(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal number
        number += 1
        return line

    def call(frame: FrameType, event: str, argument: object) -> Any:
        name = frame.f_code.co_filename
        if name not in ours:
            ours[name] = name.startswith(OURS) or name.endswith(".jinja")
        return line if ours[name] else None

    cleared()
    before = sys.gettrace()
    sys.settrace(call)
    try:
        done(words, codes)
    finally:
        sys.settrace(before)
    return number


CASES = [
    pytest.param(growing, id=f"{name}-{index}-{growing.thing}")
    for name, several in GROWS.items()
    for index, growing in enumerate(several)
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "store.sqlite"))


def test_every_command_is_in_a_table() -> None:
    assert sorted(path for path, _ in walked() if path) == sorted({*GROWS, *OTHERS})
    assert not GROWS.keys() & OTHERS.keys()


@pytest.mark.slow
@pytest.mark.some(11)
@pytest.mark.parametrize("growing", CASES)
def test_twice_the_input_runs_twice_the_lines(growing: Growing) -> None:
    growing.make(growing.number)
    cleared()
    done(growing.words, growing.codes)  # imports, and what is kept for later calls
    once = lines_run(growing.words, growing.codes)
    growing.make(2 * growing.number)
    twice = lines_run(growing.words, growing.codes)
    assert twice <= RATIO * once + SLACK, f"{growing.thing}: {once:,} lines, and {twice:,} of twice as much"
