"""Measures of DRAGUN, BioGen and RAGDoll: their organizers' numbers, and what becomes of what is missing."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner

import answers_oracle as oracle
import rageval
import test_answer_laws as laws
from rageval.cli import main
from rageval.measures.official import OFFICIAL

GOLDEN = Path(__file__).parents[1] / "golden" / "trec"
Rows = list[dict[str, Any]]


def values(measures: str, judged: Any, **options: Any) -> dict[str, list[float]]:
    table = rageval.evaluate_answers(measures, judged, **options)
    return {run: [score.value for score in scores.values()] for run, scores in table.items()}


def printed(*words: str) -> str:
    ran = CliRunner().invoke(main, list(words))
    assert ran.exit_code == 0, ran.output
    return ran.output


class TestDragun:
    LABELS = str(GOLDEN / "dragun.labels.csv")
    RUBRIC = str(GOLDEN / "dragun.rubric.json")

    def test_reports_have_the_organizers_numbers(self) -> None:
        values_of = values("official:dragun", self.LABELS, nuggets=self.RUBRIC)
        with (GOLDEN / "dragun.expected.csv").open() as file:
            expected = {row["run_tag"]: row for row in csv.DictReader(file)}
        assert values_of.keys() == expected.keys()
        for run, row in expected.items():
            of_organizers = [float(row[name]) for name in ("supportive_score", "contradictory_score")]
            assert values_of[run] == pytest.approx(of_organizers, abs=1e-12)

    def test_without_the_rubric_there_is_no_number(self) -> None:
        ran = CliRunner().invoke(main, [self.LABELS, "-m", "official:dragun"])
        assert ran.exit_code == 2
        assert "dragun.labels.csv:2: dragun_support needs the weight" in ran.output

    @pytest.mark.parametrize("column", ["annotation", "auto_assessment", "assessment", "label"])
    def test_a_label_that_is_not_there_is_missing_and_has_bounds(self, tmp_path: Path, column: str) -> None:
        text = Path(self.LABELS).read_text().replace("annotation", column)
        judged = tmp_path / "labels.csv"
        judged.write_text("\ufeff" + text.replace("t1,r1,a1,supports", "t1,r1,a1,"))
        with pytest.raises(rageval.errors.MissingJudgements, match="1 error"):
            values("dragun_support", judged, nuggets=self.RUBRIC)
        scores = rageval.evaluate_answers("official:dragun", judged, nuggets=self.RUBRIC, on_missing="skip")[
            "r1"
        ]
        support, contradiction = scores.values()
        weight = (4 / 3) / 7  # of one answer, of all
        assert support.bounds == pytest.approx((3 / 7 - weight, 3 / 7))
        assert contradiction.bounds == pytest.approx((4 / 21, 4 / 21 + weight))
        output = printed(str(judged), "--nuggets", self.RUBRIC, "-m", "dragun_support", "--bounds")
        assert "1 judgement is missing (1 error); from 0.2381 to 0.4286" in output

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("topic_id,run_tag,answer_id,annotation\nt,r,a,maybe\n", ":2: expected one of supports, partial"),
            ("topic_id,run_tag,answer_id,annotation\nt,r,a\n", ":2: expected 4 columns, found 3"),
            ("topic_id,run_tag,answer_id,annotation\nt,,a,none\n", ":2: expected an id of 1 to"),
            ('topic_id,run_tag,answer_id,annotation\nt,r,"a,none\n', "expected a table"),
            ("topic_id,run_tag,answer_id,annotation\nt,r,a,none\nt,r,a,none\n", ":3: query t, run r"),
        ],
    )
    def test_bad_tables_are_refused(self, tmp_path: Path, text: str, says: str) -> None:
        judged = tmp_path / "labels.csv"
        judged.write_text(text)
        ran = CliRunner().invoke(main, [str(judged), "--nuggets", self.RUBRIC, "-m", "dragun_support"])
        assert ran.exit_code == 2
        assert says in ran.output

    def test_a_letter_that_says_nothing_is_refused(self, tmp_path: Path) -> None:
        rubric = tmp_path / "rubric.json"
        rubric.write_text(Path(self.RUBRIC).read_text().replace("A: Have to Know", "Must"))
        with pytest.raises(rageval.InputError, match="expected one that begins with A, B, C"):
            values("dragun_support", self.LABELS, nuggets=rubric)

    def test_questions_have_the_values_worked_by_hand(self, tmp_path: Path) -> None:
        """By hand: of weights 4, 2, 1 the first is asked in a compound question, the second half."""
        head = "topic_id,run_tag,run_question_rank,"
        similar = tmp_path / "similar.csv"
        similar.write_text(
            f"{head}rubric_question_rank,annotation\n"
            "t1,r,1,1,very-similar\nt1,r,2,1,similar\nt1,r,1,2,different\nt1,r,2,2,similar\n"
            "t1,r,1,3,very-different\nt1,r,2,3,different\n"
        )
        compound = tmp_path / "compound.csv"
        compound.write_text(f"{head}compound_question\nt1,r,1,True\nt1,r,2,False\n")
        names = "dragun_questions, dragun_questions(compound=counted)"
        both = values(names, [similar, compound], nuggets=self.RUBRIC)
        assert both["r"] == pytest.approx([(2 + 1) / 7, (4 + 1) / 7])
        # The organizers' judge calls the column and its labels otherwise.
        name = "auto_compound_question_assessment"
        compound.write_text(f"{head}{name}\nt1,r,1,compound\nt1,r,2,not-compound\n")
        assert values(names, [similar, compound], nuggets=self.RUBRIC) == both
        (counted,) = values("dragun_questions(compound=counted)", similar, nuggets=self.RUBRIC)["r"]
        assert counted == both["r"][1]
        with pytest.raises(rageval.errors.UsageError, match="holds no judgements of compound questions"):
            values("dragun_questions", similar, nuggets=self.RUBRIC)

    def test_swapping_supports_and_contradicts_swaps_the_two(self) -> None:
        drawn = random.Random(7)
        labels = ("supports", "none", "contradicts")
        turned = {"supports": "contradicts", "contradicts": "supports"}
        for _ in range(20):
            rows = [
                {"query_id": f"q{query}", "run_id": "r", "rubric": "stance", "aspect": f"a{index}",
                 "weight": drawn.choice((4 / 3, 2, 0.25)), "label": drawn.choice(labels)}
                for query in range(3) for index in range(drawn.randint(1, 5))
            ]  # fmt: skip
            swapped = [row | {"label": turned.get(row["label"], row["label"])} for row in rows]
            names = "official:dragun, dragun_support(over=pool), dragun_contradiction(over=pool)"
            support, contradiction, pooled, other = values(names, rows)["r"]
            assert values(names, swapped)["r"] == [contradiction, support, other, pooled]


class TestBioGen:
    JUDGED = str(GOLDEN / "biogen.medaesqa.json")
    NAMES: ClassVar[dict[str, str]] = dict(
        zip(
            ("accuracy", "precision", "redundancy", "harmfulness", "citation_coverage",
             "citation_support_rate", "citation_contradict_rate", "document_recall", "document_precision"),
            OFFICIAL["biogen"],
            strict=True,
        )
    )  # fmt: skip

    def test_answers_have_the_organizers_numbers(self) -> None:
        scores = rageval.evaluate_answers("official:biogen", self.JUDGED)
        expected = json.loads((GOLDEN / "biogen.expected.json").read_text())
        assert scores.keys() == expected.keys()
        for run, of_run in expected.items():
            for theirs, value in of_run.items():
                assert 100 * scores[run][self.NAMES[theirs]].value == pytest.approx(value, abs=1e-9), theirs

    def test_what_the_organizers_count_where_nothing_is_cited_is_named(self, tmp_path: Path) -> None:
        """Their script has 0 for an answer that cites nothing; the set says under which option it is so."""
        records = json.loads(Path(self.JUDGED).read_text())
        for sentence in records[0]["machine_generated_answers"]["M1"]["answer_sentences"]:
            sentence["citation_assessment"] = []
        judged = str(self.written(tmp_path, records))
        result = CliRunner().invoke(main, [judged, "-m", "official:biogen"])
        assert "--compat medaesqa" in result.stderr
        theirs = CliRunner().invoke(main, [judged, "-m", "official:biogen", "--compat", "medaesqa"])
        assert "official:biogen" not in theirs.stderr
        rate = self.NAMES["citation_support_rate"]
        plain = rageval.evaluate_answers("official:biogen", judged)["M1"][rate]
        compat = rageval.evaluate_answers("official:biogen", judged, compat="medaesqa")["M1"][rate]
        assert plain.undefined == 1
        assert compat.undefined == 0
        assert compat.value == 0.0

    def test_the_rules_of_a_set_are_known(self) -> None:
        """Every set is one of the sets, and its rules are known for answers."""
        from rageval.measures.official import COMPAT_OF
        from rageval.scoring.rules import COMPAT_OF_ANSWERS

        assert COMPAT_OF.keys() <= OFFICIAL.keys()
        assert set(COMPAT_OF.values()) <= set(COMPAT_OF_ANSWERS)

    def test_lines_are_read_as_the_array_is(self, tmp_path: Path) -> None:
        lines = tmp_path / "medaesqa.jsonl"
        lines.write_text(
            "".join(json.dumps(record) + "\n" for record in json.loads(Path(self.JUDGED).read_text()))
        )
        assert values("official:biogen", lines) == values("official:biogen", self.JUDGED)
        assert "M1" in printed(self.JUDGED, "-m", "official:biogen")

    @pytest.mark.slow
    @pytest.mark.parametrize("measure", sorted(set(OFFICIAL["biogen"])))
    def test_what_nobody_judged_has_bounds(self, tmp_path: Path, measure: str) -> None:
        """Every completion of what is lost lies between them."""
        records = json.loads(Path(self.JUDGED).read_text())
        first, second = records[0]["machine_generated_answers"].values()
        citation, accurate = first["answer_sentences"][1]["citation_assessment"][0], "is_answer_accurate"
        other = second["answer_sentences"][1]["citation_assessment"][0]
        lost: Rows = []
        for relation in ("supporting", "contradicting", "neutral", "not relevant"):
            for theirs, verdict in (("neutral", "yes"), ("not relevant", "no")):
                citation["evidence_relation"], other["evidence_relation"], first[accurate] = (
                    relation,
                    theirs,
                    verdict,
                )
                lost.append(values(measure, self.written(tmp_path, records))["M1"])
        citation["evidence_relation"] = other["evidence_relation"] = first[accurate] = None
        judged = self.written(tmp_path, records)
        score = rageval.evaluate_answers(measure, judged, on_missing="skip")["M1"][measure]
        if measure.startswith("sentence_share"):  # nothing of it is lost
            assert score.bounds is None
            return
        assert score.bounds is not None
        low, high = score.bounds
        assert low <= min(lost)[0] + 1e-12
        assert max(lost)[0] <= high + 1e-12
        assert low < high

    def written(self, folder: Path, records: Rows) -> Path:
        judged = folder / "judged.json"
        judged.write_text(json.dumps(records))
        return judged

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            (('"required"', '"vital"'), "expected one of required, borderline"),
            (('"supporting"', '"yes"'), "expected one of supporting"),
            (('"answer_sentences"', '"sentences"'), "answer_sentences"),
            (('"M2"', '"M1"'), "the key 'M1' appears twice"),
        ],
    )
    def test_bad_files_are_refused(self, tmp_path: Path, change: tuple[str, str], says: str) -> None:
        judged = tmp_path / "judged.json"
        judged.write_text(Path(self.JUDGED).read_text().replace(*change))
        ran = CliRunner().invoke(main, [str(judged), "-m", "official:biogen"])
        assert ran.exit_code == 2
        assert "judged.json:1: " in ran.output
        assert says in ran.output


def supported(*sentences: str, run: str = "r", topic: str = "14") -> dict[str, Any]:
    """An answer in RAGDoll's form: a sentence is the labels of its citations."""
    return {
        "narrative_id": topic,
        "run_id": run,
        "sentences": [
            {
                "citations": [
                    {"reference": f"d{n}", "support": label} for n, label in enumerate(labels.split())
                ]
            }
            for labels in sentences
        ],
    }


