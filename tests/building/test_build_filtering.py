"""Which questions stay, and what people say of a sample: by hand, and by FreshStack's published numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval.building.audit import _sampled
from rageval.building.collection import (
    _RULES,
    KEPT,
    NO_DOCUMENT,
    NO_NUGGETS,
    UNDECIDED,
    UNSUPPORTED,
    counts,
    failed_pairs,
    fates_of,
    kept,
    read_support,
    report,
    supported,
    topics_of,
)
from rageval.errors import InputError
from rageval.judges import Material, Settings, rubric_named
from rageval.judges.panel import nuggets_by
from rageval.measures.scales import SUPPORT
from rageval.records import Nugget, Qrel, Question
from rageval.statistics.bootstrap import wilson
from rageval.testing import ScriptedModel
from test_bad_input import assert_refused, command

BANK = {"q": [Nugget("q", "n1", "one"), Nugget("q", "n2", "two")]}


@pytest.mark.parametrize(
    ("support", "failed", "verdict", "to_blame"),
    [
        ("n1 n2", "", KEPT, ()),
        ("n1 n2", "n1 n2", KEPT, ()),  # another document supports it, whatever the failed call would say
        ("n1", "", UNSUPPORTED, ("n2",)),
        ("n1", "n1", UNSUPPORTED, ("n2",)),
        ("n1", "n2", UNDECIDED, ("n2",)),
        ("", "", NO_DOCUMENT, ("n1", "n2")),
        ("", "n1 n2", UNDECIDED, ("n1", "n2")),
        ("", "n2", UNDECIDED, ("n2",)),
    ],
)
def test_a_question_falls_with_the_nuggets_to_blame(
    support: str, failed: str, verdict: str, to_blame: tuple[str, ...]
) -> None:
    qrels = [Qrel("q", "d", 1, name) for name in support.split()] + [Qrel("q", "e", 0, "n1")]
    pairs = {("q", name, "f") for name in failed.split()}
    (fate,) = fates_of(["q"], BANK, qrels, pairs)
    assert (fate.verdict, fate.nuggets) == (verdict, to_blame)


def test_the_papers_shares_are_of_all_questions_in_this_order() -> None:
    # 1,000 questions: 118 without a relevant document, 342 more with an unsupported nugget.
    qrels = [Qrel(str(number), "d", 1, "n1") for number in range(118, 1000)]
    qrels += [Qrel(str(number), "d", 1, "n2") for number in range(460, 1000)]
    banks = {
        str(number): [Nugget(str(number), name, name) for name in ("n1", "n2")] for number in range(1000)
    }
    fates = fates_of(banks, banks, qrels, set())
    assert list(report(counts(fates))) == [
        "1,000 questions",
        "-118 no relevant document (11.8 %)",
        "-342 an unsupported nugget (34.2 %)",
        "540 kept (54.0 %)",
    ]


@given(st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from(["n1", "n2"]))), st.booleans())
def test_every_question_has_one_fate_and_stricter_rules_keep_fewer(
    support: dict[str, set[str]], with_nuggets: bool
) -> None:
    queries = "abcdef"
    banks = {query: [n._replace(query_id=query) for n in BANK["q"]] for query in queries if with_nuggets}
    qrels = [Qrel(query, "d", 1, name) for query, names in support.items() for name in names]
    fates = fates_of(queries, banks, qrels, set())
    assert [fate.query_id for fate in fates] == list(queries)
    stay = {rule: set(kept(fates, rule)) for rule in _RULES}
    assert stay["strict"] <= stay["documents"] <= stay["none"]
    for rule in _RULES:
        numbers = counts(fates, rule)
        assert numbers.pop("questions") == sum(numbers.values())
    if not with_nuggets:
        assert {fate.verdict for fate in fates} == {NO_NUGGETS}


def test_a_failed_judgement_is_no_grade_and_the_threshold_decides() -> None:
    place = {"query_id": "q", "aspect": "n1"}
    rows = [
        {**place, "item_id": "a", "grade": 1.0, "status": "ok"},
        {**place, "item_id": "b", "grade": 0.5, "status": "repaired"},
        {**place, "item_id": "c", "status": "refused"},
    ]
    assert [row.relevance for row in supported(rows)] == [1, 0]
    assert [row.relevance for row in supported(rows, 0.5)] == [1, 1]
    assert failed_pairs(rows) == {("q", "n1", "c")}


def test_judgements_of_people_need_no_grade_beside_the_label(tmp_path: Path) -> None:
    path = tmp_path / "said"
    place = {"query_id": 1, "run_id": "documents", "item_id": "d", "aspect": 0}
    lines = [{**place, "label": label} for label in SUPPORT.labels]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [row.relevance for row in supported(read_support(path), 0.5)] == [1, 1, 0]
    for line in ({**place, "label": "yes"}, place):
        path.write_text(json.dumps(line) + "\n")
        with pytest.raises(InputError, match="said:1: expected a grade, or one of the labels support"):
            read_support(path)


@pytest.mark.parametrize(
    ("rubric", "bad", "good", "texts"),
    [
        (
            "sub-questions",
            '{"queries": ["Why?", "why? "]}',
            '{"queries": ["Why?", "How?"]}',
            ["Why?", "How?"],
        ),
        ("sub-questions", '{"queries": "Why?"}', '{"queries": []}', []),
        ("sub-questions", '{"nuggets": ["Why?"]}', '{"queries": ["Why?"]}', ["Why?"]),
        ("sub-questions", json.dumps({"queries": list("abcdefghijk")}), '{"queries": ["a"]}', ["a"]),
        ("closed-book", '{"text": " "}', '{"text": " So. "}', ["So."]),
        ("closed-book", '{"text": ["So."]}', '{"text": "So."}', ["So."]),
    ],
)
def test_query_variants_are_read_strictly(
    tmp_path: Path, rubric: str, bad: str, good: str, texts: list[str]
) -> None:
    model = ScriptedModel([bad, good])
    material = Material(questions={"q": Question("q", "Why and how?")})
    settings = Settings(store=str(tmp_path / "store.sqlite"))
    written = nuggets_by(model, rubric_named(rubric), material, settings)
    assert [nugget.text for nugget in written.nuggets] == texts
    assert (model.calls, written.calls, written.failed) == (2, 2, {})
    assert "Why and how?" in model.requests[0].user
    failing = nuggets_by(ScriptedModel([bad] * 3, "other"), rubric_named(rubric), material, settings)
    assert failing.failed["q"].startswith("invalid: ")


def test_the_texts_of_every_setting() -> None:
    questions = [Question("q", "Why?", ("Because. ", "For")), Question("r", "How?")]
    written = {"sub-questions": {"q": ["Which?", "Whose?"]}, "closed-book": {"r": ["So."]}}
    assert topics_of(questions, BANK, written) == {
        "question": {"q": "Why?", "r": "How?"},
        "sub-questions": {"q": "Which? Whose?"},
        "closed-book": {"r": "So."},
        "answer": {"q": "Because. "},
        "nuggets": {"q": "one two"},
    }


def labeled(
    path: Path, pairs: list[str], redundant: int = 0, hallucinated: int = 0, lacking: int = 0
) -> Path:
    """A labeled sample: a question a pair, each with four nuggets; the faults are those of the first."""
    lines = []
    for index, label in enumerate(pairs):
        place = {"query_id": f"q{index}", "run_id": "collection"}
        for nugget in range(4):
            for aspect, faults in (("redundant", redundant), ("hallucinated", hallucinated)):
                grade = int(index == 0 and nugget < faults)
                row = {"item_id": str(nugget), "aspect": aspect, "rubric": "nugget-quality", "grade": grade}
                lines.append({**place, **row})
        grade = lacking if index == 0 else 0
        row = {"item_id": "answer", "aspect": "lacking", "rubric": "nugget-quality", "grade": grade}
        lines.append({**place, **row})
        lines.append({**place, "item_id": "d", "aspect": "0", "rubric": "audit", "label": label})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_wilson_is_the_inverse_of_its_test() -> None:
    """The ends of the interval are the shares from which the observed one is just z deviations away."""
    z = 1.959963984540054
    for count, number in ((43, 60), (1, 7), (59, 60)):
        for end in wilson(count, number, 0.95):
            assert abs(count / number - end) / math.sqrt(end * (1 - end) / number) == pytest.approx(z)
    assert wilson(0, 10, 0.95)[0] == 0.0


def test_questions_not_labeled_to_the_end_are_left_out(tmp_path: Path) -> None:
    path = labeled(tmp_path / "sample", ["relevant", "non_relevant"], redundant=4)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["grade"] = None  # one nugget of the first question
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    outcome = command("collection", "audit", "--read", path)
    assert "rageval: 9 lines belong to questions that are not fully labeled" in outcome.err
    assert "precision           100.0 %" in outcome.out
    assert "n=1\n" in outcome.out
    assert "non relevant         50.0 %" in outcome.out


def test_the_sample_is_drawn_by_its_seed(tmp_path: Path) -> None:
    queries = [f"q{number}" for number in range(30)]
    qrels = [Qrel(query, f"d{number}", int(number > 0), "n") for query in queries for number in range(3)]
    one, repeat, other = (list(_sampled(queries, qrels, 10, seed)) for seed in (1, 1, 2))
    assert one == repeat != other
    assert len({query for query, _ in one}) == 10
    assert all(pair.relevance == 1 and pair.query_id == query for query, pair in one)
    assert len(list(_sampled(queries, qrels, 99, 1))) == 30
    assert list(_sampled(reversed(queries), list(reversed(qrels)), 10, 1)) == one
    with pytest.raises(InputError, match="no question has a document"):
        list(_sampled(queries, [], 10, 1))


def test_labels_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "sample"
    for line, complaint in (
        ("{}", "sample:1: expected a line of `rageval collection audit`"),
        ('{"query_id":"q","item_id":"d","aspect":"n","rubric":"audit","label":"good"}', "found 'good'"),
        (
            '{"query_id":"q","item_id":"d","aspect":"n","rubric":"audit","label":null}',
            "no labels; expected a number or a label",
        ),
    ):
        path.write_text(line + "\n")
        assert_refused(command("collection", "audit", "--read", path), complaint)


def test_a_sample_is_written_labeled_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c").mkdir()
    Path("c/questions.jsonl").write_text('{"query_id": "q", "question": "Why?", "answer": ["Because."]}\n')
    nuggets = [{"text": "one"}, {"text": "two"}]
    Path("c/nuggets.jsonl").write_text(json.dumps({"qid": "q", "query": "", "nuggets": nuggets}) + "\n")
    Path("c/qrels.nugget").write_text("q 0 d1 1\nq 1 d2 0\n")
    Path("corpus").write_text('{"_id": "d1", "text": "One, it says."}\n{"_id": "d2", "text": "Two"}\n')
    outcome = command("collection", "audit", "c", "--corpus", "corpus", "-o", "sample.jsonl")
    assert (outcome.code, outcome.err) == (0, "")
    text = Path("sample.jsonl").read_text()
    assert (text.count('"grade": null}'), text.count('"label": null}')) == (5, 1)
    pair = json.loads(text.splitlines()[-1])
    assert (pair["item_id"], pair["nugget"], pair["document"]) == ("d1", "one", "One, it says.")
    text = text.replace('"grade": null}', '"grade": 0}').replace('"label": null}', '"label": "relevant"}')
    Path("sample.jsonl").write_text(text)
    assert command("collection", "audit", "--read", "sample.jsonl").out.count(" 100.0 % ") == 4
