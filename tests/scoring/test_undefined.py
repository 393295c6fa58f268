"""A number that does not rest on all queries says so: in every format, of every command, on every page."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rageval.cli import main
from rageval.cli.compare import _FORMATS as OF_COMPARE
from rageval.cli.score import _FORMATS
from rageval.measures import builtin, measures_taking

OF_RUNS = sorted(measures_taking("Ranking"))
REMARK = "rests on 1 of 4 queries; on the others undefined"
ONE_SET = ("freshstack-leaderboard",)  # of measures
BOARDS = ("leaderboard-tot", "leaderboard-ir_measures", "leaderboard-jsonl")
PIPED = ("trec", "ir_measures", "ndeval", *BOARDS)  # whose lines other programs read: no room for a count


def command(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="rageval", env={"COLUMNS": "200"})


@pytest.fixture
def judged(tmp_path: Path) -> str:
    """Four questions, one of which has vital nuggets."""
    lines = [
        {
            **{"query_id": f"q{query}", "run_id": run, "aspect": f"n{nugget}", "rubric": "nugget-assignment"},
            **{"label": label, "importance": "vital" if query == 0 else "okay"},
        }
        for run, label in (("ours", "support"), ("theirs", "partial_support"))
        for query in range(4)
        for nugget in range(3)
    ]
    path = tmp_path / "judged.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "fields.jsonl").write_text(
        "".join(
            json.dumps({"query_id": f"q{query}", "query": "?", "domain": "ab"[query // 2]}) + "\n"
            for query in range(4)
        )
    )
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two runs on four queries, three of which have nothing relevant."""
    judged = "".join(f"q{query} n d {int(query == 0)}\n" for query in range(4))
    (tmp_path / "qrels").write_text(judged)
    for name, scores in (("one", (2.0, 1.0)), ("two", (1.0, 2.0))):
        rows = [
            f"q{query} Q0 {doc} 0 {score} t\n"
            for query in range(4)
            for doc, score in zip("de", scores, strict=True)
        ]
        (tmp_path / name).write_text("".join(rows))
    return [str(tmp_path / name) for name in ("one", "two", "qrels")]


SHEETS = {"csv": ",", "tsv": "\t"}


def counts(text: str, style: str) -> list[tuple[int, int]]:
    """On how many queries each number rests, and is undefined, as far as this output says so."""
    if style in ("json", "jsonl"):
        records = json.loads(text)["results"] if style == "json" else map(json.loads, text.splitlines())
        return [(row["queries"], row["undefined"]) for row in records]
    if style in SHEETS:
        rows = csv.DictReader(io.StringIO(text), delimiter=SHEETS[style])
        return [(int(row["queries"]), int(row["undefined"])) for row in rows]
    counts_found = re.findall(r"\(n=(\d+)\)|n=(\d+), undefined=(\d+)", text)
    return [(int(short or n), int(undefined or 3)) for short, n, undefined in counts_found]


@pytest.mark.slow
@pytest.mark.parametrize("style", [style for style in _FORMATS if style not in ONE_SET])
def test_of_judged_answers(judged: str, style: str) -> None:
    for measures in ("v_strict", "a_strict,v_strict"):
        result = command(judged, "-m", measures, "--format", style)
        assert result.exit_code == 0
        assert f"ours: nugget_recall(importance=vital) {REMARK}" in result.stderr
        assert style in PIPED or (1, 3) in counts(result.stdout, style)


@pytest.mark.some(3)
@pytest.mark.parametrize("style", [style for style in _FORMATS if style not in ONE_SET])
def test_of_every_measure_of_runs(files: list[str], style: str) -> None:
    """With three of four queries left undefined, or left out."""
    measures = [str(builtin()[name]) for name in OF_RUNS]
    words = [*files, *(word for measure in measures for word in ("-m", measure)), "--format", style]
    result = command(*words, "--zero-rel", "nan")
    assert result.exit_code == 0
    assert result.stderr.count(f"{', '.join(measures)} {REMARK.replace('rests', 'rest')}") == 2
    printed_counts = counts(result.stdout, style)
    # A table says once what is the same everywhere, and a citation what is so of both runs.
    once = {"table": ["ours"], "cite": measures}.get(style, 2 * measures)
    assert style in PIPED or printed_counts == [(1, 3) for _ in once]
    result = command(*words, "--zero-rel", "skip")
    assert "3 of 4 judged queries have no relevant documents (they are left out)" in result.stderr
    assert style not in ("md", "latex") or result.stdout.count("(n=1)") == 2 * len(measures)


