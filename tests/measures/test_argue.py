"""ARGUE's measures of reports, from Auto-ARGUE's judgements and a bank to the organizers' pooled values."""

from __future__ import annotations

import csv
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rageval
from commands import run_command
from rageval.cli import main
from rageval.measures.ranking import Blend, Share, pooled
from rageval.pages.page import read_report

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # what is left out of banks is said
GOLDEN = Path(__file__).parents[1] / "golden" / "trec"
Record = dict[str, Any]


def bank(topic: str, **questions: tuple[str, dict[str, int]]) -> Record:
    """A bank: of each question the aggregator, and how many documents state each of its answers."""
    asked = {
        f"{name}?": {
            "question": f"{name}?", "query_id": topic, "question_id": name, "aggregator_type": how,
            "answers": {text: {"answer": text, "references": [{"doc_id": f"d{i}"} for i in range(number)]}
                        for text, number in answers.items()},
        }
        for name, (how, answers) in questions.items()
    }  # fmt: skip
    return {"query_id": topic, "title_query": topic, "format_version": "v3", "nugget_bank": asked}


def judgement(kind: str, doc: str | None, **response: Any) -> Record:
    return {"judgment_type_id": kind, "response": response, "provenance": {"doc_id": doc}}


def sentence(**cited: tuple[bool | None, bool | None, dict[str, list[str]] | None]) -> Record:
    """A sentence: of each document that it cites whether it is relevant, attests it, and what it answers."""
    judgements: list[Record] = []
    for doc, (relevant, attested, matched) in cited.items():
        judgements.append(judgement("CITED_DOCUMENT_RELEVANCE", doc, doc_id=doc, is_relevant=relevant))
        judgements.append(judgement("SENTENCE_ATTESTED", doc, is_attested=attested))
        row = judgement("SENTENCE_ANSWERS_QUESTION", doc, matched_nuggets=[
            {"question_text": f"{name}?", "matched_answer": answers, "importance": None}
            for name, answers in (matched or {}).items()
        ])  # fmt: skip
        judgements.append(row if matched is not None else row | {"response": None})
    return {
        "segment_type": "sentence",
        "text": "So it is.",
        "citations": [{"doc_id": doc, "text": "…"} for doc in cited],
        "judgments": judgements,
    }


def report(topic: str, *sentences: Record, run: str = "r", key: str = "judgments") -> Record:
    responses = [
        {
            "text": judged_sentence["text"],
            "citations": [doc["doc_id"] for doc in judged_sentence["citations"]],
        }
        for judged_sentence in sentences
    ]
    metadata = {"team_id": "t", "run_id": run, "topic_id": topic}
    return {"report": {"metadata": metadata, "responses": responses}, key: list(sentences)}


