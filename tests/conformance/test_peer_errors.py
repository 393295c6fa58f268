"""Wrong numbers that peers print today without a word, each beside ours.

The peer's number is asserted, too: when a new release mends it, the test fails and the claim goes.
"""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import ir_measures
import pytest
import pytrec_eval
from ir_measures import AP, RR, R, StRecall, alpha_nDCG, nDCG

import rageval

pd = pytest.importorskip("pandas")
pyndeval = pytest.importorskip("pyndeval")

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]
Nuggets = dict[str, dict[str, dict[str, int]]]

RUN: Run = {
    "101": {"dA": 9.0, "dC": 8.0, "dB": 7.0, "dX": 6.0, "dD": 5.0},
    "102": {"dF": 9.0, "dE": 8.0},
    "103": {"dG": 5.0, "dY": 4.0, "dH": 3.0},
}
PLAIN: Qrels = {
    "101": {"dA": 1, "dB": 1, "dC": 0, "dD": 1},
    "102": {"dE": 1, "dF": 0},
    "103": {"dG": 1, "dH": 1, "dZ": 1},
}
NUGGETS: Nuggets = {
    "101": {"n1": {"dA": 1, "dB": 1}, "n2": {"dA": 1}, "n3": {"dD": 1}},
    "102": {"n1": {"dE": 1}, "n2": {"dE": 1}},
    "103": {"n1": {"dG": 1}, "n2": {"dH": 1}, "n3": {"dZ": 1}},
}
TIED: Run = {"q": {"d4": 1.0, "d3": 1.0, "d2": 1.0, "d1": 1.0}}
A_THEN_B: Run = {"q": {"a": 2.0, "b": 1.0}}
THREE = [("q", nugget, "a", 1) for nugget in ("n1", "n2", "n3")]
RIGHT = {"ndcg@5": 0.7401, "recall@3": 0.7778, "alpha_ndcg@5": 0.7500, "strec@5": 0.8889}


def ours(measure: str, run: object, qrels: object, **options: object) -> float:
    return rageval.evaluate(measure, run, qrels, **options)[measure].value


def theirs(measure: ir_measures.Measure, qrels: object, run: object) -> float:
    return ir_measures.calc_aggregate([measure], qrels, run)[measure]


def near(value: float) -> object:
    return pytest.approx(value, abs=5e-5)


def run_rows(run: Run) -> list[ir_measures.ScoredDoc]:
    return [
        ir_measures.ScoredDoc(query, doc, score) for query, docs in run.items() for doc, score in docs.items()
    ]


def nugget_rows(qrels: Nuggets) -> list[ir_measures.Qrel]:
    return [
        ir_measures.Qrel(query, doc, grade, nugget)
        for query, nuggets in qrels.items()
        for nugget, docs in nuggets.items()
        for doc, grade in docs.items()
    ]


def by_rank(run: Run) -> list[ir_measures.ScoredDoc]:
    """The first document of every query, then the second of every query, and so on."""
    columns = itertools.zip_longest(*(run_rows({query: docs}) for query, docs in run.items()))
    return [row for rank in columns for row in rank if row]


def run_text(rows: Iterable[ir_measures.ScoredDoc]) -> str:
    return "".join(f"{query} Q0 {doc} 1 {score} t\n" for query, doc, score in rows)


def qrels_text(qrels: Qrels) -> str:
    return "".join(
        f"{query} 0 {doc} {grade}\n" for query, docs in qrels.items() for doc, grade in docs.items()
    )


def test_the_example_as_everybody_scores_it() -> None:
    assert ours("ndcg@5", RUN, PLAIN) == near(RIGHT["ndcg@5"]) == near(theirs(nDCG @ 5, PLAIN, RUN))
    assert ours("recall@3", RUN, PLAIN) == near(RIGHT["recall@3"])
    assert theirs(R @ 3, PLAIN, RUN) == near(RIGHT["recall@3"])
    assert ours("alpha_ndcg@5", RUN, NUGGETS) == near(RIGHT["alpha_ndcg@5"])
    assert theirs(alpha_nDCG @ 5, nugget_rows(NUGGETS), RUN) == near(RIGHT["alpha_ndcg@5"])
    assert ours("strec@5", RUN, NUGGETS) == near(RIGHT["strec@5"])
    assert theirs(StRecall @ 5, nugget_rows(NUGGETS), RUN) == near(RIGHT["strec@5"])


