"""Shares remember part and whole, and what the queries' values become is what the measure declares."""

from __future__ import annotations

import json
import math
import pickle
import random
import statistics
from pathlib import Path

import pytest

import oracle
import rageval
import test_answer_laws as answer_laws
from commands import run_checked
from our_measures import OF_RUNS
from rageval import MeasureError, Share, evaluate, evaluate_answers, recall
from rageval.comparison.comparisons import compare_runs
from rageval.comparison.corrections import correct
from rageval.comparison.intervals import bootstrap
from rageval.measures.ranking import Blend, pooled
from rageval.pages.page import read_report
from rageval.scoring.answers import measures_of_answers
from rageval.scoring.rules import Rules
from strategies import case

# Of 1 relevant document 1 is found, of 9 none: the mean of the shares is 1/2, one share of all 1/10.
RUN = {"few": {"a": 1.0}, "many": {"x": 1.0}}
QRELS = {"few": {"a": 1}, "many": {f"d{index}": 1 for index in range(9)}}
POOLED = "recall(over=pool)@10"


class TestShare:
    def test_it_is_a_number(self) -> None:
        share = Share(3, 4)
        assert (share, share + 1, float(share)) == (0.75, 1.75, 0.75)
        assert type(share + 1) is type(float(share)) is float
        assert (repr(share), f"{share:.1f}", json.dumps(share)) == ("0.75", "0.8", "0.75")

    @pytest.mark.parametrize("share", [Share(3, 4), Share(0, 0), Share(0.5, 3), Share(-1, 2)])
    def test_it_survives_a_journey(self, share: Share) -> None:
        back = pickle.loads(pickle.dumps(share))
        assert (back, back.part, back.whole) == (share, share.part, share.whole)

    @pytest.mark.parametrize(
        ("part", "whole"),
        [(1, 0), (1, -1), (0, -1), (math.nan, 1), (1, math.nan), (math.inf, 1), (1, math.inf)],
    )
    def test_nothing_is_a_share_of_less_than_nothing(self, part: float, whole: float) -> None:
        with pytest.raises(MeasureError, match="expected a number, and a whole above 0"):
            Share(part, whole)


class TestPooled:
    def test_pooled_recall_is_as_worked_by_hand(self) -> None:
        scores = evaluate(f"recall@10,{POOLED}", RUN, QRELS)
        assert [score.value for score in scores.values()] == [0.5, 0.1]
        assert scores[POOLED].by_query == scores["recall@10"].by_query == {"few": 1.0, "many": 0.0}
        assert [(share.part, share.whole) for share in scores[POOLED].numbers] == [(1, 1), (0, 9)]

    def test_it_prints_and_signs_as_it_is_typed(self) -> None:
        (score,) = evaluate(POOLED, RUN, QRELS).scores
        assert str(score.measure) == POOLED
        assert rageval.parse_measure("R(OVER='pool')@10") == score.measure == recall(over="pool") @ 10
        assert "|over:pool|" in score.signature
        assert "over" not in evaluate("recall@10", RUN, QRELS).scores[0].signature
        assert str(recall(over="topics")) == "recall"

    @pytest.mark.slow
    @pytest.mark.parametrize("name", oracle.PARTS)
    def test_random_topics_equal_the_oracle(self, name: str) -> None:
        for seed in range(30):
            drawn = case(random.Random(seed))
            for k in (None, 1, 3):
                label = f"{name}(over=pool)" + (f"@{k}" if k else "")
                (score,) = evaluate(label, drawn.run, drawn.qrels).scores
                expected = oracle.pooled(name, drawn.run, drawn.qrels, k)
                assert score.value == pytest.approx(expected, abs=1e-12), seed

    def test_shares_are_those_of_the_oracle_and_no_others(self) -> None:
        assert {name for name, measure in OF_RUNS.items() if measure.gives_shares} == set(oracle.PARTS)

    @pytest.mark.some(3)
    @pytest.mark.parametrize("name", oracle.PARTS)
    def test_a_pooled_share_lies_between_the_extremes_and_equals_the_mean_of_equal_wholes(
        self, name: str
    ) -> None:
        """Between the least and the greatest share; over one topic, or wholes all alike, the mean."""
        for seed in range(20):
            drawn = case(random.Random(seed))
            for k in (None, 2):
                measure = OF_RUNS[name] if k is None else OF_RUNS[name] @ k
                pool, mean = evaluate([measure(over="pool"), measure], drawn.run, drawn.qrels).scores
                wholes = {share.whole for share in pool.numbers if share.whole}
                counted = [share for share in pool.numbers if share.whole] or [0.0]
                assert min(counted) - 1e-12 <= pool.value <= max(counted) + 1e-12
                if len(wholes) == 1 and len(counted) == len(pool.numbers):
                    assert pool.value == pytest.approx(mean.value, abs=1e-12)

    def test_undefined_topics_are_left_out_of_both_sums(self) -> None:
        qrels = {**QRELS, "hopeless": {"z": 0}}
        (score,) = evaluate("p(over=pool)@2", RUN, qrels, zero_rel="nan").scores
        assert (score.value, score.queries, score.undefined) == (1 / 4, 2, 1)

    def test_of_nothing_it_is_nothing(self) -> None:
        (score,) = evaluate("recall(over=pool)", {"q": {"a": 1.0}}, {"q": {"a": 0}}).scores
        assert score.value == 0.0
        (score,) = evaluate("recall(over=pool)", {"q": {"a": 1.0}}, {"q": {"a": 0}}, zero_rel="skip").scores
        assert math.isnan(score.value)

    def test_ties_in_expectation_keep_the_whole(self) -> None:
        run = {"few": {"a": 1.0, "b": 1.0}, "many": {"d0": 1.0, "d1": 1.0, "x": 1.0}}
        (score,) = evaluate("recall(over=pool)@1", run, QRELS, ties="expected").scores
        assert score.value == pytest.approx((1 / 2 + 2 / 3) / 10, abs=1e-15)
        assert score.bounds == (0.0, 2 / 10)