def written(folder: Path, name: str, *records: Record) -> str:
    (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(folder / name)


BANK = bank(
    "7",
    one=("OR", {"yes": 1, "indeed": 2}),
    all=("AND", {"here": 1, "there": 1, "nowhere": 0}),
    half=("AND", {"left": 1, "right": 1}),
    never=("OR", {"now": 1}),
    unsupported=("OR", {"41.3%": 0}),
)
SENTENCES = (
    sentence(a=(True, True, {"one": ["yes"], "half": ["left"], "unsupported": ["41.3%"]})),
    sentence(a=(True, True, {"all": ["here"]}), b=(False, False, {"all": ["there"], "never": ["later"]})),
    sentence(c=(True, True, {})),
)
# Of 4 questions that are left, one and all are answered; 4 citations; 2 of 3 sentences are supported.
BY_HAND = [3 / 4, 3 / 4, 2 / 3, 2 / 4, 2 / 4, 2 * (2 / 3) * (1 / 2) / (2 / 3 + 1 / 2)]
BY_HAND.append(BY_HAND[-1])


class TestByHand:
    @pytest.mark.parametrize("key", ["judgments", "sentence_judgments"])
    def test_both_keys_of_a_topic_are_read(self, tmp_path: Path, key: str) -> None:
        judged = written(tmp_path, "r.judgments.jsonl", report("7", *SENTENCES, key=key))
        scores = rageval.evaluate_answers(
            "official:ragtime", judged, nuggets=written(tmp_path, "b.json", BANK)
        )
        assert [score.value for score in scores["r"].values()] == pytest.approx(BY_HAND, abs=1e-15)

    def test_the_command_prints_the_values_worked_by_hand(self, tmp_path: Path) -> None:
        judged = written(tmp_path, "r.judgments.jsonl", report("7", *SENTENCES))
        ran = run_command(
            judged, "--nuggets", written(tmp_path, "b.json", BANK), "-m", "official:ragtime", "-p", 3
        )
        assert ran.exit_code == 0, ran.output
        assert "argue_f1              \tall\t 0.571" in ran.output
        assert "2 answers without a reference are left out" in ran.output
        assert "1 matched questions are not in" in ran.output

    def test_only_attested_sentences(self, tmp_path: Path) -> None:
        judged = written(tmp_path, "r.judgments.jsonl", report("7", *SENTENCES))
        names = "nugget_coverage(attested=only), sentence_count, citations(count=all), nugget_count"
        names += ", length(rule=characters)"
        scores = rageval.evaluate_answers(names, judged, nuggets=written(tmp_path, "b.json", BANK))
        assert [score.value for score in scores["r"].values()] == [1 / 4, 3, 4, 4, 27]

    def test_weights_are_the_banks(self, tmp_path: Path) -> None:
        asked = json.loads(json.dumps(BANK))
        for name, importance in {"one": "vital", "all": "okay", "half": 3}.items():
            asked["nugget_bank"][f"{name}?"]["importance"] = importance
        judged = written(tmp_path, "r.judgments.jsonl", report("7", *SENTENCES))
        scores = rageval.evaluate_answers(
            "nugget_coverage_weighted", judged, nuggets=written(tmp_path, "b", asked)
        )
        assert next(iter(scores["r"].values())).value == (2 + 1) / (2 + 1 + 3 + 1)

    def test_without_the_bank_what_is_answered_is_not_known(self, tmp_path: Path) -> None:
        judged = written(tmp_path, "r.judgments.jsonl", report("7", *SENTENCES))
        ran = run_command(judged, "-m", "official:ragtime")
        assert ran.exit_code == 2
        assert (
            "only the bank shows which questions reports answer: give the nuggets that were judged"
            in ran.output
        )
        assert run_command(judged, "-m", "citation_support, sentence_support").exit_code == 0

    def test_unknown_kinds_are_counted_and_named(self, tmp_path: Path) -> None:
        odd = sentence(a=(True, True, {}))
        odd["judgments"] += [judgement("FIRST_INSTANCE", "a", is_first=True)] * 1
        odd["judgments"] += [judgement("NEEDS_CITATION", None, why="so")]
        judged = written(tmp_path, "r.judgments.jsonl", report("7", odd))
        ran = run_command(judged, "-m", "citation_support")
        assert "judgements of kinds that no measure uses: 1 FIRST_INSTANCE, 1 NEEDS_CITATION" in ran.output
        table = rageval.read_judgements(judged)
        kept = [line for _, line in table.each() if line.rubric == "argue-other"]
        assert {(line.aspect, line.label, line.status) for line in kept} == {
            ("FIRST_INSTANCE 0", "yes", "ok"), ("NEEDS_CITATION 0", None, "error")
        }  # fmt: skip

    def test_a_second_report_is_refused(self, tmp_path: Path) -> None:
        judged = written(tmp_path, "r.judgments.jsonl", report("7"), report("7", key="sentence_judgments"))
        ran = run_command(judged, "-m", "citation_support")
        assert (ran.exit_code, "run r, query 7: a second report" in ran.output) == (2, True)

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            (('"topic_id": "7"', '"topic": "7"'), "expected one topic in `report.metadata`, found none"),
            (('"run_id": "r"', '"run": "r"'), "report.metadata.run_id"),
            (('"is_attested": true', '"is_attested": "yes"'), "is_attested"),
            (('"provenance": {"doc_id": "a"}', '"provenance": null'), "names no document"),
            (('"question_text"', '"question"'), "question_text"),
        ],
    )
    def test_bad_files_are_refused(self, tmp_path: Path, change: tuple[str, str], says: str) -> None:
        path = tmp_path / "r.judgments.jsonl"
        path.write_text(json.dumps(report("7", *SENTENCES)).replace(*change))
        ran = run_command(path, "-m", "official:ragtime", "--nuggets", written(tmp_path, "b.json", BANK))
        assert ran.exit_code == 2
        assert "r.judgments.jsonl:1: expected judgements of Auto-ARGUE" in ran.output
        assert says in ran.output


