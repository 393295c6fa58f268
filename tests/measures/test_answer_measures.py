"""Answers small enough to score by hand, and numbers that others have published or print."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

import rageval
from our_measures import OF_ANSWERS
from rageval import InputError, MeasureError, RagevalError, evaluate_answers
from rageval.errors import MissingJudgements, UsageError
from rageval.measures import scales
from rageval.measures.parsing import SHORT
from rageval.subjects import ANSWERS, kind_of_measure, kinds_of_measure

Row = dict[str, Any]
SHORT_NAMES = "v_strict a_strict v a w"


def row(query: str = "q", run: str = "r", **label: Any) -> Row:
    return {"query_id": query, "run_id": run, **label}


def value(measure: str, judged: Sequence[Row], run: str = "r", **options: Any) -> float:
    return evaluate_answers(measure, judged, **options)[run][measure].value


def values(measures: str, judged: Any, run: str = "r", **options: Any) -> list[float]:
    return [score.value for score in evaluate_answers(measures, judged, **options)[run].values()]


def nuggets(*nuggets_labels: tuple[str | None, str], query: str = "q") -> list[Row]:
    return [
        row(query, aspect=f"n{index}", label=label) | ({"importance": importance} if importance else {})
        for index, (importance, label) in enumerate(nuggets_labels)
    ]


SUPPORT, PARTIAL, NOT = "support", "partial_support", "not_support"
FOUR = nuggets(("vital", SUPPORT), ("vital", PARTIAL), ("okay", SUPPORT), ("okay", NOT))


class TestNuggets:
    def test_the_five_short_names(self) -> None:
        weighted = (1 + 1 / 2 + 1 / 2 * 1) / (2 + 1 / 2 * 2)
        expected = [1 / 2, 2 / 4, (1 + 1 / 2) / 2, (2 + 1 / 2) / 4, weighted]
        assert values(SHORT_NAMES, FOUR) == pytest.approx(expected, abs=1e-15)

    def test_weighted_takes_the_true_counts(self) -> None:
        """Fixed weights would give a perfect answer 0.8 where nothing is okay."""
        assert value("w", nuggets(("vital", SUPPORT), ("vital", SUPPORT))) == 1.0
        assert value("w", nuggets(("okay", SUPPORT), ("okay", NOT), ("okay", NOT))) == pytest.approx(1 / 3)
        assert value("nugget_recall(importance=weighted)", FOUR) == pytest.approx((1 + 0.5) / 3)

    def test_okay_alone_and_nuggets_of_no_importance(self) -> None:
        judged = [*FOUR, row(aspect="whatever", label=SUPPORT)]
        assert value("a_strict", judged) == 3 / 5
        # Nobody knows which of the two it is, so it is missing for both.
        for measure in ("nugget_recall(importance=okay)", "v_strict"):
            score = evaluate_answers(measure, judged, on_missing="skip")["r"].scores[0]
            assert (score.value, score.bounds, score.lost) == (1 / 2, (1 / 3, 2 / 3), {"unrated": 1})

    def test_a_weight_needs_no_importance(self) -> None:
        """The weight in the bank counts, else the importance, else 1; no weight is below 0."""
        judged = [
            row(aspect="vital", importance="vital", label=SUPPORT),
            row(aspect="okay", importance="okay", label=NOT),
            row(aspect="bare", label=SUPPORT),
            row(aspect="weighed", weight=5, label=SUPPORT),
            row(aspect="both", importance="vital", weight=3, label=NOT),
            row(aspect="fault", weight=-4, label=SUPPORT),
        ]
        assert value("nugget_coverage(importance=weighted)", judged) == (2 + 1 + 5) / (2 + 1 + 1 + 5 + 3)
        assert value("nugget_coverage", judged) == 4 / 6
        alone = [row(aspect="bare", label=SUPPORT), row(aspect="weighed", weight=5, label=NOT)]
        assert value("nugget_coverage(importance=weighted)", alone) == 1 / 6

    def test_a_query_without_vital_nuggets_has_no_value(self) -> None:
        judged = [*FOUR, *nuggets(("okay", SUPPORT), query="other")]
        score = evaluate_answers("v_strict", judged)["r"]["v_strict"]
        assert (score.value, score.queries, score.undefined) == (1 / 2, 1, 1)
        assert math.isnan(score.by_query["other"])

    @pytest.mark.parametrize("spelling", ["Support", " support ", "SUPPORT"])
    def test_spellings_of_labels(self, spelling: str) -> None:
        assert value("a", [row(aspect="n", label=spelling)]) == 1.0
        assert value("a", [row(aspect="n", label="partial " + spelling.strip())]) == 0.5
        assert value("a", [row(aspect="n", label="Not-" + spelling.strip())]) == 0.0

    def test_grades_in_place_of_labels(self) -> None:
        judged = [row(aspect=str(grade), grade=grade) for grade in (0, 0.5, 1)]
        assert values("a_strict a", judged) == [1 / 3, 1 / 2]

    def test_density_is_of_full_support_in_100_words(self) -> None:
        answers = [row(answer="ten\u2009km is far")]
        assert value("nugget_density", FOUR, answers=answers) == 100 * 2 / 4
        assert value("nugget_density(rule=split)", FOUR, answers=answers) == 100 * 2 / 4
        assert value("nugget_density", FOUR, answers=[row(answer="rock\u00b4n roll")]) == 100 * 2 / 3
        assert value("nugget_density(rule=split)", FOUR, answers=[row(answer="rock\u00b4n roll")]) == 100

    @pytest.mark.parametrize("answers", [None, [row(answer="  ")], [row("another query", answer="x")]])
    def test_density_of_an_answer_without_words(self, answers: list[Row] | None) -> None:
        assert math.isnan(
            evaluate_answers("nugget_density", FOUR, answers=answers)["r"]["nugget_density"].by_query["q"]
        )

    def test_density_where_nothing_could_be_judged(self) -> None:
        """Nothing is known of this answer: no value, and not 0."""
        judged = [*FOUR, row("lost", aspect="n", status="error")]
        answers = [row(answer="a b c d"), row("lost", answer="a b c d"), row("never judged", answer="a")]
        score = evaluate_answers("nugget_density", judged, answers=answers, on_missing="skip")["r"][
            "nugget_density"
        ]
        assert math.isnan(score.by_query["lost"])
        assert math.isnan(score.by_query["never judged"])
        assert score.value == 50.0

    def test_f_of_the_trec_qa_track(self) -> None:
        """Voorhees 2003: 100 characters that are no blanks for each nugget found, vital or okay."""
        judged = nuggets(("vital", SUPPORT), ("vital", NOT), ("okay", SUPPORT), ("vital", NOT))
        answers = [row(answer="x" * 150 + "\n " + "y" * 100)]
        recall, precision = 1 / 3, 1 - (250 - 200) / 250
        for beta in (5, 3, 1):
            expected = (beta**2 + 1) * precision * recall / (beta**2 * precision + recall)
            name = "nugget_f" if beta == 5 else f"nugget_f(beta={beta})"
            assert value(name, judged, answers=answers) == pytest.approx(expected, abs=1e-15)
        assert value("nugget_f(beta=0)", judged, answers=answers) == pytest.approx(precision)

    def test_f_at_its_ends(self) -> None:
        short = [row(answer="x" * 100)]
        assert value("nugget_f", nuggets(("vital", SUPPORT)), answers=short) == 1.0
        assert value("nugget_f", nuggets(("vital", NOT)), answers=short) == 0.0
        assert value("nugget_f", nuggets(("vital", PARTIAL)), answers=short) == 0.0
        assert value("nugget_f", nuggets(("vital", NOT)), answers=[row(answer="")]) == 0.0
        assert math.isnan(value("nugget_f", nuggets(("okay", SUPPORT)), answers=short))
        assert math.isnan(value("nugget_f", nuggets(("vital", SUPPORT))))

    def test_rubrics_with_faults(self) -> None:
        weighted = [(3, SUPPORT), (2, PARTIAL), (1, NOT), (-2, SUPPORT), (-4, NOT)]
        judged = [row(aspect=str(index), weight=w, label=label) for index, (w, label) in enumerate(weighted)]
        assert value("rubric_score", judged) == pytest.approx((3 + 2 / 2 - 2) / (3 + 2 + 1))
        faults = [row(aspect=str(w), weight=w, label=SUPPORT) for w in (1, -5)]
        assert values("rubric_score rubric_score(floor=zero)", faults) == [-4.0, 0.0]
        assert math.isnan(value("rubric_score", faults[1:]))

    @pytest.mark.parametrize(("on_missing", "expected"), [("worst", (1 - 2) / 3), ("best", 3 / 3)])
    def test_the_worst_of_a_fault_is_that_it_is_there(self, on_missing: str, expected: float) -> None:
        judged = [
            row(aspect="a", weight=1, label=SUPPORT),
            row(aspect="b", weight=2, status="error"),
            row(aspect="c", weight=-2, status="error"),
        ]
        assert value("rubric_score", judged, on_missing=on_missing) == pytest.approx(expected)

    def test_recall_knows_no_faults(self) -> None:
        """A criterion's weight says nothing of how far recall could rise or fall."""
        judged = [row(aspect="a", weight=-1, status="error"), row(aspect="b", label=SUPPORT)]
        score = evaluate_answers("a_strict", judged, on_missing="skip")["r"]["a_strict"]
        assert score.bounds == (0.5, 1.0)

    @pytest.mark.parametrize("weight", [math.inf, -math.inf])
    def test_a_weight_is_a_number(self, weight: float) -> None:
        with pytest.raises(RagevalError):
            evaluate_answers("rubric_score", [row(aspect="a", weight=weight, label=SUPPORT)])


