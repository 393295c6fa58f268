"""People's first ten commands, from files of their own: no dead ends, and a number at once.

    python tests/first_commands.py

plays them with the rageval that is installed, each in a folder of its own; tests/docs/test_first_commands.py
plays them in this process. Who comes with a DataFrame needs pandas, and is left out where it is not there.
"""

from __future__ import annotations

import ast
import csv
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

QUERIES = 30
HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
NOTEBOOK = EXAMPLES / "six_cells.ipynb"


class Done(NamedTuple):
    """What became of a command."""

    code: int
    out: str
    err: str


Runner = Callable[
    [Path, Sequence[str]], Done
]  # in a folder, the words of a command: "rageval …" or "python …"


class Typed(NamedTuple):
    """A command, the exit codes that are no dead end, and what must be printed."""

    line: str
    codes: tuple[int, ...] = (0,)
    shows: str = ""


# --- What they come with


def answers(right: int) -> list[dict[str, object]]:
    """Answers to questions, so many of them right."""
    return [
        {
            "question": f"Who was king number {index} of the land?",
            "answer": f"It was Name{index} Word{index % 5}." if index < right else "It was somebody else.",
            "gold": f"Name{index} Word{index % 5}",
            "contexts": [f"Name{index} Word{index % 5} was a king."],
            "topic area": "ab"[index % 2],
        }
        for index in range(QUERIES)
    ]


def tables(folder: Path) -> None:
    """Write a table of before and one of after, as a spreadsheet saves them."""
    for name, right in (("before", 12), ("after", 24)):
        rows = [{**row, "contexts": json.dumps(row["contexts"])} for row in answers(right)]
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def ragas_lines(folder: Path) -> None:
    """Write JSON lines by the names that ragas has."""
    names = {
        "question": "user_input",
        "answer": "response",
        "gold": "reference",
        "contexts": "retrieved_contexts",
    }
    for name, right in (("before", 12), ("after", 24)):
        rows = [{names.get(key, key): value for key, value in row.items()} for row in answers(right)]
        (folder / f"{name}.jsonl").write_text(
            "".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8"
        )


def runs(folder: Path) -> None:
    """Write a run, a baseline and judgements."""
    for name, first in (("own", 1), ("bm25", 3)):
        lines = (
            f"q{query} Q0 d{query}-{doc} {doc} {20 - (doc - first) ** 2} {name}\n"
            for query in range(QUERIES)
            for doc in range(1, 9)
        )
        (folder / f"{name}.run").write_text("".join(lines))
    lines = (f"q{query} 0 d{query}-{1 + (query % 3 == 0)} 1\n" for query in range(QUERIES))
    (folder / "qrels").write_text("".join(lines))


def organizers(folder: Path) -> None:
    """Write twelve tables, and labels of some of the answers by a person."""
    (folder / "submissions").mkdir()
    labels = []
    for team in range(12):
        rows = [{"id": f"t{index}", **row} for index, row in enumerate(answers(6 + 2 * team))]
        with (folder / "submissions" / f"team{team}.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, ["id", "question", "answer", "gold"], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        for row in rows[:25]:
            label = "perfect" if str(row["gold"]) in str(row["answer"]) else "incorrect"
            labels.append({"query_id": row["id"], "run_id": f"team{team}", "label": label})
    more = {"judge": "person:ann", "rubric": "crag"}
    (folder / "labels.jsonl").write_text("".join(f"{json.dumps({**row, **more})}\n" for row in labels))


def plug_in(folder: Path) -> None:
    """Write a measure, and what tries it."""
    runs(folder)
    (folder / "patience.py").write_text(
        "import math\nimport rageval\n\n\n"
        '@rageval.measure(limits=(0, 1), sees="relevant")\n'
        "def patience(ranking, *, k=None, p: float = 0.8, rel: int = 1):\n"
        '    """What a reader finds who goes on with chance p."""\n'
        "    return (1 - p) * math.fsum(p ** (hit.rank - 1) for hit in ranking.hits(k, rel))\n"
    )


def tables_with_holes(folder: Path) -> None:
    """Write tables as they are exported: blank gold answers and answers, a row less, and an error's text."""
    for name, right in (("before", 12), ("after", 24)):
        rows = [{"id": f"r{number}", **row} for number, row in enumerate(answers(right))]
        rows[3]["gold"] = ""
        rows[5]["answer"] = "" if name == "before" else "nan"
        rows[7]["answer"] = "Error: 429 Too Many Requests"
        del rows[-1 if name == "before" else 0]
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, ["id", "question", "answer", "gold"], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)