class TestOneRanking:
    """Ties, duplicate documents, rows out of order, numbers that are none."""

    @pytest.mark.parametrize("relevant", ["d1", "d4"])
    def test_two_tie_rules_in_one_call(self, relevant: str) -> None:
        """ir_measures: RR by docid descending, RR@10 by docid ascending."""
        qrels = {"q": {relevant: 1}}
        means = ir_measures.calc_aggregate([RR, RR @ 10], qrels, TIED)
        assert sorted(means.values()) == [0.25, 1.0]
        assert ours("rr", TIED, qrels) == ours("rr@10", TIED, qrels) == means[RR]

    def test_three_tie_rules_in_one_report(self) -> None:
        """FreshStack: α-nDCG by docid ascending, coverage in input order, recall by docid descending."""
        qrels = {"q": {"n": {"d1": 1}}}
        gained = pyndeval.ndeval([("q", "n", "d1", 1)], run_rows(TIED), ["alpha-nDCG@1"])["q"]["alpha-nDCG@1"]
        covered = float(next(iter(TIED["q"])) == "d1")
        recalled = pytrec_eval.RelevanceEvaluator({"q": {"d1": 1}}, {"recall_1"}).evaluate(TIED)["q"][
            "recall_1"
        ]
        assert (gained, covered, recalled) == (1.0, 0.0, 0.0)
        names = ("alpha_ndcg@1", "coverage@1", "recall@1")
        assert [ours(name, TIED, qrels) for name in names] == [0.0, 0.0, 0.0]
        assert [ours(name, TIED, qrels, ties="docid_asc") for name in names] == [1.0, 1.0, 1.0]

    def test_scores_compared_as_32_bit_floats(self) -> None:
        run, qrels = {"q": {"a": 16777217.0, "b": 16777216.0}}, {"q": {"a": 1}}
        assert pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)["q"]["recip_rank"] == 0.5
        assert theirs(RR, qrels, run) == 0.5
        assert ours("rr", run, qrels) == 1.0

    def test_a_document_ranked_twice(self) -> None:
        rows = [("q", "a", 3.0), ("q", "a", 2.0), ("q", "b", 1.0)]
        peer = pyndeval.ndeval([("q", "1", "a", 1), ("q", "2", "b", 1)], rows, ["alpha-nDCG@2"])["q"]
        assert peer["alpha-nDCG@2"] == near(1 / (1 + 1 / math.log2(3)))  # the copy takes b's place
        run = [ir_measures.ScoredDoc(*row) for row in rows]
        qrels = {"q": {"1": {"a": 1}, "2": {"b": 1}}}
        with pytest.raises(rageval.InputError, match="a is ranked twice for query q"):
            rageval.evaluate("alpha_ndcg@2", run, qrels)
        assert ours("alpha_ndcg@2", rageval.Run.from_records(run, dedup="first"), qrels) == 1.0

    def test_rows_interleaved_by_rank(self, tmp_path: Path) -> None:
        """ir_measures and pyndeval: the last block of a query overwrites the others."""
        rows = by_rank(RUN)
        assert theirs(alpha_nDCG @ 5, nugget_rows(NUGGETS), rows) == near(0.3554)
        assert ours("alpha_ndcg@5", rows, NUGGETS) == near(RIGHT["alpha_ndcg@5"])
        (tmp_path / "run").write_text(run_text(rows))
        assert ours("alpha_ndcg@5", tmp_path / "run", NUGGETS) == near(RIGHT["alpha_ndcg@5"])

    @pytest.mark.parametrize(("order", "by_order"), [("abc", 1.0), ("bac", 1 / 2), ("bca", 1 / 3)])
    def test_a_score_that_is_no_number(self, order: str, by_order: float) -> None:
        """One puts the document last, others where it stood in the file."""
        score = {"a": math.nan, "b": 2.0, "c": 1.0}
        run, qrels = {"q": {doc: score[doc] for doc in order}}, {"q": {"a": 1}}
        trec_eval = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)["q"]["recip_rank"]
        ndeval = pyndeval.ndeval([("q", "n", "a", 1)], run_rows(run), ["MAP-IA"])["q"]["MAP-IA"]
        assert (trec_eval, theirs(RR @ 10, qrels, run), ndeval) == (1 / 3, by_order, by_order)
        with pytest.raises(rageval.InputError, match="nan"):
            rageval.evaluate("rr", run, qrels)

    @pytest.mark.parametrize(
        ("typed", "read"), [("8_0", 80.0), ("٧", 7.0), ("1e400", math.inf), ("-inf", -math.inf)]
    )
    def test_text_taken_for_a_number(self, typed: str, read: float, tmp_path: Path) -> None:
        path = tmp_path / "run"
        path.write_text(f"q Q0 b 1 {typed} t\nq Q0 a 2 9 t\n", encoding="utf-8")
        assert next(ir_measures.read_trec_run(str(path))).score == read
        with pytest.raises(rageval.InputError, match=r"run:1: expected a finite decimal number as score"):
            rageval.read_run(path)

    def test_a_byte_order_mark(self, tmp_path: Path) -> None:
        """In front of a run a query is lost, in front of qrels another one appears."""
        run, qrels = tmp_path / "run", tmp_path / "qrels"
        run.write_text("\ufeff" + run_text(run_rows(RUN)), encoding="utf-8")
        qrels.write_text("\ufeff" + qrels_text(PLAIN), encoding="utf-8")
        assert theirs(nDCG @ 5, PLAIN, ir_measures.read_trec_run(str(run))) == near(0.6110)
        assert theirs(nDCG @ 5, ir_measures.read_trec_qrels(str(qrels)), RUN) == near(0.4697)
        assert ours("ndcg@5", run, PLAIN) == ours("ndcg@5", RUN, qrels) == near(RIGHT["ndcg@5"])

    def test_which_nugget_belongs_to_which_query(self) -> None:
        """FreshStack asks whether the nugget's id starts with the query's: 7 takes the nuggets of 70."""
        qrels = {"7": {"7_0": {"a": 1}}, "70": {"70_0": {"b": 1}}}
        run: Run = {"7": {"a": 1.0}, "70": {"b": 1.0}}
        nuggets = [nugget for judged in qrels.values() for nugget in judged]
        of_query = {query: [nugget for nugget in nuggets if nugget.startswith(query)] for query in qrels}
        supported = {
            query: sum(doc in qrels[n[:-2]][n] for n in of_query[query] for doc in run[query])
            for query in qrels
        }
        assert [supported[query] / len(of_query[query]) for query in qrels] == [0.5, 1.0]
        assert rageval.evaluate("coverage", run, qrels)["coverage"].by_query == {"7": 1.0, "70": 1.0}