class TestMissing:
    """What failed is between its bounds, and no completion is beyond them."""

    LOST = (
        sentence(a=(None, None, None)),
        sentence(b=(True, None, {"half": ["left", "right"]}), a=(True, True, {"one": ["indeed"]})),
        sentence(),
    )

    def completions(self, folder: Path) -> list[list[float]]:
        completed = []
        nuggets = written(folder, "b.json", BANK)
        for seed in range(25):
            drawn = random.Random(seed)
            matched: dict[str, list[str]] = drawn.choice(
                [{}, {"never": ["now"]}, {"all": ["here", "there"], "never": ["now"]}]
            )
            variants = (
                sentence(a=(drawn.random() < 0.5, drawn.random() < 0.5, matched)),
                sentence(b=(True, drawn.random() < 0.5, {"half": ["left", "right"]}),
                         a=(True, True, {"one": ["indeed"]})),
                sentence(),
            )  # fmt: skip
            judged = written(folder, "full.jsonl", report("7", *variants))
            need = {"query_id": "7", "run_id": "r", "rubric": "citation-need", "aspect": "2",
                    "label": drawn.choice(("required", "repeated", "negative"))}  # fmt: skip
            table = rageval.evaluate_answers(self.NAMES, [judged, need], nuggets=nuggets)["r"]
            completed.append([score.value for score in table.values()])
        return completed

    NAMES = "official:ragtime, nugget_coverage(attested=only), argue_f1(attested=only)"

    @pytest.mark.slow
    def test_judgements_that_were_lost_have_bounds(self, tmp_path: Path) -> None:
        judged = written(tmp_path, "r.judgments.jsonl", report("7", *self.LOST))
        nuggets = written(tmp_path, "b.json", BANK)
        with pytest.raises(rageval.errors.MissingJudgements):
            rageval.evaluate_answers("argue_f1", judged, nuggets=nuggets)
        scores = rageval.evaluate_answers(self.NAMES, judged, nuggets=nuggets, on_missing="skip")["r"]
        drawn = self.completions(tmp_path)
        for score, values in zip(scores.values(), zip(*drawn, strict=True), strict=True):
            assert score.bounds is not None, score.measure
            low, high = score.bounds
            assert low < high
            assert all(low - 1e-12 <= value <= high + 1e-12 for value in values), score.measure
        assert scores["sentence_support"].lost == {"error": 2, "absent": 1}
        ran = run_command(judged, "--nuggets", nuggets, "-m", self.NAMES, "--bounds")
        assert ran.output.count("; from 0.") == len(scores)

    def test_compat_takes_what_failed_for_nothing(self, tmp_path: Path) -> None:
        judged = written(tmp_path, "r.judgments.jsonl", report("7", *self.LOST), report("8"))
        nuggets = written(tmp_path, "b.jsonl", BANK, bank("8", one=("OR", {"yes": 1})))
        scores = rageval.evaluate_answers("official:ragtime", judged, nuggets=nuggets, compat="auto-argue")[
            "r"
        ]
        assert scores["citation_support"].by_query == {"7": 1 / 3, "8": 0.0}  # undefined in ours
        assert scores["sentence_support"].by_query["7"] == 0.0
        assert scores["nugget_coverage"].by_query == {"7": 0.5, "8": 0.0}
        assert "compat:auto-argue" in scores["argue_f1"].signature