class TestRagdoll:
    RECORDS = (
        supported("2", "1", "0 2", "-1", ""),
        supported("2 1", "", "-1", topic="15"),
        supported("", run="s", topic="16"),
    )
    # Of each record: the first citation of each sentence, all that are judged, and full support alone.
    BY_HAND: ClassVar[dict[str, tuple[float, ...]]] = {
        "citation_precision": (1.5 / 3, 1.0, 0.0),
        "citation_recall": (1.5 / 4, 1 / 2, 0.0),
        "citation_precision(citations=all)": (2 / 3, 0.75, 0.0),
        "citation_recall(citations=all)": (2 / 4, 0.75 / 2, 0.0),
        "citation_precision(credit=full)": (1 / 3, 1.0, 0.0),
        "citation_recall(credit=full)": (1 / 4, 1 / 2, 0.0),
    }

    def file(self, folder: Path) -> str:
        path = folder / "support.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in self.RECORDS))
        return str(path)

    def test_compat_has_ragdolls_numbers(self, tmp_path: Path) -> None:
        scores = rageval.evaluate_answers(list(self.BY_HAND), self.file(tmp_path), compat="ragdoll")
        for name, expected in self.BY_HAND.items():
            one, two = scores["r"][name], scores["s"][name]
            assert [one.by_query["14"], one.by_query["15"], two.by_query["16"]] == pytest.approx(expected), (
                name
            )
            assert one.value == pytest.approx(sum(expected[:2]) / 2)  # over the answers that are there
            assert "compat:ragdoll" in one.signature

    def test_ours_tells_what_is_missing_and_undefined(self, tmp_path: Path) -> None:
        path = self.file(tmp_path)
        ran = CliRunner().invoke(main, [path, "-m", "citation_precision"])
        assert ran.exit_code == 3
        assert "2 judgements that citation_precision needs are missing (2 error)" in ran.output
        with pytest.warns(match=r"the others \(14, 15\) score 0 in citation_precision"):
            table = rageval.evaluate_answers("citation_precision", path, on_missing="skip")
        assert str(table["r"]["citation_precision"].by_query) == "{'14': 0.5, '15': 1.0, '16': nan}"
        assert str(table["s"]["citation_precision"].by_query) == "{'14': 0.0, '15': 0.0, '16': nan}"
        output = printed(path, "-m", "citation_precision", "--on-missing", "skip")
        assert "s: answered 1 of 3 queries; the others (14, 15) score 0 in citation_precision" in output
        with pytest.warns(match="the others .* are left out"):
            scores = rageval.evaluate_answers(
                "citation_precision", path, on_missing="skip", intersection=True
            )
        assert scores["r"]["citation_precision"].value == 0.75
        assert "|intersection:True|" in scores["r"]["citation_precision"].signature

    @pytest.mark.parametrize(
        ("record", "says"),
        [
            (supported("3"), "labels of support"),
            (supported("2") | {"topic_id": "15"}, "expected one topic_id or narrative_id, found 14, 15"),
            ({"run_id": "r", "sentences": []}, "found none"),
            (
                {"topic_id": "1", "run_id": "r", "sentences": [{"citations": [
                    {"reference": "d", "support": "1"}, {"reference": "d", "support": "2"}]}]},
                "cites 'd' twice, with two kinds of support",
            ),
        ],
    )  # fmt: skip
    def test_bad_records_are_refused(self, tmp_path: Path, record: dict[str, Any], says: str) -> None:
        path = tmp_path / "support.jsonl"
        path.write_text(json.dumps(record) + "\n")
        with pytest.raises(rageval.InputError, match=r"support.jsonl:1: .*" + says):
            values("citation_precision", path)