class TestWhichQueriesCount:
    @pytest.mark.slow
    def test_no_query_in_common(self, tmp_path: Path) -> None:
        (tmp_path / "qrels").write_text(qrels_text(PLAIN))
        (tmp_path / "run").write_text(
            run_text([row._replace(query_id="x" + row.query_id) for row in run_rows(RUN)])
        )
        files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
        peer = command("ir_measures", *files, "nDCG@10")
        assert (peer.returncode, peer.stdout.split()) == (0, ["nDCG@10", "0.0000"])
        result = command("rageval", *files, "nDCG@10")
        assert (result.returncode, result.stdout) == (2, "")
        assert "none of its 3 queries is judged" in result.stderr

    def test_a_query_without_relevant_documents(self) -> None:
        """pyndeval divides 0 by 0, and one such query makes the mean nan."""
        rows = [("q", "n", "a", 0)]
        assert math.isnan(pyndeval.ndeval(rows, [("q", "a", 1.0)], ["nNRBP"])["q"]["nNRBP"])
        assert ours("nnrbp", {"q": {"a": 1.0}}, {"q": {"n": {"a": 0}}}) == 0.0


class TestJudgements:
    def test_conflicting_judgements(self) -> None:
        """The last row wins: the order of two lines decides between 0.6309 and 1."""
        rows = [ir_measures.Qrel("q", "a", 1), ir_measures.Qrel("q", "a", 0)]
        good = ir_measures.Qrel("q", "b", 1)
        assert theirs(nDCG @ 5, [*rows, good], A_THEN_B) == near(1 / math.log2(3))
        assert theirs(nDCG @ 5, [*reversed(rows), good], A_THEN_B) == 1.0
        for order in (rows, rows[::-1]):
            with pytest.raises(rageval.InputError, match="remove the wrong one"):
                rageval.evaluate("ndcg@5", A_THEN_B, [*order, good])

    def test_documents_judged_for_several_nuggets(self) -> None:
        """The last nugget's judgement counts for the document: R@2 and nDCG@10 are 0 or 1 by line order."""
        rows = [ir_measures.Qrel("q", "a", 1, "n1"), ir_measures.Qrel("q", "a", 0, "n2")]
        for peer, name in ((R @ 2, "recall@2"), (nDCG @ 10, "ndcg@10"), (AP, "ap")):
            assert theirs(peer, rows, A_THEN_B) == 0.0
            assert theirs(peer, rows[::-1], A_THEN_B) == 1.0
            assert ours(name, A_THEN_B, rows) == ours(name, A_THEN_B, rows[::-1]) == 1.0

    def test_nuggets_called_subtopic_id(self) -> None:
        """ir_measures does not see the column, and takes all for one nugget."""
        rows = [("q", "a", 1, "n1"), ("q", "b", 1, "n1"), ("q", "c", 1, "n2")]
        qrels = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance", "subtopic_id"])
        right = (1 + 0.5 / math.log2(3)) / (1 + 1 / math.log2(3))
        assert theirs(alpha_nDCG @ 2, qrels, A_THEN_B) == 1.0
        assert theirs(alpha_nDCG @ 2, qrels.rename(columns={"subtopic_id": "iteration"}), A_THEN_B) == near(
            right
        )
        for name in ("subtopic_id", "nugget_id", "iteration"):
            assert ours("alpha_ndcg@2", A_THEN_B, qrels.rename(columns={"subtopic_id": name})) == near(right)

    @pytest.mark.skipif(sys.platform != "linux", reason="without a limit of memory it would take 16 GB")
    def test_one_huge_grade(self, tmp_path: Path) -> None:
        """2³¹ in a single row: where there is no memory for as many counters, every query scores 0."""
        qrels = {**PLAIN, "101": {**PLAIN["101"], "dA": 2**31}}
        program = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