class TestClaims:
    def test_the_interval_draws_parts_with_their_wholes(self) -> None:
        shares = [
            Share(1, 1) if index % 2 else Share(index % 7, 9) for index in range(40)
        ]  # mean 0.67, pooled 0.4
        low, high = bootstrap(recall(over="pool"), shares)
        rng = random.Random(0)
        drawn = []
        for _ in range(4000):
            some = rng.choices(shares, k=40)
            drawn.append(sum(share.part for share in some) / sum(share.whole for share in some))
        cuts = statistics.quantiles(drawn, n=40)
        assert (low, high) == pytest.approx((cuts[0], cuts[-1]), abs=0.015)
        assert bootstrap(recall, shares)[0] > high

    @pytest.mark.slow
    def test_it_holds_the_truth_as_often_as_it_says(self) -> None:
        rng = random.Random(3)

        def drawn() -> Share:
            whole = rng.randint(1, 20)
            return Share(sum(rng.random() < 1 / (1 + whole / 10) for _ in range(whole)), whole)

        everything = [drawn() for _ in range(20_000)]
        truth = sum(share.part for share in everything) / sum(share.whole for share in everything)
        ends = [bootstrap(recall(over="pool"), rng.choices(everything, k=30)) for _ in range(100)]
        assert sum(low <= truth <= high for low, high in ends) >= 88

    def test_no_interval_has_width_0(self) -> None:
        low, high = bootstrap(recall(over="pool"), [Share(2, 2), Share(30, 30), Share(1, 1)] * 5)
        assert low < 0.9
        assert high == 1.0

    @pytest.mark.parametrize("measure", [POOLED, "NumRet"])
    def test_a_comparison_refuses_it_by_name(self, measure: str) -> None:
        with pytest.raises(MeasureError) as caught:
            compare_runs(measure, {"one": RUN, "other": {"few": {"x": 1.0}}}, QRELS)
        assert str(caught.value).startswith(f"{measure} is ")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "run").write_text("few Q0 a 1 1 t\nmany Q0 x 1 1 t\n")
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {doc} 1\n" for q, docs in QRELS.items() for doc in docs))
    return [str(tmp_path / "run"), str(tmp_path / "qrels")]