def agents(folder: Path) -> None:
    """Copy the traces, messages and steps of two agents, and what is right for their questions."""
    for name in ("traces.jsonl", "messages.jsonl", "steps.jsonl", "answers.jsonl"):
        shutil.copy(EXAMPLES / "data/agents" / name, folder)
    shutil.copy(EXAMPLES / "data/agents/qrels.nugget", folder / "qrels")


def conversations(folder: Path) -> None:
    """Write conversations of two versions as tables, a row a turn."""
    for name, right in (("before", 12), ("after", 24)):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
            fields = ("conversation_id", "turn", "question", "answer", "gold")
            writer = csv.DictWriter(stream, fields, extrasaction="ignore")
            writer.writeheader()
            for number, row in enumerate(answers(right)):
                writer.writerow({**row, "conversation_id": f"c{number % 10}", "turn": 1 + number // 10})


def notebook(folder: Path) -> None:
    """Copy the example notebook."""
    shutil.copy(NOTEBOOK, folder)


def values_of_cells(path: Path, most: int | None = None) -> list[Any]:
    """Run the cells of a notebook, or the first ones; return what each shows beneath it."""
    names: dict[str, Any] = {}
    values = []
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for cell in [cell for cell in cells if cell["cell_type"] == "code"][:most]:
        *rest, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(rest, []), "cell", "exec"), names)
        assert isinstance(last, ast.Expr)
        values.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
    return values


# --- What they type

_TABLES = (
    Typed("rageval compare before.{0} after.{0}", shows="crag_score"),
    Typed("rageval score before.{0} after.{0}", shows="-0.2"),
    Typed("rageval gate after.{0} --baseline before.{0}", (2,), "--margin"),
    Typed("rageval gate after.{0} --baseline before.{0} --margin 0.05 --judge short", shows="ship"),
    Typed("rageval init", shows="rageval gate after.{0}"),
    Typed("rageval gate after.{0}", (0, 1, 5), "crag_score"),
    Typed("rageval judge crag after.{0} -o judged.jsonl", shows=""),
    Typed("rageval judged.jsonl", shows="crag_score"),
    Typed("rageval report before.{0} after.{0} -o page.html", (0, 2), "page"),
    Typed("rageval doctor before.{0}", (0, 1)),
)
_FRAMES = """
import rageval, pandas, warnings
warnings.simplefilter("ignore")
before, after = (pandas.read_json(f"{name}.jsonl", lines=True) for name in ("before", "after"))
judged = rageval.judge("crag", {"before": before, "after": after}, measures="crag_score")
"""
_RUNS = """
import rageval
found = rageval.evaluate("ndcg@5 recall@5", ["own.run", "bm25.run"], "qrels")
"""
_OWN = """
import rageval; from patience import patience
from rageval.testing import check_measure
"""

_CELLS = f"""
import sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {str(HERE)!r})
from first_commands import Path, values_of_cells
shown = lambda number: values_of_cells(Path("six_cells.ipynb"), number)[-1]
"""


def _tables(form: str) -> tuple[Typed, ...]:
    return tuple(
        table._replace(line=table.line.format(form), shows=table.shows.format(form)) for table in _TABLES
    )


def _python(before: str, code: str, shows: str = "", codes: tuple[int, ...] = (0,)) -> Typed:
    return Typed(f"python -c {shlex.quote(before + code)}", codes, shows)