@pytest.mark.slow
@pytest.mark.parametrize("style", _FORMATS)
def test_a_number_that_rests_on_all_queries_says_nothing(judged: str, style: str) -> None:
    if style not in ONE_SET:
        result = command(judged, "-m", "a_strict", "--format", style)
        assert (result.stderr, "(n=" in result.stdout) == ("", False)


def test_the_leaderboard_has_no_room_and_says_it_beside(files: list[str]) -> None:
    from rageval.scoring.evaluation import evaluate
    from rageval.scoring.scores import undefined_remarks

    scores = evaluate("official:freshstack", files[0], files[2], zero_rel="nan")
    (remark,) = map(str, undefined_remarks(scores))
    assert (
        remark == "one: alpha_ndcg@10, coverage@20, recall@50 rest on 1 of 4 queries; on the others undefined"
    )


@pytest.mark.parametrize("words", [["--intersection"], ["--compat", "trec_eval"]], ids=str)
def test_queries_that_the_run_lacks_and_that_are_left_out(
    files: list[str], tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "short").write_text("q0 Q0 d 0 1 t\n")
    result = command(str(tmp_path / "short"), files[2], "-m", "rr", *words, "--format", "md")
    assert "3 of 4 judged queries are not in the run (are left out" in result.stderr
    assert "1.0000 (n=1)" in result.stdout


def test_a_measure_that_is_undefined_everywhere_is_nan(judged: str) -> None:
    Path(judged).write_text(Path(judged).read_text().replace('"vital"', '"okay"'))
    result = command(judged, "-m", "v_strict", "--format", "trec")
    assert result.exit_code == 0
    assert [line.split()[-1] for line in result.stdout.splitlines()] == ["nan", "nan"]
    assert "ours: nugget_recall(importance=vital): undefined on each of 4 queries" in result.stderr
    assert (
        json.loads(command(judged, "-m", "v_strict", "--format", "json").stdout)["results"][0]["value"]
        is None
    )
    gated = command(judged, "-m", "a_strict", "--fail-under", "v_strict=0.5")
    assert (gated.exit_code, "no defined value" in gated.stderr) == (1, True)


@pytest.mark.slow
@pytest.mark.parametrize("style", OF_COMPARE)
def test_compare_counts_undefined_queries_of_both_systems(judged: str, style: str) -> None:
    result = command("compare", judged, "-m", "v_strict,a_strict", "--format", style, "--details")
    assert result.stderr.count(REMARK) == 2
    if style in SHEETS:
        first, second = csv.DictReader(io.StringIO(result.stdout), delimiter=SHEETS[style])
        assert (first["queries"], first["undefined"], first["other_undefined"]) == ("1", "3", "3")
        assert (second["queries"], second["undefined"], second["other_undefined"]) == ("4", "0", "0")
    elif style == "jsonl":
        pairs = map(json.loads, result.stdout.splitlines())
        assert [(row["queries"], row["undefined"]) for row in pairs] == [(1, 3), (4, 0)]
    elif style == "json":
        cells = json.loads(result.stdout)["values"]
        assert [(cell["queries"], cell["undefined"]) for cell in cells] == [(1, 3), (1, 3), (4, 0), (4, 0)]
    else:
        assert result.stdout.count("(n=1)") == (1 if style == "cite" else 2)


@pytest.mark.some(3)
@pytest.mark.parametrize("style", ["trec", "json", "jsonl", "csv", "md", "latex", "table"])
def test_slices_count_their_undefined_queries(judged: str, tmp_path: Path, style: str) -> None:
    by = ["--by", "domain", "--questions", str(tmp_path / "fields.jsonl")]
    result = command(judged, "-m", "v_strict", *by, "--format", style)
    assert result.exit_code == 0, result.stderr
    counts = slices_of(result.stdout, style)
    assert counts[:2] == [("domain=a", 1, 1), ("domain=b", 0, 2)]
    whole = command(judged, "-m", "a_strict", *by, "--format", style)
    assert style in ("json", "jsonl", "csv") or "undefined" not in whole.stdout