def assigned(query: str, *assignments: tuple[str, str], run: str = "r") -> Row:
    nugget_rows = [
        {"text": f"n{index}", "importance": i, "assignment": a} for index, (i, a) in enumerate(assignments)
    ]
    return {
        "query": "?",
        "qid": query,
        "run_id": run,
        "answer_text": "a b",
        "response_length": 2,
        "nuggets": nugget_rows,
    }


ASSIGNMENTS = [
    assigned("q1", ("vital", SUPPORT), ("vital", PARTIAL), ("okay", SUPPORT), ("okay", NOT)),
    assigned("q2", ("okay", SUPPORT), ("okay", "failed")),
    assigned("q3", ("vital", "failed"), ("vital", SUPPORT), ("failed", PARTIAL)),
]


class TestNuggetizer:
    """Its `calculate_metrics`: what failed is not supported, a query without vital nuggets is 0."""

    # strict vital, strict all, vital, all; of each record, then the mean
    RECORDS = ((1 / 2, 2 / 4, 1.5 / 2, 2.5 / 4), (0.0, 1 / 2, 0.0, 1 / 2), (1 / 2, 1 / 3, 1 / 2, 1.5 / 3))
    MEASURES = "v_strict a_strict v a"

    @pytest.fixture(name="path")
    def written(self, tmp_path: Path) -> Path:
        path = tmp_path / "assignments.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in ASSIGNMENTS), encoding="utf-8")
        return path

    def test_values_are_those_of_the_nuggetizer(self, path: Path) -> None:
        scores = evaluate_answers(self.MEASURES, path, compat="nuggetizer")["r"]
        for column, score in zip(zip(*self.RECORDS, strict=True), scores.values(), strict=True):
            assert list(score.by_query.values()) == pytest.approx(column)
        means = [sum(column) / len(column) for column in zip(*self.RECORDS, strict=True)]
        assert [score.value for score in scores.values()] == pytest.approx(means)

    def test_the_right_ones(self, path: Path) -> None:
        with pytest.raises(MissingJudgements, match=r"2 judgements that .* are missing"):
            evaluate_answers(self.MEASURES, path)
        scores = evaluate_answers(self.MEASURES, path, on_missing="skip")["r"]
        right = (
            (1 / 2, math.nan, 1.0),
            (2 / 4, 1.0, 1 / 2),
            (1.5 / 2, math.nan, 1.0),
            (2.5 / 4, 1.0, 1.5 / 2),
        )
        for column, score in zip(right, scores.values(), strict=True):
            assert list(score.by_query.values()) == pytest.approx(column, nan_ok=True)
        assert [score.undefined for score in scores.values()] == [1, 0, 1, 0]
        assert dict(scores["a"].lost) == {"error": 2}

    def test_a_record_without_nuggets_counts_0_in_its_mean(self, path: Path) -> None:
        path.write_text(path.read_text() + json.dumps(assigned("q4")) + "\n")
        scores = evaluate_answers(self.MEASURES, path, compat="nuggetizer")["r"]
        means = [sum(column) / 4 for column in zip(*self.RECORDS, strict=True)]
        assert [score.value for score in scores.values()] == pytest.approx(means)
        right = evaluate_answers("a_strict", path, on_missing="skip")["r"]["a_strict"]
        assert (right.queries, right.undefined) == (3, 1)

    def test_each_run_has_its_own_records(self, path: Path) -> None:
        """It sees one file a run: what the others answered is no concern."""
        path.write_text(path.read_text() + json.dumps(assigned("q1", ("vital", SUPPORT), run="s")) + "\n")
        assert values(self.MEASURES, path, run="s", compat="nuggetizer") == [1.0] * 4
        with pytest.raises(MissingJudgements, match="s: 8 judgements"):
            evaluate_answers("a_strict", path)

    def test_the_same_nugget_twice(self, tmp_path: Path) -> None:
        line = assigned("q", ("vital", SUPPORT), ("vital", NOT), ("vital", NOT))
        for index, text in enumerate(("same", "same", "same #2")):
            line["nuggets"][index]["text"] = text
        path = tmp_path / "assignments.jsonl"
        path.write_text(json.dumps(line))
        assert value("v_strict", path, compat="nuggetizer") == pytest.approx(1 / 3)