VERDICTS = {"satisfied": Fraction(1), "partially_satisfied": Fraction(1, 2), "not_satisfied": Fraction(0)}
TIES = ("Tie", "Tie (bothbad)", "Both Good", "Both Bad")


def drawn_support(rng: random.Random) -> list[dict[str, Any]]:
    labels = ("2", "1", "0", "-1")
    return [
        supported(
            *(" ".join(rng.choices(labels, k=rng.randrange(4))) for _ in range(rng.randrange(6))),
            run=run,
            topic=str(topic),
        )
        for run in "rst"
        for topic in range(30)
    ]


def support_of(record: dict[str, Any], credit: Fraction) -> dict[str, Fraction]:
    """Precision and recall by RAGDoll's definitions: by the first citation, and by all that were judged."""
    worth = {"2": Fraction(1), "1": credit, "0": Fraction(0)}
    cited = [[one["support"] for one in sentence["citations"]] for sentence in record["sentences"]]
    parts = {
        "first": [[worth[labels[0]]] if labels[0] in worth else [] for labels in cited if labels],
        "all": [[worth[label] for label in labels if label in worth] for labels in cited if labels],
    }
    values = {}
    for which, sentences in parts.items():
        won = sum((sum(grades) / Fraction(len(grades)) for grades in sentences if grades), Fraction(0))
        judged, unjudged = sum(map(bool, sentences)), sentences.count([])
        for name, below in (("precision", judged), ("recall", len(cited) - unjudged)):
            values[f"citation_{name}(citations={which})"] = won / below if below else Fraction(0)
    return values