def slices_of(text: str, style: str) -> list[tuple[str, int, int]]:
    """Of each slice its name, on how many queries it rests, and on how many it is undefined."""
    if style in ("json", "jsonl"):
        records: list[Any] = (
            json.loads(text)["results"]
            if style == "json"
            else [json.loads(line) for line in text.splitlines()]
        )
        return [
            (f"{row['field']}={row['name']}", row["queries"], row["undefined"])
            for record in records
            for row in record["slices"]
        ]
    rows = re.findall(r"(domain=\w).*?(\d+)\*?(?:, undefined=|\W+)(\d+)[^\d.]*$", text, re.MULTILINE)
    return [(name, int(queries), int(undefined)) for name, queries, undefined in rows]


def test_the_report_counts_undefined_queries(judged: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = command("report", judged, "-m", "v_strict,a_strict", "-o", str(page))
    assert result.exit_code == 0
    assert result.stderr.count(REMARK) == 2
    table = page.read_text().partition('id="overview"')[2].partition("</table>")[0]
    assert table.count("n=1, undefined=3") == 2


class TestHalfJudged:
    """Some queries of which nothing is judged, and many unjudged documents at the top."""

    def write(self, folder: Path, unjudged: int, total: int, below: int = 1) -> list[str]:
        run, qrels = [], []
        for query in range(total):
            docs = ["x", "y"] if query < unjudged else ["good", "bad"]
            run += [f"q{query} Q0 {doc} 0 {-rank} t\n" for rank, doc in enumerate(docs)]
            qrels += [f"q{query} 0 good 1\n", *(f"q{query} 0 bad 0\n" for _ in range(below))]
        (folder / "run").write_text("".join(run))
        (folder / "qrels").write_text("".join(qrels))
        return [str(folder / "run"), str(folder / "qrels")]

    @pytest.mark.parametrize("below", [0, 1])
    @pytest.mark.parametrize(("unjudged", "total"), [(1, 20), (3, 20), (5, 20), (1, 21), (0, 20), (1, 1)])
    def test_queries_without_anything_judged(
        self, tmp_path: Path, unjudged: int, total: int, below: int
    ) -> None:
        result = command(*self.write(tmp_path, unjudged, total, below), "-m", "rr")
        stderr = f"no document is judged in {unjudged:,} of {total:,} queries: q0" in result.stderr
        assert stderr == (0 < unjudged < total and unjudged >= 0.05 * total)
        assert (", q1, q2, …" in result.stderr) == (unjudged == 5)

    @pytest.mark.parametrize(
        ("unjudged", "message"), [(0, ""), (3, ""), (4, "20% of the top 2"), (10, "50% of the top 2")]
    )
    def test_unjudged_documents_at_the_top(self, tmp_path: Path, unjudged: int, message: str) -> None:
        words = [*self.write(tmp_path, unjudged, 20), "-m", "recall@1,2"]
        result = command(*words)
        assert (
            f"{message} is unjudged, counted as not relevant; use --bounds" in result.stderr
            if message
            else True
        )
        assert bool(message) == ("is unjudged" in result.stderr)
        bounded = command(*words, "--bounds").stderr
        assert (bool(message), False) == ("is unjudged" in bounded, "; use --bounds" in bounded)
        assert "is unjudged" not in command(*words, "--judged-only").stderr

    def test_nothing_is_said_of_judgements_that_are_positive_only(self, tmp_path: Path) -> None:
        result = command(*self.write(tmp_path, 10, 20, below=0), "-m", "recall@2")
        assert "no document is judged in 10 of 20 queries" in result.stderr
        assert "is unjudged" not in result.stderr

    def test_nothing_is_said_without_a_cut_off(self, tmp_path: Path) -> None:
        assert "is unjudged" not in command(*self.write(tmp_path, 10, 20), "-m", "ap").stderr

    def test_documents_below_the_cut_off_do_not_count(self, tmp_path: Path) -> None:
        words = self.write(tmp_path, 0, 20)
        deep = "".join(f"q{query} Q0 z{rank} 0 {-rank} t\n" for query in range(20) for rank in range(2, 99))
        Path(words[0]).write_text(Path(words[0]).read_text() + deep)
        assert "is unjudged" not in command(*words, "-m", "recall@2").stderr
        assert "98% of the top 99 is unjudged" in command(*words, "-m", "recall@1,99").stderr
        assert "60% of the top 5 is unjudged" in command(*words, "-m", "recall@99", "-M", "5").stderr