PUBLISHED = [  # perfect, acceptable, incorrect, missing, truthfulness, in per cent
    (70.0, 9.5, 14.3, 6.1, 60.5),
    (67.1, 10.0, 12.7, 10.2, 59.3),
    (61.8, 11.4, 25.7, 1.3, 41.8),
    (61.0, 7.1, 14.1, 17.8, 50.5),
    (63.7, 6.3, 20.9, 9.1, 45.9),
]


class TestCrag:
    @pytest.mark.slow
    @pytest.mark.parametrize("published", PUBLISHED)
    def test_published_rows_are_reproduced(self, published: tuple[float, ...]) -> None:
        names = ("perfect", "acceptable", "incorrect", "missing")
        labels = [name for name, of in zip(names, published[:4], strict=True) for _ in range(round(10 * of))]
        judged = [row(str(index), label=label) for index, label in enumerate(labels)]
        measures = "truthfulness accuracy hallucination missing crag_share(label=perfect)"
        percentages = [100 * value for value in values(measures, judged)]
        perfect, acceptable, incorrect, missing, truthfulness = published
        expected = [truthfulness, perfect + acceptable, incorrect, missing, perfect]
        assert percentages == pytest.approx(expected, abs=0.1 + 0.06)  # the rows sum to 99.9 to 100.2
        assert percentages[0] == pytest.approx(truthfulness, abs=0.1 + 1e-9)

    def test_the_three_way_form(self) -> None:
        labels = ["accurate", "accurate", "missing", "incorrect", "incorrect", "incorrect"]
        judged = [row(str(index), label=label, rubric="crag-auto") for index, label in enumerate(labels)]
        values_found = values("truthfulness accuracy hallucination missing", judged)
        assert values_found == pytest.approx([(2 - 3) / 6, 2 / 6, 3 / 6, 1 / 6])
        assert values_found[0] == pytest.approx(values_found[1] - values_found[2])

    def test_grades_say_what_labels_say(self) -> None:
        by_label = [
            row(str(index), label=name)
            for index, name in enumerate(("perfect", "acceptable", "missing", "incorrect"))
        ]
        by_grade = [row(str(index), grade=grade) for index, grade in enumerate((1, 0.5, 0, -1))]
        measures = "truthfulness accuracy hallucination missing"
        measures += " crag_share(label=perfect) crag_share(label=acceptable)"
        assert values(measures, by_grade) == values(measures, by_label)

    @pytest.mark.parametrize(
        ("name", "range_of"),
        [
            ("accuracy", (0.5, 1.0)),
            ("hallucination", (0.0, 0.5)),
            ("missing", (0.0, 0.5)),
            ("crag_share(label=acceptable)", (0.0, 0.5)),
        ],
    )
    def test_bounds_of_shares_hold_for_any_label(self, name: str, range_of: tuple[float, float]) -> None:
        """The answer that could not be judged may have been any of the four."""
        judged = [row("1", label="perfect"), row("2", status="error")]
        bounds = evaluate_answers(name, judged, on_missing="skip")["r"][name].bounds
        assert bounds is not None
        assert (min(bounds), max(bounds)) == range_of