class TestTopicsLeftOut:
    """A topic without a report keeps its nuggets in what shares are pooled over, and counts 0 in means."""

    def scores(self, folder: Path, names: str, **options: Any) -> list[float]:
        judged = written(folder, "r.judgments.jsonl", report("7", *SENTENCES))
        nuggets = written(folder, "b.jsonl", BANK, bank("8", a=("OR", {"x": 1}), b=("OR", {"x": 1})))
        scores = rageval.evaluate_answers(names, judged, nuggets=nuggets, **options)["r"]
        return [score.value for score in scores.values()]

    NAMES = "nugget_coverage, nugget_coverage(over=pool), argue_f1, argue_f1(over=pool)"
    NAMES += ", sentence_support(over=pool)"

    def test_a_topic_without_answer_counts_as_zero(self, tmp_path: Path) -> None:
        f1 = 2 * (2 / 3) * (2 / 6) / (2 / 3 + 2 / 6)
        assert self.scores(tmp_path, self.NAMES) == pytest.approx([1 / 4, 2 / 6, BY_HAND[-1] / 2, f1, 2 / 3])

    def test_or_is_left_out(self, tmp_path: Path) -> None:
        scores = self.scores(tmp_path, self.NAMES, intersection=True)
        assert scores == pytest.approx([1 / 2, 2 / 4, BY_HAND[-1], BY_HAND[-1], 2 / 3])

    def test_a_report_pools_in_the_same_way(self, tmp_path: Path) -> None:
        (value,) = self.scores(tmp_path, "argue_f1(over=pool)")
        words = (tmp_path / "r.judgments.jsonl", "--nuggets", tmp_path / "b.jsonl")
        page = tmp_path / "report.html"
        CliRunner().invoke(main, ["report", *map(str, words), "-m", "argue_f1(over=pool)", "-o", str(page)])
        (cell,) = read_report(page)["cells"]
        assert cell["value"] == pytest.approx(value)

    def test_it_is_said(self, tmp_path: Path) -> None:
        self.scores(tmp_path, "nugget_count")
        ran = run_command(tmp_path / "r.judgments.jsonl", "--nuggets", tmp_path / "b.jsonl", "-m", "argue_f1")
        assert "r: answered 1 of 2 queries; the others (8) score 0 in argue_f1 (--intersection" in ran.output


def test_annotations_of_assessors(tmp_path: Path) -> None:
    rows = [["7", "j", {"nugget_mentioned": [["one?", "yes"], ["half?", "left"]]}], ["7", "j", {"other": 1}]]
    path = tmp_path / "their-run.judgments.tsv"
    lines = ["\t".join([*row[:2], json.dumps(row[2])]) for row in rows]
    path.write_text("\n".join(["topic_id\tannotation_job\tannotation", *lines]))
    nuggets = written(tmp_path, "b.json", BANK)
    scores = rageval.evaluate_answers("nugget_coverage", path, nuggets=nuggets)
    assert scores["their-run"]["nugget_coverage"].value == 1 / 4
    path.write_text("topic_id\tannotation_job\tannotation\n7\tj\t{nugget}")
    ran = run_command(path, "--nuggets", nuggets, "-m", "nugget_coverage")
    assert (ran.exit_code, "judgments.tsv:2: expected `annotation` as JSON" in ran.output) == (2, True)


RATIOS = {
    "citation_relevance_micro": ("relevant_citations", "citations"),
    "citation_support_micro": ("supporting_citations", "citations"),
    "sentence_support_micro": (
        "correctly_cited_sentences",
        "sentences_with_citations_or_requiring_citations",
    ),
    "nugget_coverage_micro": ("correct_nuggets", "nuggets"),
    "nugget_coverage_weighted_micro": ("correct_nuggets_weighted", "nuggets_weighted"),
}


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("ragtime25.*.tsv")), ids=lambda file: file.name)
def test_pooled_values_of_the_organizers(file: Path) -> None:
    with file.open() as lines:
        printed = {row["metric"]: float(row["value"]) for row in csv.DictReader(lines, delimiter="\t")}
    shares = {name: Share(printed[part], printed[whole]) for name, (part, whole) in RATIOS.items()}
    for name, share in shares.items():
        assert share == pytest.approx(printed[name], abs=1e-12), name
    for name, coverage in {
        "f1_micro": "nugget_coverage_micro",
        "f1_weighted_micro": "nugget_coverage_weighted_micro",
    }.items():
        assert Blend("f1", shares["sentence_support_micro"], shares[coverage]) == pytest.approx(
            printed[name], abs=1e-12
        )


def test_pooled_is_the_mean_where_wholes_are_alike_and_the_order_changes_nothing() -> None:
    drawn = random.Random(11)
    for _ in range(20):
        parts = [(drawn.randint(0, 6), drawn.randint(0, 9)) for _ in range(5)]
        shares = [Share(part, 6) for part, _ in parts]
        assert pooled(shares) == pytest.approx(sum(shares) / 5)
        blends = [Blend("f1", Share(one, 6), Share(other, 9)) for one, other in parts]
        mixed = drawn.sample(blends, len(blends))
        assert pooled(blends) == pooled(mixed)
        p, r = Fraction(sum(one for one, _ in parts), 30), Fraction(sum(other for _, other in parts), 45)
        assert pooled(blends) == pytest.approx(float(2 * p * r / (p + r)) if p + r else 0.0)