PEOPLE: dict[str, tuple[Callable[[Path], None], tuple[Typed, ...]]] = {
    "researcher with runs": (
        runs,
        (
            Typed("rageval own.run qrels -m ndcg@5", shows="ndcg@5"),
            Typed("rageval own.run bm25.run qrels", (2,), "-m ndcg@10"),
            Typed("rageval own.run bm25.run qrels -m ndcg@5,map", shows="bm25.run"),
            Typed("rageval own.run bm25.run qrels -m nDCG@5,P_5", (0, 2), ""),
            Typed("rageval compare own.run bm25.run qrels -m ndcg@5 --baseline bm25.run", shows="higher"),
            Typed("rageval doctor own.run bm25.run qrels", (0, 1), ""),
            Typed("rageval own.run qrels -m ndcg@5 -q", shows="q7"),
            Typed("rageval compare own.run bm25.run qrels -m ndcg@5 --format latex", shows="toprule"),
            Typed("rageval report own.run bm25.run qrels -m ndcg@5 -o page.html", (0, 2), "page"),
            Typed("rageval measures ndcg", shows="ndcg"),
        ),
    ),
    "engineer with a spreadsheet": (tables, _tables("csv")),
    "engineer with ragas' names": (
        ragas_lines,
        _tables("jsonl"),
    ),
    "engineer with a DataFrame": (
        ragas_lines,
        (
            _python(_FRAMES, "print(judged.scores)", "-0.2"),
            _python(_FRAMES, "print(rageval.compare(judged.scores))", "higher"),
            _python(_FRAMES, "print(judged.to_pandas().shape)", "60"),
            _python(_FRAMES, "print(judged.failed)", "[]"),
            _python(_FRAMES, 'judged.save("judged.jsonl")'),
            Typed("rageval judged.jsonl", shows="crag_score"),
            Typed("rageval compare judged.jsonl", shows="higher"),
            _python(_FRAMES, 'print(float(judged.scores["after"]["crag_score"]))', "0.6"),
            _python(
                _FRAMES, 'print(rageval.gate(after, baseline=before, judge="short", margin=0.05))', "ship"
            ),
            _python(_FRAMES, "print(judged.scores.to_pandas())", "crag_score"),
        ),
    ),
    "organizer with twelve tables": (
        organizers,
        (
            Typed("rageval track submissions --track answers --judge short -o out", (0, 2), "crag_score"),
            Typed("rageval validate submissions/team3.csv --track answers", (0, 1)),
            Typed("rageval track submissions --track answers -o out", (2,), "--judge"),
            Typed(
                "rageval track submissions --track answers --judge short --gold labels.jsonl"
                " --gold-chosen uniform --stage score -o corrected",
                shows="0.",
            ),
            Typed("rageval score submissions/team0.csv submissions/team11.csv", shows="crag_score"),
            Typed("rageval compare submissions/team0.csv submissions/team11.csv", shows="higher"),
            Typed("rageval judge crag submissions/team3.csv -o judged.jsonl"),
            Typed("rageval label agree judged.jsonl labels.jsonl", (0, 2)),
            Typed("rageval label plan judged.jsonl -n 5 -o plan.jsonl", shows="5 of"),
            Typed("rageval doctor submissions/team3.csv", shows="nothing suspicious"),
        ),
    ),
    "author of a plug-in": (
        plug_in,
        (
            _python(_OWN, 'print(rageval.evaluate(patience @ 5, "own.run", "qrels"))', "patience@5"),
            _python(_OWN, "check_measure(patience @ 5)"),
            _python(_OWN, 'print(rageval.compare(patience @ 5, ["own.run", "bm25.run"], "qrels"))', "lower"),
            Typed("rageval measures", shows="alpha_ndcg"),
            Typed("rageval measures alpha_ndcg", shows="Formula"),
            Typed("rageval own.run qrels -m patience@5", (2,), "patience"),
            Typed("rageval own.run qrels -m ndcg@5", shows="ndcg@5"),
            Typed("rageval doctor own.run qrels", (0, 1)),
            Typed("rageval datasets", shows="freshstack"),
            Typed("rageval rubrics", shows="crag"),
        ),
    ),
    "somebody in a notebook": (
        runs,
        (
            _python(_RUNS, "print(found._repr_html_())", "<table"),
            _python(_RUNS, "print(found)", "ndcg@5"),
            _python(_RUNS, 'print(found["own.run"]["ndcg@5"].value)', "0."),
            _python(_RUNS, 'print(format(found["own.run"]["ndcg@5"], ".3f"))', "0."),
            _python(_RUNS, "print(rageval.compare(found)._repr_html_())", "lower"),
            _python(_RUNS, "print(found.to_latex())", "toprule"),
            _python(_RUNS, "print(found.remarks)", "rank column"),
            _python(_RUNS, 'rageval.evaluate("own.run", "qrels", "ndcg@5")', "the order is", (1,)),
            _python(_RUNS, 'print(rageval.report(rageval.compare(found), "page.html"))', "", (0, 1)),
            _python(_RUNS, 'rageval.gate("own.run", "qrels", "map", baseline="x", margin=0.1)', "x", (1,)),
        ),
    ),
    "engineer with holes in the tables": (
        tables_with_holes,
        (
            Typed("rageval compare before.csv after.csv --intersection", shows="after is better than before"),
            Typed("rageval compare before.csv after.csv", shows="after is better than before"),
            Typed("rageval compare before.csv after.csv --intersection --format json", shows="better_run"),
            Typed(
                "rageval gate after.csv --baseline before.csv --margin 0.05 --judge short",
                (3,),
                "--intersection",
            ),
            Typed("rageval judge crag after.csv --judge short -o judged.jsonl", (2,), "gold"),
            Typed("rageval doctor before.csv after.csv", shows="without a right answer"),
            Typed("rageval validate after.csv --track answers", shows="fine"),
            Typed("rageval import after.csv -o after --tool records", (2,), "--map"),
            Typed("rageval report before.csv after.csv --intersection -o page.html", (0, 2), "page"),
            Typed("rageval score before.csv after.csv --intersection", shows="crag_score"),
        ),
    ),
    "researcher with traces of agents": (
        agents,
        (
            Typed("rageval traces.jsonl qrels -m 'seen_recall cost'", shows="planner"),
            Typed("rageval steps.jsonl qrels -m seen_recall@1,2", shows="reader"),
            Typed("rageval compare traces.jsonl qrels -m seen_recall", shows="planner"),
            Typed("rageval compare steps.jsonl qrels -m seen_recall --against cost", shows="front"),
            Typed("rageval import messages.jsonl --only steps --search-tool bm25 -o made.jsonl"),
            Typed("rageval made.jsonl qrels -m 'seen_recall searches'", shows="searches"),
            Typed("rageval steps.jsonl qrels --answers answers.jsonl -m 'kept cited_recall'", shows="kept"),
            Typed("rageval steps.jsonl qrels", (0, 2), "-m"),
            Typed("rageval doctor steps.jsonl qrels", (0, 1)),
            Typed("rageval measures seen_recall", shows="Formula"),
        ),
    ),
    "engineer with conversations": (
        conversations,
        (
            Typed("rageval compare before.csv after.csv", shows="crag_score"),
            Typed("rageval compare before.csv after.csv --by turn", shows="turn"),
            Typed("rageval judge crag after.csv --judge short -o judged.jsonl"),
            Typed("rageval judged.jsonl --questions after.csv -m conversation_score", shows="0."),
            Typed("rageval judged.jsonl -m conversation_score", (2,), "--questions"),
            Typed("rageval score before.csv after.csv --by turn", shows="turn"),
            Typed("rageval gate after.csv --baseline before.csv --margin 0.05 --judge short", shows="ship"),
            Typed("rageval compare before.csv after.csv --cluster none", shows="crag_score"),
            Typed("rageval doctor after.csv", (0, 1)),
            Typed("rageval report before.csv after.csv -o page.html", (0, 2), "page"),
        ),
    ),
    "somebody who opens the notebook": (
        notebook,
        (
            _python(_CELLS, "print(shown(2))", "0.8"),
            _python(_CELLS, "print(shown(1).shape)", "(3, 6)"),
            _python(_CELLS, "print(shown(2)._repr_html_())", "<table"),
            _python(_CELLS, "print(shown(3).shape)", "(3, 2)"),
            _python(_CELLS, "print(shown(4)._repr_html_())", "<svg"),
            _python(_CELLS, "print(shown(5)._repr_png_()[1])", "width"),
            _python(_CELLS, "print(shown(6)._repr_html_())", "short"),
            _python(_CELLS, "print(shown(4).to_latex())", "toprule"),
            _python(_CELLS, "print(shown(4).to_pandas().shape)", "2"),
            _python(_CELLS, "import rageval; print(sorted(rageval.demo()))", "baseline"),
        ),
    ),
    "somebody with nothing yet": (
        lambda folder: None,
        (
            Typed("rageval demo", shows="rageval-demo/v2.csv"),
            Typed("rageval rageval-demo/run.trec rageval-demo/qrels.nugget -m alpha_ndcg@5", shows="0."),
            Typed("rageval compare rageval-demo/v1.csv rageval-demo/v2.csv", shows="higher"),
            Typed("rageval", (0, 2), "score"),
            Typed("rageval --help", shows="score"),
            Typed("rageval evaluate rageval-demo/run.trec", (2,), "rageval score"),
            Typed("rageval help", (2,), "rageval --help"),
            Typed("rageval score", (2,), ""),
            Typed("rageval compare --help", shows="--baseline"),
            Typed("rageval --version", shows="rageval"),
        ),
    ),
}
NEEDS = {  # of extras
    "engineer with a DataFrame": ("pandas",),
    "organizer with twelve tables": ("jinja2",),
    "somebody who opens the notebook": ("pandas", "matplotlib"),
}
_WAY_ON = re.compile(r"--\w|rageval|expected|pip install|no such|order is|did you mean", re.IGNORECASE)