class TestLiveRag:
    JUDGED: ClassVar[list[Row]] = [
        row(str(index), aspect="correctness", grade=grade)
        for index, grade in enumerate((2, 1, 0, -1, 1.5, 2))
    ]
    FAITHFUL: ClassVar[list[Row]] = [
        row(str(index), aspect="faithfulness", grade=grade) for index, grade in enumerate((1, 0, -1, 0.25))
    ]

    def test_each_aspect_has_its_own_mean(self) -> None:
        assert value("correctness", self.JUDGED) == pytest.approx(5.5 / 6)
        assert value("faithfulness", self.FAITHFUL) == 0.25 / 4
        rows = [*self.JUDGED, *self.FAITHFUL]
        # Two answers were judged on one of the two only.
        with pytest.raises(MissingJudgements, match="2 judgements that faithfulness needs are missing"):
            evaluate_answers("correctness faithfulness", rows)
        both = evaluate_answers("correctness faithfulness", rows, on_missing="skip")["r"]
        assert [score.queries for score in both.values()] == [6, 4]

    def test_shares_a_level(self) -> None:
        shares = [
            value(f"correctness_share(level={level})" if level != 2 else "correctness_share", self.JUDGED)
            for level in (-1, 0, 1, 2)
        ]
        assert shares == [1 / 6, 1 / 6, 1 / 6, 2 / 6]
        shares = [
            value(f"faithfulness_share(level={level})" if level != 1 else "faithfulness_share", self.FAITHFUL)
            for level in (-1, 0, 1)
        ]
        assert shares == [1 / 4, 1 / 4, 1 / 4]

    @pytest.mark.parametrize(
        ("aspect", "grade"),
        [("correctness", 2.001), ("correctness", -1.5), ("faithfulness", 2), ("faithfulness", -1.0001)],
    )
    def test_out_of_range_is_refused_and_never_clipped(self, aspect: str, grade: float) -> None:
        judged = [row("1", aspect=aspect, grade=1), row("2", aspect=aspect, grade=grade)]
        with pytest.raises(
            InputError, match=rf"judgements:2: expected a number from -1 to . for {aspect}, found grade"
        ):
            evaluate_answers(aspect, judged)

    @pytest.mark.parametrize("measure", ["correctness", "faithfulness", "faithfulness_share(level=0)"])
    @pytest.mark.parametrize("last", [{"grade": 0.5}, {"status": "error"}])
    def test_metrics_of_tools_are_not_on_this_scale(self, measure: str, last: dict[str, Any]) -> None:
        """Their grades would fit, and a failed one would be filled with a grade that the tool never gives."""
        aspect = measure.partition("_")[0]
        by_tool = row("2", aspect=aspect, rubric=f"ragas/{aspect}", **last)
        for judged in ([by_tool], [row("1", aspect=aspect, rubric="liverag", grade=1), by_tool]):
            for on_missing in ("error", "skip", "worst"):
                with pytest.raises(
                    InputError, match=rf"judgements:{len(judged)}: judged by .*; use grade\(aspect={aspect}\)"
                ):
                    evaluate_answers(measure, judged, on_missing=on_missing)
        own = evaluate_answers(f"grade(aspect={aspect})", [by_tool], on_missing="worst")["r"]
        assert own.scores[0].value == last.get("grade", 0.0)
        # Judgements without a rubric, or by one of one's own, are still on it.
        assert value(measure, [row("1", aspect=aspect, rubric="mine", grade=0)]) in (0.0, 1.0)

    @pytest.mark.parametrize(
        "level", ["correctness_share(level=3)", "correctness_share(level=0.5)", "faithfulness_share(level=2)"]
    )
    def test_levels_there_are(self, level: str) -> None:
        with pytest.raises(MeasureError, match="level"):
            evaluate_answers(level, self.JUDGED)


FULL, HALF_SUPPORT, NONE = "full_support", "partial_support", "no_support"
PRECISIONS = [f"citation_precision(citations={which})" for which in ("first", "all", "micro")]
RECALLS = [f"citation_recall(citations={which})" for which in ("first", "all")]


def citation(sentence: int, doc: str, label: str | None, **fields: Any) -> Row:
    judgement = {"label": label} if label else {"status": "error"}
    return row(item_id=doc, aspect=str(sentence), **judgement, **fields)


def answer(
    *cited: Sequence[str], query: str = "q", run: str = "r", references: Sequence[str] = "abcd"
) -> Row:
    sentences = [{"text": f"Sentence {index}.", "citations": list(docs)} for index, docs in enumerate(cited)]
    return row(query, run, answer=sentences, references=list(references))