def drawn_rubrics(rng: random.Random) -> list[dict[str, Any]]:
    def criterion(number: int) -> dict[str, Any]:
        weight, tier = rng.choice([(5, "mandatory"), (2, "optional"), (-3, "optional")])
        verdict = rng.choice(["satisfied", "Partially Satisfied", "not_satisfied"])
        return {"text": f"c{number}", "weight": weight, "tier": tier, "verdict": verdict}

    numbers = range(rng.randrange(1, 8))
    return [
        {"qid": str(query), "run_id": run, "criteria": [criterion(number) for number in numbers]}
        for query in range(50)
        for run in ("r", "s")
    ]


def rubric_of(record: dict[str, Any], credit: Fraction) -> Fraction | None:
    worth = VERDICTS | {"partially_satisfied": credit}
    won = sum(
        of["weight"] * worth[of["verdict"].lower().replace(" ", "_")] for of in record["criteria"]
    )  # fmt: skip
    to_win = sum(of["weight"] for of in record["criteria"] if of["weight"] > 0)
    return won / Fraction(to_win) if to_win else None


def drawn_battles(rng: random.Random, number: int) -> list[dict[str, Any]]:
    battles = []
    for query in range(number):
        pair = sorted(rng.sample("abcd", 2))
        shown = rng.sample(pair, 2)
        verdict = rng.choice(["A", "B", *TIES, None])
        preferred = None if verdict not in ("A", "B") else shown["AB".index(verdict)]
        battles.append(
            {"task_id": f"arena:{pair[0]}:{pair[1]}:{query}", "qid": str(query), "pair": pair,
             "assistant_a_run_id": shown[0], "assistant_b_run_id": shown[1], "judge_verdict": verdict,
             "preferred_run_id": preferred, "model": "m",
             "status": "completed" if verdict else "failed"}
        )  # fmt: skip
    return battles