class TestCommand:
    def test_every_way_of_printing_shows_the_pooled_value(self, files: list[str]) -> None:
        for style in ("trec", "ir_measures", "csv", "md", "latex", "table", "json", "jsonl", "ndeval"):
            result = run_checked(*files, "-m", POOLED, "--format", style)
            assert "0.1" in result.stdout, style
            assert "0.5" not in result.stdout, style

    def test_the_page_of_a_share_names_both_ways(self) -> None:
        assert "over=pool " in run_checked("measures", "recall").stdout
        assert "over=" not in run_checked("measures", "ndcg").stdout

    def test_a_report_has_the_pooled_value_and_its_interval(self, files: list[str], tmp_path: Path) -> None:
        page = tmp_path / "report.html"
        run_checked("report", *files, "-m", POOLED, "-o", str(page))
        (cell,) = read_report(page)["cells"]
        assert (cell["value"], cell["low"] <= 0.1 <= cell["high"]) == (0.1, True)


@rageval.measure
def early(ranking: rageval.Ranking, *, k: int | None = None) -> Share:
    """Share of the judged documents that are found."""
    return Share(len(ranking.hits(k, rel=None)), len(ranking.topic))


@rageval.measure(aggregate=statistics.geometric_mean)
def geometric(ranking: rageval.Ranking, *, k: int | None = None) -> float:
    """Recall, as a geometric mean over topics."""
    return max(len(ranking.hits(k)) / ranking.relevant(), 1e-5)


class TestOfSomebodyElse:
    def test_over_all_orders(self) -> None:
        run = {"few": {"a": 1.0, "x": 1.0}, "many": {"d1": 1.0, "d2": 1.0, "x": 1.0}}
        (score,) = evaluate(early(over="pool") @ 1, run, QRELS, ties="expected").scores
        assert score.value == pytest.approx((1 / 2 + 2 / 3) / 10)
        assert score.bounds == (0.0, 0.2)

    def test_a_whole_that_depends_on_the_order_is_refused(self) -> None:
        @rageval.measure
        def of_the_judged(ranking: rageval.Ranking, *, k: int | None = None) -> Share:
            """Precision among the judged."""
            return Share(len(ranking.hits(k)), len(ranking.hits(k, rel=None)))

        run, qrels = {"q": {"a": 1.0, "x": 1.0}}, {"q": {"a": 1}}
        assert evaluate(of_the_judged @ 1, run, qrels, ties="expected").scores[0].value == 0.5
        with pytest.raises(MeasureError, match="its whole depends on the order of equal scores"):
            evaluate(of_the_judged(over="pool") @ 1, run, qrels, ties="expected")

    def test_a_function_of_the_list(self) -> None:
        run = {"few": {"a": 1.0}, "many": {"d1": 1.0}}
        (score,) = evaluate(geometric @ 5, run, QRELS).scores
        assert score.value == pytest.approx(1 / 3)
        assert all(map(math.isnan, bootstrap(score.measure, score.numbers)))
        for options in ({"ties": "expected"}, {"bounds": True}):
            with pytest.raises(MeasureError, match="geometric@5"):
                evaluate(geometric @ 5, run, QRELS, **options)
        with pytest.raises(MeasureError, match="geometric@5 is computed by a function"):
            compare_runs(geometric @ 5, {"one": run, "other": RUN}, QRELS)

    @pytest.mark.parametrize(
        ("aggregate", "words"),
        [
            (lambda values: 1 / 0, "failed on its values .*ZeroDivisionError"),
            (lambda values: "much", "failed on its values .*ValueError"),
            (lambda values: None, "failed on its values .*TypeError"),
            (lambda values: math.inf, "returned inf, expected a number or NaN"),
        ],
    )
    def test_a_function_that_fails_is_named(self, aggregate: object, words: str) -> None:
        wrong = rageval.measure(aggregate=aggregate)(early.function)  # type: ignore[call-overload]
        with pytest.raises(MeasureError, match=f"early: .*{words}"):
            assert evaluate(wrong, RUN, QRELS)["early"].value

    def test_what_is_no_way_is_refused(self) -> None:
        with pytest.raises(MeasureError, match="aggregate='median', expected 'mean', 'sum', or a function"):
            rageval.measure(aggregate="median")(geometric.function)

    def test_what_says_share_and_is_none_is_refused(self) -> None:
        @rageval.measure
        def half(ranking: rageval.Ranking) -> Share:
            """Nothing to pool."""
            return 0.5  # type: ignore[return-value]

        @rageval.measure
        def undefined(ranking: rageval.Ranking) -> Share:
            """Undefined where nothing is found."""
            hits = len(ranking.hits())
            return Share(1, hits) if hits else math.nan  # type: ignore[return-value]

        with pytest.raises(MeasureError, match=r"half: returned 0.5 .* expected a Share, as it is annotated"):
            evaluate(half, RUN, QRELS)
        (score,) = evaluate(undefined(over="pool"), RUN, QRELS).scores
        assert (score.value, score.undefined) == (1.0, 1)

    def test_the_name_of_the_option_is_taken(self) -> None:
        @rageval.measure
        def mine(ranking: rageval.Ranking, *, over: int = 1) -> Share:
            """Too many words."""
            return Share(over, 2)

        with pytest.raises(MeasureError, match="has `over` already; rename"):
            evaluate(mine, RUN, QRELS)