class TestCitations:
    """The track's example: the first sentence cites a good and a bad document, the second a good one."""

    JUDGED: ClassVar[list[Row]] = [
        citation(0, "a", FULL, sentences=3),
        citation(0, "b", NONE),
        citation(1, "c", FULL),
    ]
    ANSWER: ClassVar[list[Row]] = [answer("ab", "c", "")]

    def test_the_example_without_the_answer(self) -> None:
        assert values(" ".join(PRECISIONS), self.JUDGED) == pytest.approx([1.0, 0.75, 2 / 3])
        assert values(" ".join(RECALLS), self.JUDGED) == pytest.approx([2 / 3, 1 / 2])

    def test_the_example_with_the_answer(self) -> None:
        bare = [
            {key: verdict for key, verdict in judged.items() if key != "sentences"} for judged in self.JUDGED
        ]
        shuffled = [bare[1], bare[2], bare[0]]  # the answer knows which citation is the first
        for judged in (bare, shuffled):
            assert values(" ".join(PRECISIONS), judged, answers=self.ANSWER) == pytest.approx(
                [1.0, 0.75, 2 / 3]
            )
            assert values(" ".join(RECALLS), judged, answers=self.ANSWER) == pytest.approx([2 / 3, 1 / 2])

    def test_partial_support_is_a_half(self) -> None:
        judged = [citation(0, "a", HALF_SUPPORT, sentences=2), citation(1, "a", FULL)]
        assert value("citation_precision", judged) == value("citation_recall", judged) == 0.75

    def test_what_leads_nowhere_supports_nothing(self) -> None:
        judged = [citation(0, "a", FULL)]
        answers = [answer(["a", "made up"], ["made up"])]
        assert values(" ".join(PRECISIONS), judged, answers=answers) == pytest.approx([1 / 2, 1 / 4, 1 / 3])
        assert values(" ".join(RECALLS), judged, answers=answers) == pytest.approx([1 / 2, 1 / 4])
        answers = [answer(["made up", "a"])]
        assert value("citation_precision", judged, answers=answers) == 0.0

    def test_each_citation_that_leads_nowhere_counts(self) -> None:
        judged = [citation(0, "a", FULL)]
        answers = [answer(["a", "made up", "this too"])]
        assert values(" ".join(PRECISIONS[1:]), judged, answers=answers) == pytest.approx([1 / 3, 1 / 3])

    def test_a_document_cited_twice_by_a_sentence_counts_once(self) -> None:
        judged = [citation(0, "a", FULL), citation(0, "b", NONE), citation(1, "a", HALF_SUPPORT)]
        answers = [answer("aab", "aa")]
        assert values(" ".join(PRECISIONS), judged, answers=answers) == [3 / 4, (1 / 2 + 1 / 2) / 2, 1 / 2]
        assert values(" ".join(RECALLS), judged, answers=answers) == [3 / 4, (1 / 2 + 1 / 2) / 2]
        assert values("citations citations(count=all)", judged, answers=answers) == [2, 5]

    def test_each_cited_document_counts_once_a_sentence_on_other_scales(self) -> None:
        labels = {"citation-relevance": ("relevant", "not_relevant"), "citation-stance": ("supports", "none")}
        for rubric, measure in (
            ("citation-relevance", "citation_relevance"),
            ("citation-stance", "citation_share"),
        ):
            first, second = labels[rubric]
            judged = [
                citation(0, "a", first, rubric=rubric),
                citation(0, "b", second, rubric=rubric),
                citation(1, "a", second, rubric=rubric),
            ]
            assert value(measure, judged, answers=[answer("aaab", "aa")]) == pytest.approx(1 / 3)

    @pytest.mark.parametrize("first", [FULL, HALF_SUPPORT, NONE, None])
    def test_every_citation_with_one_that_is_missing(self, first: str | None) -> None:
        """What is missing may be the worst: only a citation that supports nothing settles the sentence."""
        judged = [citation(0, "a", first), citation(1, "c", HALF_SUPPORT)]
        answers = [answer("ab", "c", "")]
        names = "citation_precision(citations=every) citation_recall(citations=every)"
        skipped = values(names, judged, answers=answers, on_missing="skip")
        # A sentence of which nothing is settled leaves both sums.
        settled = first == NONE
        assert skipped == pytest.approx([0.5 / (1 + settled), 0.5 / (2 + settled)])
        worst = values(names, judged, answers=answers, on_missing="worst")
        assert worst == pytest.approx([0.5 / 2, 0.5 / 3])
        credit = {FULL: 1.0, HALF_SUPPORT: 0.5, NONE: 0.0, None: 1.0}[first]
        best = values(names, judged, answers=answers, on_missing="best")
        assert best == pytest.approx([(credit + 0.5) / 2, (credit + 0.5) / 3])

    def test_an_answer_that_cites_nothing_has_its_values(self) -> None:
        judged = [citation(0, "a", FULL), row("bare", item_id="x", aspect="0", run="s", label=FULL)]
        judged[1]["run_id"] = "s"
        answers = [
            answer("a"),
            answer("", "", query="bare"),
            answer("x", query="bare", run="s", references="x"),
        ]
        answers.append(answer("", run="s"))
        scores = evaluate_answers([*PRECISIONS, *RECALLS], judged, answers=answers)["r"]
        assert all(math.isnan(scores[name].by_query["bare"]) for name in PRECISIONS)
        assert [scores[name].by_query["bare"] for name in RECALLS] == [0.0, 0.0]
        assert [scores[name].missing for name in scores] == [0] * 5

    def test_a_judgement_of_another_answer(self) -> None:
        elsewhere = ((0, "d"), (1, "a"), (2, "b"), (7, "a"))  # counted from 1, the last sentence is 2
        for stranger in (citation(sentence, doc, FULL) for sentence, doc in elsewhere):
            with pytest.raises(InputError, match=r"the answer does not; .*counted from 0"):
                evaluate_answers(
                    "citation_precision", [citation(0, "a", FULL), stranger], answers=[answer("a", "b")]
                )

    def test_a_citation_not_judged_is_missing(self) -> None:
        judged, answers = [citation(0, "a", FULL)], [answer("ab", "c")]
        with pytest.raises(MissingJudgements, match=r"2 absent\).*between 0.5000 and 1.0000"):
            evaluate_answers("citation_precision", judged, answers=answers)
        bounds = {
            end: values(" ".join(PRECISIONS), judged, answers=answers, on_missing=end)
            for end in ("skip", "worst", "best")
        }
        assert bounds == {"skip": [1, 1, 1], "worst": pytest.approx([1 / 2, 1 / 4, 1 / 3]), "best": [1, 1, 1]}
        skipped = evaluate_answers(RECALLS, judged, answers=answers, on_missing="skip")["r"]
        assert [score.value for score in skipped.values()] == [1.0, 1.0]
        assert [dict(score.lost) for score in skipped.values()] == [{"absent": 2}] * 2

    def test_the_first_citation_could_not_be_judged(self) -> None:
        judged = [citation(0, "a", None, sentences=2), citation(0, "b", FULL), citation(1, "c", NONE)]
        scores = evaluate_answers([*PRECISIONS, *RECALLS], judged, on_missing="skip")["r"]
        assert [score.value for score in scores.values()] == [0.0, 0.5, 0.5, 0.0, 0.5]

    def test_recall_needs_to_know_the_sentences(self) -> None:
        with pytest.raises(UsageError, match="number of sentences"):
            evaluate_answers("citation_recall", [citation(0, "a", FULL)])

    @pytest.mark.parametrize("numbers", [(3, 2), (2, 3), (1, 1), (0, 0), (-1, -1)])
    def test_sentences_that_contradict_themselves_or_the_judgements(self, numbers: tuple[int, int]) -> None:
        judged = [citation(index, "a", FULL, sentences=number) for index, number in enumerate(numbers)]
        with pytest.raises(InputError, match="sentences"):
            evaluate_answers("citation_recall", judged)

    def test_a_system_that_lacks_an_answer(self) -> None:
        """That is a missing judgement, as for every other measure."""
        judged = [
            citation(0, "a", FULL, sentences=1),
            row("p", "s", item_id="a", aspect="0", label=FULL, sentences=1),
        ]
        judged += [row("p", item_id="a", aspect="0", label=FULL, sentences=1)]
        with pytest.raises(MissingJudgements, match="s: 1 judgement "):
            evaluate_answers("citation_recall", judged)
        with pytest.warns(match="s: answered 1 of 2 queries; the others .* are missing in citation_recall"):
            score = evaluate_answers("citation_recall", judged, on_missing="skip")["s"]["citation_recall"]
        assert (score.value, score.undefined) == (1.0, 1)