def written_lines(folder: Path, records: list[dict[str, Any]]) -> str:
    path = folder / "ragdoll.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def rows_of(*words: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(CliRunner().invoke(main, list(words)).stdout)
    return rows


class TestRagdollDrawn:
    """By RAGDoll's definitions, written once more: its support, its graded rubrics and its battles."""

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.filterwarnings("ignore:.*answered", "ignore:.*missing")
    def test_support(self, tmp_path: Path, seed: int) -> None:
        records = drawn_support(random.Random(seed))
        path, values = written_lines(tmp_path, records), 0
        for credit, worth in (("weighted", Fraction(1, 2)), ("full", Fraction(0))):
            names = [*support_of(records[0], worth)]
            asked = [f"{name[:-1]},credit={credit})" for name in names]
            scores = rageval.evaluate_answers(asked, path, compat="ragdoll")
            for record in records:
                of_run = scores[record["run_id"]].values()
                for (name, expected), score in zip(support_of(record, worth).items(), of_run, strict=True):
                    value = score.by_query[record["narrative_id"]]
                    assert value == pytest.approx(float(expected), abs=1e-12), (record, name)
                    values += 1
        assert values == 2 * 4 * 90

    @pytest.mark.parametrize("seed", range(4))
    def test_rubrics(self, tmp_path: Path, seed: int) -> None:
        records = drawn_rubrics(random.Random(seed))
        path = written_lines(tmp_path, records)
        names = {"rubric_score": Fraction(1, 2), "rubric_score(credit=strict)": Fraction(0)}
        scores = rageval.evaluate_answers([*names], path)
        for record in records:
            for name, credit in names.items():
                value = scores[record["run_id"]][name].by_query[record["qid"]]
                expected = rubric_of(record, credit)
                assert (value != value) if expected is None else value == pytest.approx(float(expected))
        # Whoever has the mandatory criteria as vital nuggets knows how many failed.
        mandatory = [of for of in records[0]["criteria"] if of["tier"] == "mandatory"]
        if mandatory:
            met = sum(of["verdict"] == "satisfied" for of in mandatory) / len(mandatory)
            strict = rageval.evaluate_answers("v_strict", path)["r"]["v_strict"]
            assert strict.by_query["0"] == pytest.approx(met)

    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.slow
    def test_battles(self, tmp_path: Path, seed: int) -> None:
        battles = drawn_battles(random.Random(seed), 1000)
        path = written_lines(tmp_path, battles)
        matrix = rows_of("arena", path, "--matrix", "--format", "json")
        counts = {(row["wins-ties-losses"], other): row[other] for row in matrix for other in "abcd"}
        rates: dict[str, list[float]] = {run: [] for run in "abcd"}
        for pair in combinations("abcd", 2):
            of_pair = [of for of in battles if tuple(of["pair"]) == pair and of["status"] == "completed"]
            wins = [sum(of["preferred_run_id"] == run for of in of_pair) for run in pair]
            ties = sum(of["judge_verdict"] in TIES for of in of_pair)
            assert counts[pair] == [wins[0], ties, wins[1]]
            assert counts[pair[::-1]] == [wins[1], ties, wins[0]]
            for run, won in zip(pair, wins, strict=True):
                rates[run].append(won + ties / 2)
        number = Counter(run for of in battles if of["judge_verdict"] for run in of["pair"])
        standings = rows_of("arena", path, "--format", "json")
        assert {row["system"]: row["win_rate"] for row in standings} == pytest.approx(
            {run: sum(won) / number[run] for run, won in rates.items()}
        )
        # The place in which each was shown is read, too, and that nothing was shown in both.
        assert "shown at one position only" in CliRunner().invoke(main, ["arena", path]).stderr

    def test_what_failed_and_was_asked_again_counts_once(self, tmp_path: Path) -> None:
        battles = drawn_battles(random.Random(1), 60)
        repeats = [
            of | {"judge_verdict": "Tie", "status": "completed"} for of in battles if not of["judge_verdict"]
        ]
        assert repeats
        path = written_lines(tmp_path, [*battles, *repeats])
        ran = CliRunner().invoke(main, ["arena", path])
        assert ran.exit_code == 0
        assert "failed" not in ran.stderr
        once = CliRunner().invoke(main, ["arena", written_lines(tmp_path, [*battles, *repeats[1:]])])
        assert "2 judgements failed; their comparisons are left out" in once.stderr

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"judge_verdict": "C"}, "as `judge_verdict`, found 'C'"),
            ({"judge_verdict": "A", "preferred_run_id": "b"}, "expected 'a' as `preferred_run_id`"),
            ({"judge_verdict": "Tie", "preferred_run_id": "b"}, "found 'b'"),
            ({"assistant_b_run_id": "a"}, "expected two systems, found 'a' as both"),
        ],
    )
    def test_a_battle_that_contradicts_itself_is_refused(
        self, tmp_path: Path, change: dict[str, Any], says: str
    ) -> None:
        battle = {"qid": "1", "assistant_a_run_id": "a", "assistant_b_run_id": "b", "judge_verdict": "A"}
        ran = CliRunner().invoke(main, ["arena", written_lines(tmp_path, [battle | change])])
        assert ran.exit_code == 2
        assert "ragdoll.jsonl:1" in ran.stderr
        assert says in ran.stderr

    def test_a_verdict_that_is_none_is_refused_and_a_failed_one_missing(self, tmp_path: Path) -> None:
        record = {"qid": "1", "run_id": "r", "criteria": [{"weight": 1, "verdict": "good"}]}
        with pytest.raises(rageval.InputError, match=r"as `verdict`.*found 'good'"):
            values("rubric_score", written_lines(tmp_path, [record]))
        record["criteria"] = [{"weight": 3, "verdict": "satisfied"}, {"weight": 1, "verdict": "failed"}]
        path = written_lines(tmp_path, [record])
        ran = CliRunner().invoke(main, [path, "-m", "rubric_score"])
        assert ran.exit_code == 3
        assert values("rubric_score", path, on_missing="worst") == {"r": [0.75]}  # RAGDoll's