# Kinds of judgements whose queries can be told as one, and the keys by which their rows are told apart there.
KINDS = {"nuggets": "aspect", "crag": "aspect", "citations": "aspect", "games": "aspect", "audits": "aspect"}
KINDS |= {"proxies": "aspect", "quality": "item_id"}


def as_one(rows: list[answer_laws.Row], key: str) -> list[answer_laws.Row]:
    """The judgements as if all were of one query."""
    sentences: dict[str, dict[str, int]] = {}
    for row in rows:
        sentences.setdefault(row["run_id"], {})[row["query_id"]] = row.get("sentences", 0)
    total = {run: sum(of_run.values()) for run, of_run in sentences.items()}
    return [
        row
        | {"query_id": "all", key: f"{row['query_id']}:{row.get(key, '')}"}
        | ({"sentences": total[row["run_id"]]} if "sentences" in row else {})
        for row in rows
    ]


class TestOfAnswers:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_pool_is_one_query_that_holds_all(self, kind: str) -> None:
        names = [name for name in answer_laws.MEASURES[kind] if rageval.parse_measure(name).gives_shares]
        names = [name for name in names if "floor=zero" not in name]  # each query has a floor of its own
        pools = [rageval.parse_measure(name)(over="pool") for name in names]
        assert names
        for seed in range(40):
            drawn = answer_laws.table(random.Random(seed), kind)
            judge, run = (drawn.rows[0].get(key, "") for key in ("judge", "run_id"))
            rows = [row for row in drawn.rows if row.get("judge", "") == judge and row["run_id"] == run]
            by_query = evaluate_answers(pools, rows, on_missing="worst")[run]
            together = evaluate_answers(names, as_one(rows, KINDS[kind]), on_missing="worst")[run]
            for pool, one in zip(by_query.values(), together.values(), strict=True):
                if not pool.undefined:  # a query of faults alone has no whole, which takes from that of all
                    assert pool.value == pytest.approx(one.value, abs=1e-12), (seed, pool.measure)

    def test_several_judges_are_pooled_too(self) -> None:
        rows = [
            {"query_id": "q", "run_id": "r", "judge": "A", "aspect": f"n{query}", "label": "support"}
            for query in "12"
        ]
        rows += [{**rows[0], "judge": "B", "label": "not_support"}]
        plain, pool = evaluate_answers("a_strict, nugget_recall(over=pool)", rows)["r"].values()
        assert (plain.value, pool.value) == (1 / 2, 2 / 3)

    def test_what_nuggetizer_counts_0_weighs_nothing(self) -> None:
        rows = [{"query_id": "p", "run_id": "r", "aspect": "n", "label": "support", "importance": "okay"}]
        rows += [{**rows[0], "query_id": "q", "importance": "vital"}]
        measures = "v_strict, nugget_recall(importance=vital,over=pool)"
        plain, pool = evaluate_answers(measures, rows, compat="nuggetizer")["r"].values()
        assert (plain.value, pool.value, pool.queries) == (1 / 2, 1.0, 2)

    def test_people_correct_means_alone(self) -> None:
        table = rageval.read_judgements([{"query_id": "q", "run_id": "r", "aspect": "n", "label": "support"}])
        measures = measures_of_answers("nugget_recall(over=pool)")
        with pytest.raises(MeasureError, match="is no mean over queries"):
            correct(measures, table, table, Rules())