class TestSideBySide:
    def test_points_for_places(self) -> None:
        places = {"1": "1234", "2": "2143"}
        judged = [
            row(run=run, aspect=order, grade=int(place))
            for order in places
            for run, place in zip("abcd", places[order], strict=True)
        ]
        points = {
            run: scores["rank_score"].value for run, scores in evaluate_answers("rank_score", judged).items()
        }
        assert points == {"a": 7 / 8, "b": 7 / 8, "c": 3 / 8, "d": 3 / 8}
        assert sum(points.values()) == (4 + 1) / 2

    @pytest.mark.parametrize("bad", [{"grade": 1}, {"grade": 3}, {"status": "invalid"}])
    def test_an_invalid_ranking(self, bad: Row) -> None:
        judged = [row(run=run, aspect="1", grade=place) for run, place in (("a", 1), ("b", 2))]
        judged += [row(run="a", aspect="2", grade=1), row(run="b", aspect="2", **bad)]
        judged += [row("other", run=run, aspect="1", grade=place) for run, place in (("a", 2), ("b", 1))]
        scores = evaluate_answers("rank_score rank_score(invalid=query)", judged, on_missing="skip")["a"]
        assert [score.by_query["q"] for score in scores.values()] == pytest.approx(
            [1.0, math.nan], nan_ok=True
        )
        assert [score.by_query["other"] for score in scores.values()] == [0.5, 0.5]

    def test_discarded_rankings_are_counted(self) -> None:
        judged = [
            row(run=run, aspect=order, grade=1 if order == "2" else place)
            for order in "12"
            for run, place in (("a", 1), ("b", 2))
        ]
        score = evaluate_answers("rank_score", judged, on_missing="skip")["a"]["rank_score"]
        assert (score.value, score.missing) == (1.0, 1)

    def test_share_of_wins(self) -> None:
        outcomes = [("win", "loss"), ("tie", "tie"), ("loss", "win"), ("win", "loss")]
        judged = [
            row(run=run, aspect=str(index), label=label)
            for index, pair in enumerate(outcomes)
            for run, label in zip("ab", pair, strict=True)
        ]
        scores = evaluate_answers("win_rate", judged)
        assert (scores["a"]["win_rate"].value, scores["b"]["win_rate"].value) == (2.5 / 4, 1.5 / 4)

    def test_nobody_meets_everybody(self) -> None:
        judged = [
            row(query, run, aspect="x", label=label)
            for query, runs in (("1", "ab"), ("2", "bc"))
            for run, label in zip(runs, ("win", "loss"), strict=True)
        ]
        scores = evaluate_answers("win_rate", judged)
        assert [scores[run]["win_rate"].value for run in "abc"] == [1.0, 0.5, 0.0]
        assert [scores[run]["win_rate"].missing for run in "abc"] == [0, 0, 0]


class TestQuality:
    """FreshStack, equations 2 to 4: per question, then the mean."""

    REDUNDANT: ClassVar[dict[str, Sequence[int]]] = {"q": (0, 0, 1, 0), "p": (1, 0)}
    HALLUCINATED: ClassVar[dict[str, Sequence[int]]] = {"q": (0, 1, 0, 0), "p": (0, 0)}
    LACKING: ClassVar[dict[str, int]] = {"q": 2, "p": 0}

    def judged(self) -> list[Row]:
        rows = [
            row(query, item_id=str(index), aspect=aspect, grade=grade)
            for aspect, table in (("redundant", self.REDUNDANT), ("hallucinated", self.HALLUCINATED))
            for query, grades in table.items()
            for index, grade in enumerate(grades)
        ]
        return rows + [row(query, aspect="lacking", grade=grade) for query, grade in self.LACKING.items()]

    def test_values_follow_the_equations_of_the_paper(self) -> None:
        bank = values("bank_precision bank_recall bank_groundedness", self.judged())
        expected = [(3 / 4 + 1 / 2) / 2, (3 / (3 + 2) + 1 / (1 + 0)) / 2, (3 / 4 + 2 / 2) / 2]
        assert bank == pytest.approx(expected)

    def test_recall_without_a_count_of_what_is_lacking(self) -> None:
        judged = [
            judged for judged in self.judged() if (judged["query_id"], judged["aspect"]) != ("p", "lacking")
        ]
        score = evaluate_answers("bank_recall", judged)["r"]["bank_recall"]
        assert (score.value, score.undefined) == (3 / 5, 1)

    @pytest.mark.parametrize(
        ("on_missing", "expected"), [("worst", (1 / 2, 1 / 2, 0.0)), ("best", (1.0, 1.0, 1.0))]
    )
    def test_the_worst_is_a_bad_nugget(self, on_missing: str, expected: tuple[float, ...]) -> None:
        judged = [row(item_id="1", aspect=aspect, grade=0) for aspect in ("redundant", "hallucinated")]
        judged += [
            row(item_id="2", aspect=aspect, status="error") for aspect in ("redundant", "hallucinated")
        ]
        judged += [row(aspect="lacking", status="error")]
        bank = values("bank_precision bank_groundedness bank_recall", judged, on_missing=on_missing)
        assert bank == pytest.approx(expected)

    @pytest.mark.parametrize("grade", [0.5, 2, -1])
    def test_a_nugget_is_good_or_not(self, grade: float) -> None:
        with pytest.raises(
            InputError, match="judgements:1: expected a whole number from 0 to 1 for nugget quality"
        ):
            evaluate_answers("bank_precision", [row(item_id="1", aspect="redundant", grade=grade)])

    def test_an_audit_has_a_share_a_label(self) -> None:
        labels = ["relevant", "partially relevant", "non-relevant", "relevant"]
        judged = [row(item_id=str(index), aspect="n", label=label) for index, label in enumerate(labels)]
        judged += [row("p", item_id="1", aspect="n", label="relevant")]
        names = [
            f"audit_share(label={label})" for label in ("relevant", "partially_relevant", "non_relevant")
        ]
        audit = [score.value for score in evaluate_answers(names, judged)["r"].values()]
        assert audit == [(1 / 2 + 1) / 2, 1 / 8, 1 / 8]