SCALES = {
    scale.rubric: scale for scale in vars(oracle).values() if isinstance(scale, oracle.Scale) and scale.rubric
}


@pytest.mark.filterwarnings("ignore:.*answered")  # some systems answer a part of the queries
@pytest.mark.parametrize("kind", laws.TRACKS)
@pytest.mark.slow
def test_no_completion_is_outside_of_the_bounds(kind: str) -> None:
    """Whatever failed judgements would have said, and whatever those that are not there are."""
    measures, tried = laws.MEASURES[kind], 0
    for seed in range(6):
        rng = random.Random(seed)
        drawn = laws.table(rng, kind)
        answers = laws.answer_lines(drawn)
        bounded = rageval.evaluate_answers(measures, drawn.rows, answers=answers, on_missing="skip")
        for _ in range(3):
            rows = [row if not laws.failed(row) else completed(row, rng) for row in drawn.rows]
            for end in ("worst", "best"):
                full = rageval.evaluate_answers(measures, rows, answers=answers, on_missing=end)
                for run, scores in full.items():
                    for name, score in scores.items():
                        bounds = bounded[run][name].bounds
                        if bounds is not None and score.value == score.value:
                            tried += 1
                            assert bounds[0] - 1e-9 <= score.value <= bounds[1] + 1e-9, (seed, run, name)
    assert tried


def completed(row: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    bare = {key: value for key, value in row.items() if key != "status"}
    return bare | {"label": rng.choice(list(SCALES[row["rubric"]].worth))}