class TestBlend:
    """A number made of several shares, each of which is pooled before they are blended."""

    ROWS = (("a", 3, 4, 1, 2), ("b", 0, 2, 5, 5), ("c", 1, 10, 0, 3), ("d", 7, 8, 2, 9))

    @staticmethod
    def f1() -> rageval.Measure:
        parts = {query: pairs for query, *pairs in TestBlend.ROWS}

        @rageval.measure
        def f1_of_two(answer: rageval.Assessment) -> Blend:
            """F1 of two shares."""
            answer.judged("CRAG")
            part, whole, other, all_others = parts[answer.query_id]
            return Blend("f1", Share(part, whole), Share(other, all_others))

        return f1_of_two

    def scores(self, *measures: object) -> list[rageval.scoring.scores.Score]:
        judged = [{"query_id": query, "run_id": "r", "label": "perfect"} for query, *_ in self.ROWS]
        return list(evaluate_answers(list(measures), judged)["r"].scores)

    def test_a_pooled_blend_is_as_worked_by_hand(self) -> None:
        measure = self.f1()
        mean, pool = self.scores(measure, measure(over="pool"))
        assert mean.value == pytest.approx(
            (2 * 0.75 * 0.5 / 1.25 + 0 + 0 + 2 * (7 / 8) * (2 / 9) / (7 / 8 + 2 / 9)) / 4
        )
        precision, recall_ = 11 / 24, 8 / 19
        assert pool.value == pytest.approx(2 * precision * recall_ / (precision + recall_), abs=1e-15)
        assert "|over:pool|" in pool.signature

    def test_it_survives_a_journey(self) -> None:
        blend = Blend("f1", Share(3, 4), math.nan)
        back = pickle.loads(pickle.dumps(blend))
        assert math.isnan(back)
        assert (back.rule, str(back.shares)) == ("f1", str(blend.shares))

    def test_what_is_undefined_in_one_is_pooled_in_the_other(self) -> None:
        share = pooled([Blend("f1", Share(1, 2), math.nan), Blend("f1", Share(0, 2), Share(3, 4))])
        assert share == Blend("f1", Share(1, 4), Share(3, 4))
        assert math.isnan(pooled([Blend("f1", Share(1, 2), math.nan)]))
        assert math.isnan(pooled([]))

    @pytest.mark.parametrize(
        ("rule", "shares"), [("f2", [Share(1, 1)]), ("f1", [Share(1, 1)]), ("mean", []), ("mean", [0.5])]
    )
    def test_nothing_else_is_blended(self, rule: str, shares: list[float]) -> None:
        with pytest.raises(MeasureError, match="expected"):
            Blend(rule, *shares)

    def test_a_blend_of_one_share_is_the_share_with_its_interval(self) -> None:
        """The jackknife's values of a pooled share of equal wholes are the shares themselves."""
        drawn = random.Random(3)
        parts = [drawn.randint(0, 9) for _ in range(40)]
        alone = bootstrap(recall(over="topics"), [Share(part, 9) for part in parts])
        blended = bootstrap(recall(over="pool"), [Blend("mean", Share(part, 9)) for part in parts])
        assert blended == pytest.approx(alone, abs=1e-9)

    def test_of_unequal_wholes_its_interval_is_near_that_of_the_pooled_share(self) -> None:
        drawn = random.Random(5)
        wholes = [drawn.randint(2, 20) for _ in range(80)]
        shares = [Share(drawn.randint(0, whole), whole) for whole in wholes]
        alone = bootstrap(recall(over="pool"), shares)
        blended = bootstrap(recall(over="pool"), [Blend("mean", share) for share in shares])
        assert blended == pytest.approx(alone, abs=0.01)
        assert alone[0] < float(pooled(shares)) < alone[1]