class TestSeveralJudges:
    JUDGED: ClassVar[list[Row]] = [
        row(query, judge=judge, label=label)
        for judge, labels in (("A", ("perfect", "incorrect")), ("B", ("acceptable", "missing")))
        for query, label in zip("12", labels, strict=True)
    ]

    def test_the_mean_of_their_scores_and_each(self) -> None:
        score = evaluate_answers("crag_score", self.JUDGED)["r"]["crag_score"]
        assert score.by_query == {"1": 0.75, "2": -0.5}
        assert score.value == 0.125
        assert score.judges == {"A": 0.0, "B": 0.25}
        assert score.signature.startswith("crag_score|judge:A+B|v:")

    def test_not_the_mean_of_all_judgements(self) -> None:
        """One judge saw five nuggets, the other one: each has the same say."""
        judged = [row(judge="A", aspect=str(index), label=SUPPORT) for index in range(5)]
        judged += [row(judge="B", aspect="0", label=NOT)]
        assert value("a_strict", judged) == 0.5

    def test_one_alone_needs_no_table(self) -> None:
        score = evaluate_answers("crag_score", self.JUDGED[:2])["r"]["crag_score"]
        assert score.judges == {}
        assert "|judge:A|" in score.signature

    def test_a_judge_of_something_else_has_no_say(self) -> None:
        judged = [
            row(aspect="correctness", grade=2, judge="A"),
            row(aspect="faithfulness", grade=1, judge="B"),
        ]
        scores = evaluate_answers("correctness faithfulness", judged)["r"]
        assert [score.value for score in scores.values()] == [2.0, 1.0]
        assert [dict(score.judges) for score in scores.values()] == [{}, {}]


class TestGroups:
    JUDGED: ClassVar[list[Row]] = [
        row(str(index), label=label)
        for index, label in enumerate(("perfect", "perfect", "missing", "incorrect"))
    ]
    GROUPS: ClassVar[dict[str, str]] = {"0": "simple", "1": "simple", "2": "simple", "3": "set"}

    def test_the_mean_of_means(self) -> None:
        score = evaluate_answers("crag_score", self.JUDGED, groups=self.GROUPS)["r"]["crag_score"]
        assert score.value == pytest.approx((2 / 3 - 1) / 2)
        assert "|mean:of-groups|" in score.signature

    def test_weighted_by_traffic(self) -> None:
        weights = {"simple": 0.9, "set": 0.1}
        score = evaluate_answers("crag_score", self.JUDGED, groups=self.GROUPS, weights=weights)["r"][
            "crag_score"
        ]
        assert score.value == pytest.approx(0.9 * 2 / 3 - 0.1)
        assert "|mean:weighted|" in score.signature

    @pytest.mark.parametrize(
        "weights",
        [
            {"simple": 0.9, "set": 0.9},
            {"simple": 1.0},
            {"simple": 0.5, "st": 0.5},
            {"simple": 1.5, "set": -0.5},
        ],
    )
    def test_weights_are_checked_in_python_too(self, weights: dict[str, float]) -> None:
        with pytest.raises(RagevalError, match=r"weight"):
            value("crag_score", self.JUDGED, groups=self.GROUPS, weights=weights)

    def test_weights_of_no_groups(self) -> None:
        with pytest.raises(RagevalError, match="groups"):
            evaluate_answers("crag_score", self.JUDGED, weights={"simple": 1.0})

    def test_a_query_without_a_group(self) -> None:
        with pytest.raises(RagevalError, match="group"):
            value("crag_score", self.JUDGED, groups={"0": "simple"})


