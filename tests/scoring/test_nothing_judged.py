"""A run of which no document is judged gives no number without a word, whatever asks or reads it."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rageval
from rageval.cli import main
from rageval.cli.score import _FORMATS
from rageval.measures import builtin, measures_taking
from rageval.names import unlike
from rageval.parallel import Divided, Forked
from rageval.scoring.sources import run_source
from reasons import why

DATA = Path(__file__).parents[2] / "examples" / "data"
RUN, BASELINE, QRELS = (str(DATA / name) for name in ("run.trec", "baseline.trec", "qrels.nugget"))
SAID = "no document of rechunk.trec is judged in any of 12 queries (300 retrieved, 294 judged)."
CAUSE = ' Without "#…" at the end 192 of the 300 are judged: another chunking?'
OF_RUNS = sorted(measures_taking("Ranking"))


def command(*words: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, list(words), input=stdin, prog_name="rageval")


def rewritten(path: str, change: Callable[[str], str], column: int = 2) -> str:
    rows = [line.split() for line in Path(path).read_text().splitlines()]
    for row in rows:
        row[column] = change(row[column])
    return "".join(" ".join(row) + "\n" for row in rows)


@pytest.fixture
def rechunk(tmp_path: Path) -> str:
    path = tmp_path / "rechunk.trec"
    path.write_text(rewritten(RUN, lambda doc: doc + "#chunk0"))
    return str(path)


def test_a_run_of_other_chunks_is_an_error_that_names_the_cause(rechunk: str) -> None:
    result = command(rechunk, QRELS, "-m", "alpha_ndcg@10")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"rageval: {SAID}{CAUSE} --nothing-judged zero")


@pytest.mark.slow
@pytest.mark.some(5)
@pytest.mark.parametrize("name", OF_RUNS)
def test_no_measure_gives_a_number(rechunk: str, name: str) -> None:
    result = command(rechunk, QRELS, "-m", str(builtin()[name]), "-q", "--format", "csv")
    assert (result.exit_code, result.stdout) == (2, "")
    assert SAID in result.stderr
    scored = command(rechunk, QRELS, "-m", str(builtin()[name]), "--nothing-judged", "zero")
    assert scored.exit_code == 0


@pytest.mark.slow
@pytest.mark.some(3)
@pytest.mark.parametrize("style", _FORMATS)
def test_no_format_shows_a_number(rechunk: str, style: str) -> None:
    result = command(rechunk, QRELS, "-m", "official:freshstack", "--format", style)
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "words",
    [
        ["-M", "3"],
        ["-J"],
        ["-l", "0"],
        ["-l", "2"],
        ["--intersection"],
        ["--zero-rel", "skip"],
        ["--ties", "expected"],
        ["--bounds"],
        ["--compat", "trec_eval"],
        ["-j", "2"],
        ["-m", "nDCG@10 SetP"],
        ["-m", "P@5", "--provider", "pytrec_eval"],
        ["--fail-under", "rr=0"],
    ],
    ids=" ".join,
)
def test_no_option_hides_it(rechunk: str, words: list[str]) -> None:
    chosen = words if "-m" in words else ["-m", "recall@20", *words]
    result = command(rechunk, QRELS, *chosen)
    assert (result.exit_code, result.stdout) == (2, "")
    assert SAID in result.stderr


@pytest.mark.slow
def test_of_several_runs_the_others_are_printed(rechunk: str) -> None:
    result = command(rechunk, RUN, QRELS, "-m", "rr", "--format", "csv")
    assert result.exit_code == 2
    assert "rechunk" not in result.stdout
    assert "run.trec,all,rr," in result.stdout
    assert SAID in result.stderr
    elsewhere = command(RUN, rechunk, BASELINE, QRELS, "-m", "rr", "--format", "csv", "-j", "2")
    assert (elsewhere.exit_code, elsewhere.stdout.count("\n")) == (2, 3)


def test_it_is_known_of_a_stream_too(rechunk: str) -> None:
    result = command("-", QRELS, "-m", "rr", stdin=Path(rechunk).read_bytes())
    assert result.exit_code == 2
    assert "(300 retrieved, 294 judged)." + CAUSE in result.stderr


class TestCompare:
    def test_refuses_a_verdict_where_zeros_were_asked_for(self, rechunk: str) -> None:
        words = ["compare", rechunk, RUN, QRELS, "-m", "rr", "--format", "json", "--nothing-judged", "zero"]
        result = command(*words)
        (pair,) = json.loads(result.stdout)["pairs"]
        assert (result.exit_code, pair["verdict"]) == (0, "refused")
        assert why(pair) == "rechunk.trec: none of its 300 documents is judged"


def test_a_report_names_it_and_is_about_the_others(rechunk: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = command("report", rechunk, RUN, BASELINE, QRELS, "-m", "rr", "-o", str(page))
    assert result.exit_code == 2
    page_data = json.loads(command("report", "show", str(page), "--format", "json").stdout)
    assert (page_data["runs"], page_data["unjudged"]) == (["run.trec", "baseline.trec"], ["rechunk.trec"])
    assert page_data["remarks"][0]["text"].startswith(SAID)
    alone = command("report", rechunk, QRELS, "-m", "rr", "-o", str(tmp_path / "none.html"))
    assert (alone.exit_code, (tmp_path / "none.html").exists()) == (2, False)


class TestCauses:
    """The search for what the ids differ by, over ways in which they are known to differ."""

    @pytest.mark.slow
    @pytest.mark.some(3)
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda doc: doc + "_7", 'Without "_…" at the end 192 of the 300'),
            (lambda doc: doc + "/p2", 'Without "/…" at the end 192 of the 300'),
            (lambda doc: doc + ":0-512", 'Without ":…" at the end 192 of the 300'),
            (lambda doc: doc + ".txt", 'Without ".…" at the end 192 of the 300'),
            (lambda doc: doc + "#a#b", 'Cut at the first "#" 192 of the 300'),
            (lambda doc: "corpus:" + doc, 'Without "…:" at the beginning 192 of the 300'),
            (str.upper, "But for case, leading zeros"),
            (lambda doc: doc.replace("/", "%2F"), "But for case, leading zeros"),
            (lambda doc: f"{random.Random(doc).random()}", "Are run and judgements of one collection?"),
        ],
    )
    def test_ids_of_documents_that_differ_by_a_rule_are_named(
        self, tmp_path: Path, change: Callable[[str], str], message: str
    ) -> None:
        run, qrels = tmp_path / "other.trec", tmp_path / "other.qrels"
        run.write_text(rewritten(RUN, change))
        assert message in command(str(run), QRELS, "-m", "rr").stderr
        if message.startswith(("Without", "But")):  # the other way round: the judgements have it
            qrels.write_text(rewritten(QRELS, change))
            assert message in command(RUN, str(qrels), "-m", "rr").stderr

    def test_ids_that_agree_by_chance_are_no_cause(self) -> None:
        """Passages in a few shards: cut at the mark, most of them are called alike."""
        draw = random.Random(7)
        run, qrels = (
            {str(q): {f"p_{draw.randrange(9)}_{draw.random()}": 1 for _ in range(40)} for q in range(9)}
            for _ in range(2)
        )
        with pytest.raises(rageval.errors.NothingJudged, match="of one collection"):
            rageval.evaluate("rr", run, qrels, nothing_judged="error")

    def test_of_queries_that_are_numbered_otherwise(self, tmp_path: Path) -> None:
        names = sorted({line.split()[0] for line in Path(RUN).read_text().splitlines()})
        following = dict(zip(names, [*names[1:], names[0]], strict=True))
        run = tmp_path / "run"
        run.write_text(rewritten(RUN, following.__getitem__, column=0))
        assert "are judged for other queries" in command(str(run), QRELS, "-m", "rr").stderr

    @pytest.mark.parametrize("change", [lambda query: f"{query}_0", lambda query: f"rag24/{query}"])
    def test_ids_of_queries_that_differ_by_a_rule_are_named(
        self, tmp_path: Path, change: Callable[[str], str]
    ) -> None:
        run = tmp_path / "run"
        run.write_text(rewritten(RUN, change, column=0))
        result = command(str(run), QRELS, "-m", "rr")
        assert result.exit_code == 2
        assert f"{change('7640')!r} would be '7640'" in result.stderr


class TestPython:
    def test_warns_once_and_gives_zeros(self, rechunk: str) -> None:
        with pytest.warns(rageval.errors.NothingJudged) as caught:
            scores = rageval.evaluate("alpha_ndcg@10, recall@20", rechunk, QRELS)
        (warning,) = caught
        assert str(warning.message).startswith(SAID + CAUSE)
        assert warning.filename == __file__
        assert (scores.judged, [score.value for score in scores.values()]) == (0, [0.0, 0.0])

    def test_raises_or_is_silent_if_asked_to(self, rechunk: str) -> None:
        with pytest.raises(rageval.InputError, match="no document of rechunk"):
            rageval.evaluate("rr", rechunk, QRELS, nothing_judged="error")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert rageval.evaluate("rr", rechunk, QRELS, nothing_judged="zero")["rr"].value == 0
            assert rageval.evaluate("rr", RUN, QRELS)["rr"].value > 0
        with pytest.raises(ValueError, match="nothing_judged='loud': expected one of warn, error, zero"):
            rageval.evaluate("rr", rechunk, QRELS, nothing_judged="loud")

    def test_a_document_that_is_judged_and_not_relevant_is_judged(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scores = rageval.evaluate("rr", {"q": {"bad": 1.0}}, {"q": {"bad": 0, "good": 1}})
        assert (scores["rr"].value, scores.judged) == (0.0, 1)


def drawn(seed: int) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, dict[str, int]]]]:
    draw = random.Random(seed)
    run = {
        f"q{q}": {f"d{d}": draw.choice([1.0, 2.0, draw.random()]) for d in range(40)} for q in range(1, 30)
    }
    qrels = {
        f"q{q}": {
            f"n{n}": {f"d{draw.randrange(-99, 60)}": draw.choice([-1, 0, 0, 0, 1, 2]) for _ in range(9)}
            for n in range(3)
        }
        for q in range(28)
    }
    return run, qrels


def counted(run: dict[str, Any], qrels: dict[str, Any]) -> dict[str, int]:
    """By brute force."""
    judged = {query: {doc for docs in nuggets.values() for doc in docs} for query, nuggets in qrels.items()}
    return {query: len(judged[query] & set(run[query])) for query in qrels if query in run}


def forms(folder: Path, run: dict[str, Any], qrels: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    rows = [(q, doc, score) for q, docs in run.items() for doc, score in docs.items()]
    lines = [
        (q, n, doc, g) for q, inner in qrels.items() for n, docs in inner.items() for doc, g in docs.items()
    ]
    (folder / "run").write_text("".join(f"{q} Q0 {doc} 0 {score!r} t\n" for q, doc, score in rows))
    mixed = random.Random(1).sample(rows, len(rows))
    (folder / "mixed").write_text("".join(f"{q} Q0 {doc} 0 {score!r} t\n" for q, doc, score in mixed))
    (folder / "qrels").write_text("".join(f"{q} {n} {doc} {grade}\n" for q, n, doc, grade in lines))
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    judged = pandas.DataFrame(lines, columns=["query_id", "iteration", "doc_id", "relevance"])
    frame.to_parquet(folder / "run.parquet")
    judged.to_parquet(folder / "qrels.parquet")
    yield run, qrels
    yield folder / "run", folder / "qrels"
    yield folder / "mixed", folder / "qrels"
    yield frame, judged
    yield folder / "run.parquet", folder / "qrels.parquet"
    parts = Divided.of(run_source(folder / "run"), Forked(2))
    parts.smallest = 2000
    yield parts, folder / "qrels"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "rules",
    [{}, {"depth": 2}, {"judged_only": True}, {"rel": 2}, {"ties": "expected"}, {"compat": "pyndeval"}],
    ids=str,
)
def test_how_many_documents_are_judged_is_counted_at_any_rank_and_grade(
    tmp_path: Path, seed: int, rules: dict[str, Any]
) -> None:
    run, qrels = drawn(seed)
    expected = counted(run, qrels)
    for given, judgements in forms(tmp_path, run, qrels):
        for measure in ("recall@2", "coverage", "alpha_ndcg@3, recall@5"):
            scores = rageval.evaluate(measure, given, judgements, **rules)
            assert scores.judged_by_query == expected
            assert scores.judged == sum(expected.values())


def test_parts_count_as_the_whole_does(tmp_path: Path) -> None:
    """With workers of another kind, too; and what stands in the JSON is the same."""
    run, qrels = drawn(5)
    list(forms(tmp_path, run, qrels))
    whole = rageval.evaluate("recall@3", tmp_path / "run", tmp_path / "qrels")
    with ThreadPoolExecutor(2) as executor:
        parted = rageval.evaluate("recall@3", tmp_path / "run", tmp_path / "qrels", executor=executor)
    assert (str(parted), parted.judged_by_query) == (str(whole), whole.judged_by_query)
    assert parted.notes == whole.notes


def test_help_names_the_option() -> None:
    for name in ("score", "compare", "report"):
        assert re.search(r"--nothing-judged \[error\|zero\]", command(name, "--help-all").stdout)


def test_the_doctor_finds_it_and_the_cause(rechunk: str) -> None:
    result = command("doctor", rechunk, QRELS)
    assert result.exit_code == 1
    (error,) = [line for line in result.stdout.splitlines() if ": error: " in line]
    assert error.startswith(f"{rechunk}:1: error: no document of")
    assert "is judged in any of 12 queries (300 retrieved, 294 judged)." + CAUSE in error
    assert ": error: " not in command("doctor", RUN, QRELS).stdout


def test_a_coincidence_of_few_ids_is_no_cause() -> None:
    """Of 1,177 retrieved 22, and of 407 judged 22, would agree if cut: that explains nothing."""
    ours = {f"q{n}": [f"{n}-{m}#0" if m < 2 else f"run{n}-{m}" for m in range(107)] for n in range(11)}
    theirs = {f"q{n}": [f"{n}-{m}" if m < 2 else f"judged{n}-{m}" for m in range(37)] for n in range(11)}
    remark = unlike("run", 1177, ours, theirs)
    assert remark.endswith("(1,177 retrieved, 407 judged). Are run and judgements of one collection?")
    # A quarter of the judged ones is a cause, in however deep a run.
    few = {query: names[:6] for query, names in theirs.items()}
    assert 'Without "#…" at the end 22 of the 1,177' in unlike("run", 1177, ours, few)