import pytrec_eval
scores = pytrec_eval.RelevanceEvaluator({qrels}, {{"recall_3"}}).evaluate({RUN})
print(*(scores[query]["recall_3"] for query in scores))
"""
        assert python("-c", program).stdout.split() == ["0.0", "0.0", "0.0"]
        (tmp_path / "qrels").write_text(qrels_text(qrels))
        with pytest.raises(rageval.InputError, match=r"qrels:1: .* as grade, found '2147483648'"):
            rageval.read_qrels(tmp_path / "qrels")
        with pytest.raises(rageval.InputError, match="2147483648"):
            rageval.evaluate("recall@3", RUN, qrels)

    def test_plain_judgements_under_measures_of_nuggets(self, tmp_path: Path) -> None:
        """It scores them as one nugget a query; ours refuses them, unless it is told to do the same."""
        assert theirs(StRecall @ 5, PLAIN, RUN) == 1.0 == ours("strec@5", RUN, PLAIN, nuggets_in_qrels=False)
        assert ours("strec@5", RUN, NUGGETS) == near(RIGHT["strec@5"])
        (tmp_path / "qrels").write_text(qrels_text(PLAIN))
        (tmp_path / "run").write_text(run_text(run_rows(RUN)))
        result = command("rageval", str(tmp_path / "run"), str(tmp_path / "qrels"), "strec@5")
        assert result.returncode == 2
        assert "names none" in result.stderr


class TestMeasuresOfNovelty:
    def test_cutoffs_beyond_20(self) -> None:
        with pytest.raises(AssertionError, match="only supports cutoffs up to 20"):
            pyndeval.RelevanceEvaluator(THREE, ["alpha-nDCG@21"])
        kept = [k for k in (5, 20, 21, 50) if k <= 20]  # FreshStack's filter: two of four cut-offs, no word
        assert len(kept) == 2
        run = {"q": {**{f"u{rank}": 100.0 - rank for rank in range(30)}, "a": 1.0}}
        assert ours("alpha_ndcg@50", run, {"q": {"n": {"a": 1}}}) == near(1 / math.log2(32))

    def test_rank_1_is_not_normalized(self) -> None:
        values = pyndeval.ndeval(THREE, [("q", "a", 1.0)], ["alpha-DCG@1", "ERR-IA@1", "alpha-DCG@2"])["q"]
        assert values["alpha-DCG@1"] == values["ERR-IA@1"] == 3.0
        qrels, run = {"q": {nugget: {"a": 1} for nugget in ("n1", "n2", "n3")}}, {"q": {"a": 1.0}}
        assert ours("err_ia@1", run, qrels) == 1.0
        assert ours("alpha_dcg(normalize=independent)@1", run, qrels) == 1.0
        assert ours("alpha_dcg(normalize=independent)@2", run, qrels) == near(values["alpha-DCG@2"])
        assert ours("alpha_dcg@1", run, qrels) == ours("alpha_dcg@2", run, qrels) == 3.0

    def test_two_alphas_in_one_call(self) -> None:
        """One of the two is 0."""
        measures = [alpha_nDCG(alpha=alpha) @ 5 for alpha in (0.5, 0.2)]
        alone = [theirs(measure, nugget_rows(NUGGETS), RUN) for measure in measures]
        together = ir_measures.calc_aggregate(measures, nugget_rows(NUGGETS), run_rows(RUN))
        assert sorted(together[measure] > 0 for measure in measures) == [False, True]
        names = ["alpha_ndcg@5", "alpha_ndcg(alpha=0.2)@5"]
        scores = rageval.evaluate(names, RUN, NUGGETS)
        assert [scores[name].value for name in names] == pytest.approx(alone)

    @pytest.mark.slow
    def test_which_of_the_two_is_a_throw_of_dice(self, tmp_path: Path) -> None:
        rows = [
            f"{q} {n} {doc} 1\n"
            for q, nuggets in NUGGETS.items()
            for n, docs in nuggets.items()
            for doc in docs
        ]
        (tmp_path / "qrels").write_text("".join(rows))
        (tmp_path / "run").write_text(run_text(run_rows(RUN)))
        words = [str(tmp_path / "qrels"), str(tmp_path / "run"), "alpha_nDCG@5", "alpha_nDCG(alpha=0.2)@5"]
        peer = {command("ir_measures", *words, seed=seed).stdout for seed in "01234567"}
        assert len(peer) == 2
        assert len({command("rageval", *words, seed=seed).stdout for seed in "01"}) == 1

    def test_judged_documents_only(self) -> None:
        with pytest.raises(TypeError):
            theirs(alpha_nDCG(judged_only=True) @ 5, nugget_rows(NUGGETS), RUN)
        run: Run = {"q": {"unjudged": 2.0, "a": 1.0}}
        assert ours("alpha_ndcg@1", run, {"q": {"n": {"a": 1}}}, judged_only=True) == 1.0

    def test_holes_are_a_querys_own(self) -> None:
        """FreshStack takes a document as judged if some query, any query, judged it."""
        qrels: Qrels = {"p": {"a": 1}, "q": {"b": 1}}
        run: Run = {"p": {"a": 2.0, "b": 1.0}, "q": {"b": 1.0}}
        judged_somewhere = {doc for docs in qrels.values() for doc in docs}
        assert sum(doc not in judged_somewhere for doc in run["p"]) / 2 == 0.0
        assert rageval.evaluate("hole@2", run, qrels)["hole@2"].by_query == {"p": 0.5, "q": 0.0}


class TestWhatIsHandedOver:
    def test_a_generator_given_twice(self) -> None:
        """The second time it is empty, and everything scores 0. An error, here."""
        rows = iter(run_rows(RUN))
        assert theirs(nDCG @ 5, PLAIN, rows) == near(RIGHT["ndcg@5"])
        assert theirs(nDCG @ 5, PLAIN, rows) == 0.0
        rows = iter(run_rows(RUN))
        assert ours("ndcg@5", rows, PLAIN) == near(RIGHT["ndcg@5"])
        with pytest.raises(rageval.InputError):
            rageval.evaluate("ndcg@5", rows, PLAIN)

    def test_a_path_that_is_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / "run"
        path.write_text(run_text(run_rows(RUN)))
        assert theirs(nDCG @ 5, PLAIN, ir_measures.read_trec_run(path)) == 0.0
        assert ours("ndcg@5", path, PLAIN) == ours("ndcg@5", str(path), PLAIN) == near(RIGHT["ndcg@5"])

    def test_topics_with_one_number(self) -> None:
        """ndeval reads a topic's id from behind its first hyphen: MB-7 and DL-7 are one topic."""
        assert len({name.partition("-")[2] for name in ("MB-7", "DL-7")}) == 1
        qrels: Qrels = {"MB-7": {"a": 1}, "DL-7": {"b": 1}}
        run: Run = {"MB-7": {"a": 1.0}, "DL-7": {"a": 1.0}}
        assert rageval.evaluate("rr", run, qrels)["rr"].by_query == {"MB-7": 1.0, "DL-7": 0.0}


def command(module: str, *words: str, seed: str = "0") -> subprocess.CompletedProcess[str]:
    return python("-m", module, *words, seed=seed)


def python(*words: str, seed: str = "0") -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONWARNINGS": "ignore"}
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env=environment, check=False
    )