class TestYourOwn:
    """A measure of answers is a plain function of an `Assessment`."""

    JUDGED: ClassVar[list[Row]] = [
        *nuggets(("vital", SUPPORT), ("okay", PARTIAL), ("okay", NOT)),
        row("other", aspect="n0", status="error"),
        row("other", aspect="n1", label=SUPPORT),
    ]

    @pytest.mark.parametrize("scale", ["nugget support", "nugget-assignment", scales.SUPPORT])
    def test_three_lines_are_enough(self, scale: Any) -> None:
        @rageval.measure
        def lenient(answer: rageval.Assessment, *, least: float = 0.5) -> float:
            grades = answer.judged(scale)
            return sum(nugget.grade >= least for nugget in grades) / len(grades) if grades else math.nan

        assert kind_of_measure(lenient) is ANSWERS
        scores = evaluate_answers([lenient, lenient(least=1)], self.JUDGED, on_missing="skip")["r"]
        assert [score.by_query for score in scores.values()] == [
            {"q": 2 / 3, "other": 1.0},
            {"q": 1 / 3, "other": 1.0},
        ]
        assert [dict(score.lost) for score in scores.values()] == [{"error": 1}] * 2
        assert scores["lenient"].bounds == ((2 / 3 + 1 / 2) / 2, (2 / 3 + 1) / 2)

    def test_what_it_sees(self) -> None:
        seen: list[Any] = []

        @rageval.measure
        def nosy(answer: rageval.Assessment) -> float:
            place = (answer.query_id, answer.run_id, answer.judge, answer.sentences, answer.cited)
            seen.append((place, answer.judged(scales.CITATION), answer.length("split")))
            return 0.0

        judged = [row(judge="J", item_id="d", aspect="0", label="Full-Support")]
        sentences = [{"text": "a b", "citations": ["d"]}]
        evaluate_answers(nosy, judged, answers=[row(answer=sentences, references=["d"])])
        assert seen[0][0] == ("q", "r", "J", 1, (("d",),))
        (judgement,) = seen[0][1]
        assert judgement._replace(weight=0.0) == (1.0, "full_support", None, 0.0, "0", "d")
        assert math.isnan(judgement.weight)
        assert seen[0][2] == 2.0

    def test_a_scale_of_your_own(self) -> None:
        tone = scales.Scale("tone", ("tone",), {"kind": 1.0, "rude": -2.0}, worst="rude", best="kind")

        @rageval.measure
        def kindness(answer: rageval.Assessment) -> float:
            return sum(judgement.grade for judgement in answer.judged(tone))

        judged = [row(rubric="tone@2", label="kind"), row("p", rubric="tone@2", status="refused")]
        score = evaluate_answers(kindness, judged, on_missing="worst")["r"]["kindness"]
        assert score.by_query == {"q": 1.0, "p": -2.0}
        assert score.bounds == (-0.5, 1.0)
        with pytest.raises(InputError, match="expected one of kind, rude for tone, found label 'odd'"):
            evaluate_answers(kindness, [*judged, row("s", rubric="tone", label="odd")])

    @pytest.mark.parametrize("name", ["nuget support", "liverag", "nugget quality", ""])
    def test_a_scale_that_nobody_knows(self, name: str) -> None:
        @rageval.measure
        def lost(answer: rageval.Assessment) -> float:
            return len(answer.judged(name))

        with pytest.raises(UsageError, match="expected a Scale, or the name of one: nugget support, "):
            evaluate_answers(lost, self.JUDGED)

    def test_what_the_nuggets_must_say(self) -> None:
        @rageval.measure
        def vital(answer: rageval.Assessment) -> float:
            return len(answer.judged("nugget support", needs="importance"))

        with pytest.raises(UsageError, match="vital: needs the importance of nuggets"):
            evaluate_answers(vital, [row(aspect="n", label=SUPPORT)])

    def test_one_that_fails_names_the_query(self) -> None:
        @rageval.measure
        def broken(answer: rageval.Assessment) -> float:
            return 1 / (len(answer.judged("nugget support")) - 2)

        with pytest.raises(MeasureError, match=r"broken: failed on the query 'other' .ZeroDivisionError"):
            evaluate_answers(
                broken, [*self.JUDGED[:3], *nuggets(("okay", NOT), ("okay", NOT), query="other")]
            )


def test_a_judge_who_ranked_nothing_is_not_among_the_judges_of_ranks() -> None:
    judged = [
        row(run=run, aspect="1", grade=place, judge="A", rubric="listwise")
        for run, place in (("a", 1), ("b", 2))
    ]
    judged += [row(run="a", label="perfect", judge="B", rubric="crag")]
    score = evaluate_answers("rank_score", judged)["a"]["rank_score"]
    assert (score.value, score.judges) == (1.0, {})
    assert "|judge:A|" in score.signature


def test_of_several_repetitions_the_first_answer_is_named() -> None:
    judged = [row(run=run, aspect="n", label=SUPPORT) for run in ("b", "a", "a", "b")]
    with pytest.raises(InputError, match=r"judgements:4: query q, run b, .* judged before, in judgements:1"):
        evaluate_answers("a", judged)


SIGNATURES = {
    "v_strict": "nugget_recall|importance:vital|credit:strict",
    "w": "nugget_recall|importance:weighted|credit:partial",
    "hallucination": "crag_share|label:incorrect",
    "truthfulness": "crag_score",
    "nugget_f(beta=3)": "nugget_f|beta:3.0",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_signature_names_what_was_not_the_default(name: str) -> None:
    judged = nuggets(("vital", SUPPORT)) if "nugget" in SIGNATURES[name] else [row(label="perfect")]
    for options, context in (
        ({}, ""),
        ({"on_missing": "skip"}, "|on_missing:skip"),
        ({"compat": "nuggetizer"}, "|compat:nuggetizer"),
    ):
        signature = evaluate_answers(name, judged, **options)["r"][name].signature
        assert signature == f"{SIGNATURES[name]}{context}|v:{rageval.__version__}"


def spellings() -> list[str]:
    of_answers = [name for name in SHORT if kind_of_measure(rageval.parse_measure(name)) is ANSWERS]
    names = [*OF_ANSWERS, *of_answers]
    for name, measure in OF_ANSWERS.items():
        for parameter in measure.declared.values():
            if parameter.choices:
                names += [f"{name}({parameter.name}={choice})" for choice in parameter.choices]
            elif parameter.limits:
                names += [f"{name}({parameter.name}={parameter.kind(limit)})" for limit in parameter.limits]
    return [*names, "nugget_recall(importance=weighted,credit=partial)", "nugget_f(beta=0.1)"]


def test_a_measure_parses_back() -> None:
    for name in spellings():
        measure = rageval.parse_measure(name)
        assert rageval.parse_measure(str(measure)) == measure, name
        assert rageval.parse_measure(str(measure).upper().replace("_", "-")) == measure, name
        assert ANSWERS in kinds_of_measure(measure), name
        if measure.name not in ("pass_any", "pass_all"):
            with pytest.raises(MeasureError, match="takes no cut-off"):
                measure @ 5


def test_options_that_do_not_exist() -> None:
    judged = [row(label="perfect")]
    for options in ({"on_missing": "zero"}, {"compat": "ndeval"}, {"depth": 3}):
        with pytest.raises(UsageError, match="expected"):
            evaluate_answers("crag_score", judged, **options)
    for measures in ("coverage@20", ["crag_score", "ndcg"], "crag_score@3", "crag", "", None):
        with pytest.raises(MeasureError):
            evaluate_answers(measures, judged)