def lacking(person: str) -> list[str]:
    """Return the packages that a person needs and that are not installed."""
    return [package for package in NEEDS.get(person, ()) if find_spec(package) is None]


def wrong_with(typed: Typed, result: Done) -> str:
    """Return what makes a command a dead end; nothing if it is none."""
    if "Traceback" in result.err and result.code != 1:
        return "a traceback"
    if result.code not in typed.codes:
        return f"exit code {result.code}, expected {typed.codes}"
    if typed.shows not in result.out + result.err:
        return f"does not show {typed.shows!r}"
    if result.code == 2 and not _WAY_ON.search(result.err):
        return "an error without a way on"
    return ""


def play(person: str, folder: Path, run: Runner) -> list[str]:
    """Type a person's commands in a folder; return the dead ends, in lines."""
    write, commands = PEOPLE[person]
    write(folder)
    outputs = []
    for number, typed in enumerate(commands):
        result = run(folder, shlex.split(typed.line))
        wrong = wrong_with(typed, result)
        if not wrong and number == 0 and "nothing" not in person and not re.search(r"\d\.\d", result.out):
            wrong = "the first command says no number"
        if wrong:
            outputs.append(f"{person}: {typed.line}: {wrong}\n{result.out[-1000:]}{result.err[-1000:]}")
    return outputs


def _installed(folder: Path, words: Sequence[str]) -> Done:
    programs = {"rageval": [sys.executable, "-m", "rageval"], "python": [sys.executable]}
    process = subprocess.run(
        [*programs[words[0]], *words[1:]], cwd=folder, capture_output=True, text=True, timeout=300
    )
    return Done(process.returncode, process.stdout, process.stderr)


def main() -> int:
    """Play all people; print how long each took, and the dead ends."""
    outputs = []
    for person in PEOPLE:
        if lacking(person):
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            outputs += play(person, Path(folder), _installed)
        print(f"{person}: {len(PEOPLE[person][1])} commands in {time.monotonic() - began:.1f} s")
    print("\n".join(outputs))
    return bool(outputs)


if __name__ == "__main__":
    sys.exit(main())
