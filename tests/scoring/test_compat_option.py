"""--compat: another tool's numbers, on tied, unsorted and incomplete runs, to the last digit."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any, get_args

import pytest
import pytrec_eval

import rageval
from commands import run_command
from rageval.errors import RagevalError, UsageError
from rageval.measures.official import OFFICIAL
from rageval.scoring.rules import COMPAT

GOLDEN = Path(__file__).parents[1] / "golden/ndeval"
FILES = [str(GOLDEN / "run"), str(GOLDEN / "qrels")]


def cells(text: str) -> dict[tuple[str, str], str]:
    """Topic and measure: what stands there."""
    rows = list(csv.DictReader(io.StringIO(text)))
    return {(row["topic"], name): row[name] for row in rows for name in row if name not in ("runid", "topic")}


@pytest.mark.parametrize("tool", ["ndeval", "ndeval-traditional"])
def test_every_cell_of_the_c_program(tool: str) -> None:
    """Equal scores, ranks that contradict the scores, a topic that the run lacks."""
    result = run_command(*FILES, "-m", "official:ndeval", "-q", "--compat", tool, "--format", "ndeval")
    assert result.exit_code == 0
    expected = cells((GOLDEN / f"{tool}.csv").read_text())
    assert len(expected) == 12 * 21
    assert cells(result.stdout) == expected


def test_ndeval_says_that_it_changed() -> None:
    stderr = run_command(*FILES, "-m", "strec@5", "--compat", "ndeval").stderr
    assert "use --compat pyndeval" in stderr
    assert "the rank column contradicts the scores in 2 queries (ranks are used)" in stderr
    assert (
        "1 of 12 judged queries are not in the run (are left out, as ndeval does; -c counts them)" in stderr
    )
    assert "use --compat pyndeval" not in run_command(*FILES, "-m", "strec@5", "--compat", "pyndeval").stderr


def test_pyndeval_on_the_same_files() -> None:
    names = {"ERR-IA@5": "err_ia@5", "alpha-nDCG@10": "alpha_ndcg@10", "alpha-DCG@20": "alpha_dcg@20"}
    names |= {
        "NRBP": "nrbp",
        "nNRBP": "nnrbp",
        "MAP-IA": "map_ia",
        "P-IA@5": "p_ia@5",
        "strec@10": "strec@10",
    }
    qrels = [line.split() for line in Path(FILES[1]).read_text().splitlines()]
    rows = [line.split() for line in Path(FILES[0]).read_text().splitlines()]
    rows.sort(key=lambda row: row[0])  # it takes a query apart for a new one
    pyndeval = pytest.importorskip("pyndeval")
    tool = pyndeval.RelevanceEvaluator([(q, n, d, int(g)) for q, n, d, g in qrels], list(names))
    expected = tool.evaluate([(row[0], row[2], float(row[4])) for row in rows])
    scores = rageval.evaluate(list(names.values()), *FILES, compat="pyndeval")
    for theirs, ours in names.items():
        by_query = {query: values[theirs] for query, values in expected.items()}
        assert scores[ours].by_query == pytest.approx(by_query, abs=1e-12)
        assert scores[ours].value == pytest.approx(sum(by_query.values()) / len(by_query), abs=1e-12)
    tied = rageval.evaluate(list(names.values()), *FILES, intersection=True)
    assert any(tied[ours].value != scores[ours].value for ours in names.values())


def shuffled(seed: int) -> tuple[list[tuple[str, str, float]], dict[str, dict[str, int]]]:
    """Rows in no order, with equal scores, some equal only as 32-bit floats, and queries that are missing."""
    rng = random.Random(seed)
    qrels = {
        f"q{number}": {f"d{doc}": rng.choice((-1, 0, 1, 2)) for doc in rng.sample(range(30), 15)}
        for number in range(6)
    }
    rows = [
        (f"q{number}", f"d{doc}", 1000 + rng.randrange(3) + rng.choice((0, 1e-6)))
        for number in range(4)
        for doc in rng.sample(range(30), 20)
    ]
    rng.shuffle(rows)
    return rows, qrels


@pytest.mark.parametrize("seed", range(5))
def test_trec_eval_9(seed: int) -> None:
    rows, qrels = shuffled(seed)
    names = {"map": "ap", "ndcg_cut_5": "ndcg@5", "recip_rank": "rr", "P_5": "p@5", "Rprec": "Rprec"}
    names |= {"bpref": "Bpref", "iprec_at_recall_0.50": "IPrec@0.5", "set_F": "SetF"}
    run: dict[str, dict[str, float]] = {}
    for query, doc, score in rows:
        run.setdefault(query, {})[doc] = score
    # It cannot be handed grades below 0; documents that have one are not judged.
    judged = {
        query: {doc: grade for doc, grade in docs.items() if grade >= 0} for query, docs in qrels.items()
    }
    expected = pytrec_eval.RelevanceEvaluator(judged, set(names)).evaluate(run)
    scores = rageval.evaluate(list(names.values()), run, qrels, compat="trec_eval")
    for theirs, ours in names.items():
        by_query = {query: values[theirs] for query, values in expected.items()}
        assert scores[ours].by_query == pytest.approx(by_query, abs=1e-12), ours
        assert "|compat:trec_eval-9.0.8|" in scores[ours].signature
    usual = rageval.evaluate(list(names.values()), run, qrels)
    assert any(
        usual[name].by_query[query] != value
        for name in names.values()
        for query, value in scores[name].by_query.items()
    )


def test_values_are_those_of_freshstack_with_ties() -> None:
    """Three orders of equal scores in one report; a query that the run lacks scores 0."""
    kept = json.loads((GOLDEN.parent / "freshstack/tied.json").read_text())
    run: dict[str, dict[str, float]] = {}
    for query, doc, score in kept["run"]:
        run.setdefault(query, {})[doc] = score
    names = {name: name.replace("alpha-nDCG", "alpha_ndcg").lower() for name in kept["printed"]}
    scores = rageval.evaluate(list(names.values()), run, kept["qrels"], compat="freshstack")
    assert {name: round(scores[ours].value, 4) for name, ours in names.items()} == kept["printed"]
    usual = rageval.evaluate(list(names.values()), run, kept["qrels"])
    assert sum(round(usual[ours].value, 4) != kept["printed"][name] for name, ours in names.items()) > 5


@pytest.mark.parametrize("tool", COMPAT)
def test_complete_counts_every_judged_query(tool: str, tmp_path: Path) -> None:
    run, qrels = ["1 Q0 a 1 2 t", "1 Q0 b 2 1 t"], ["1 0 a 1", "2 0 a 1"]
    for name, lines in (("run", run), ("qrels", qrels)):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    files = [tmp_path / "run", tmp_path / "qrels"]
    measures = ["rr", "Rprec"]
    plain = rageval.evaluate(measures, *files, compat=tool)
    complete = rageval.evaluate(measures, *files, compat=tool, complete=True)
    assert [complete[name].value for name in measures] == [0.5, 0.5]
    left_out = 1.0 if tool != "freshstack" else 0.5
    assert [plain[name].value for name in measures] == [left_out, left_out]
    assert "complete:True" in complete["rr"].signature


class TestRefusals:
    @pytest.mark.parametrize("tool", COMPAT)
    @pytest.mark.parametrize(
        ("option", "words"),
        [
            ({"ties": "rank"}, "own rule for ties"),
            ({"ties": "trec"}, "own rule for ties"),
            ({"ties": "expected"}, "own rule for ties"),
            ({"provider": "pytrec_eval"}, "leave out one of them"),
            ({"bounds": True}, "leave out"),
        ],
    )
    def test_options_that_say_the_opposite(self, tool: str, option: dict[str, Any], words: str) -> None:
        with pytest.raises(UsageError, match=words):
            rageval.evaluate("rr", {"q": {"a": 1.0}}, {"q": {"a": 1}}, compat=tool, **option)

    def test_complete_and_intersection(self) -> None:
        with pytest.raises(UsageError, match="leave out one"):
            rageval.evaluate("rr", {"q": {"a": 1.0}}, {"q": {"a": 1}}, complete=True, intersection=True)

    @pytest.mark.parametrize(
        ("ranks", "words"),
        [("11", "has the rank of line 1"), ("1x", "more than whole numbers"), (None, "has no rank column")],
    )
    def test_ranks_that_ndeval_cannot_go_by(self, ranks: str | None, words: str) -> None:
        run: Any = {"q": {"a": 1.0, "b": 2.0}}
        if ranks:
            run = io.BytesIO(
                "".join(f"q Q0 {doc} {rank} 1 t\n" for doc, rank in zip("ab", ranks, strict=True)).encode()
            )
            run.name = "run"
        with pytest.raises(RagevalError, match=words):
            rageval.evaluate("rr", run, {"q": {"a": 1}}, compat="ndeval")

    def test_a_tool_that_nobody_knows(self) -> None:
        with pytest.raises(UsageError, match="did you mean ndeval-traditional"):
            rageval.evaluate("rr", {"q": {"a": 1.0}}, {"q": {"a": 1}}, compat="ndeval-traditionel")


def test_the_sets_hold_what_the_c_program_prints() -> None:
    assert len(OFFICIAL["ndeval"]) == 21


class TestLikeness:
    """Runs are called identical by the order that their values come from, not by another."""

    QRELS = ("1 0 a 1", "2 0 a 1", "3 0 a 1")

    def compared(self, folder: Path, one: str, other: str, *words: str) -> dict[str, str]:
        """Two runs of three queries; `one` and `other` are lines without the query."""
        for name, lines in (("one", one), ("other", other)):
            rows = (f"{query} {line}\n" for query in "123" for line in lines.split(", "))
            (folder / name).write_text("".join(rows))
        (folder / "qrels").write_text("".join(f"{line}\n" for line in self.QRELS))
        files = [str(folder / name) for name in ("one", "other", "qrels")]
        result = run_command("compare", *files, "-m", "rr", "--format", "csv", *words)
        assert result.exit_code == 0, result.output
        (row,) = csv.DictReader(io.StringIO(result.stdout))
        return row

    def test_the_same_scores_with_other_ranks(self, tmp_path: Path) -> None:
        files = "Q0 a 1 2 t, Q0 b 2 1 t", "Q0 a 2 2 u, Q0 b 1 1 u"
        assert self.compared(tmp_path, *files)["verdict"] == "identical"
        row = self.compared(tmp_path, *files, "--compat", "ndeval")
        assert row["verdict"] != "identical"
        assert {row["value"], row["other_value"]} == {"1.0000", "0.5000"}

    def test_equal_scores_that_only_one_rule_breaks_alike(self, tmp_path: Path) -> None:
        files = "Q0 a 1 1 t, Q0 b 2 1 t", "Q0 b 1 2 u, Q0 a 2 1 u"
        assert self.compared(tmp_path, *files)["verdict"] == "identical"
        assert self.compared(tmp_path, *files, "--compat", "pyndeval")["verdict"] != "identical"
        assert self.compared(tmp_path, *files, "--ties", "docid_asc")["verdict"] != "identical"


def test_the_command_line_knows_the_same_tools() -> None:
    from rageval.options import CompatOfAnswers, CompatOfRuns
    from rageval.scoring.rules import COMPAT_OF_ANSWERS

    assert (tuple(COMPAT), tuple(COMPAT_OF_ANSWERS)) == (get_args(CompatOfRuns), get_args(CompatOfAnswers))
