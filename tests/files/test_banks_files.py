"""Banks of nuggets: NuggetBank v3, NeuCLIR's older form and DRAGUN's rubrics, read and written back."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rageval
from rageval.checking import diagnose
from rageval.errors import InputError, UsageError
from rageval.files.nuggets import (
    nuggets_without_reference,
    read_banks,
    read_intent_weights,
    read_nuggets,
    supported,
    write_banks,
)
from rageval.files.opening import DEFAULT, with_limits
from rageval.judges.material import Material, tasks
from rageval.judges.rubric import rubric_named
from rageval.records import Answer, Nugget, Question, Reference, Sentence
from test_answers_files import stream

GOLDEN = Path(__file__).parents[1] / "golden/trec"
# Of each question of a published bank of 15: how its answers go together, and how many documents state each.
PUBLISHED = [
    *(("OR", answers) for answers in ([2, 1, 1, 1], [2, 1, 0, 1], [1, 1, 0, 1], [1, 0], [2], [1, 1, 1, 1])),
    *(("OR", answers) for answers in ([1, 1, 0, 0], [1, 0], [1], [2, 0, 1], [2])),
    *(("AND", answers) for answers in ([1, 1, 1, 0, 1, 1, 1, 1], [1] * 5)),
    ("OR", [1]),
    ("AND", [1, 1, 0, 1]),
]


def question(text: str, documents: list[int], **more: Any) -> dict[str, Any]:
    answers = {
        f"a{index}": {
            "answer": f"a{index}",
            "references": [{"doc_id": f"d{number}"} for number in range(count)],
        }
        for index, count in enumerate(documents)
    }
    return {"question": text, "query_id": "300", "answers": answers, **more}


def bank(*questions: dict[str, Any], **more: Any) -> dict[str, Any]:
    by_text = {question.get("question", str(index)): question for index, question in enumerate(questions)}
    return {"query_id": "300", "title_query": "t", "format_version": "v3", "nugget_bank": by_text, **more}


def published() -> dict[str, Any]:
    return bank(
        *(
            question(f"Question {index}?", documents, aggregator_type=how, creator=[{"is_human": True}])
            for index, (how, documents) in enumerate(PUBLISHED)
        )
    )


def nuggets(*records: Any) -> list[Nugget]:
    return list(read_nuggets(stream(*records)))


def refused(*records: Any, name: str = "file.jsonl") -> str:
    with pytest.raises(InputError) as error:
        list(read_nuggets(stream(*records, name=name)))
    return str(error.value)


def test_a_bank_over_many_lines_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "nuggets_300.v3.json.gz"
    path.write_bytes(gzip.compress(json.dumps(published(), indent=1).encode()))
    banks = list(read_nuggets(path))
    assert [nugget.aggregator for nugget in banks] == [how for how, _ in PUBLISHED]
    there = [[len(answer.references) for answer in nugget.answers] for nugget in banks]
    assert there == [list(documents) for _, documents in PUBLISHED]
    assert (
        str(nuggets_without_reference(banks))
        == "9 answers without a reference are left out, as Auto-ARGUE does"
    )
    by_rule = [[len(answer.references) for answer in kept.answers] for kept in map(supported, banks) if kept]
    assert by_rule == [[count for count in documents if count] for _, documents in PUBLISHED]


def test_a_made_up_bank_has_questions_a_claim_and_a_question_within_another() -> None:
    banks = list(read_nuggets(GOLDEN / "synthetic.v3.jsonl"))
    assert str(nuggets_without_reference(banks)) == (
        "2 answers without a reference are left out, and with them 1 question that has no other answer, as"
        " Auto-ARGUE does"
    )
    assert [nugget.text for nugget in banks if supported(nugget) is None] == ["Asked, never answered?"]
    built, protects, claim = filter(None, map(supported, banks))
    assert built.nugget_id == hashlib.md5(b"When was it built?").hexdigest()
    assert [answer.text for answer in built.answers] == ["15th century", "about 1450"]
    assert built.answers[0].references[1] == Reference("doc2", start=0, end=10, encoding="utf-8")
    assert (protects.aggregator, protects.importance, len(protects.answers)) == ("AND", "okay", 2)
    assert [sub.text for sub in protects.sub_nuggets] == ["Who sets the rules?"]
    assert [answer.text for answer in protects.sub_nuggets[0].answers] == ["UNESCO"]
    assert (claim.nugget_id, claim.answers, claim.references[0].doc_id) == ("c1", (), "doc5")


@pytest.mark.parametrize("name", ["synthetic.v3.jsonl", "dragun.rubric.json"])
def test_banks_are_written_back_with_all_that_was_read(name: str) -> None:
    text = (GOLDEN / name).read_text()
    first = list(read_banks(GOLDEN / name))
    lines = list(write_banks(first))
    assert [json.dumps(json.loads(line)) for line in lines] == [json.dumps(json.loads(text))]
    assert list(read_banks(stream(*map(str.encode, lines)))) == first


def test_rubrics_of_dragun_are_questions_with_so_many_answers() -> None:
    banks = list(read_nuggets(GOLDEN / "dragun.rubric.json"))
    assert [(nugget.nugget_id, nugget.importance, len(nugget.answers)) for nugget in banks] == [
        ("t1-1", "A", 3),
        ("t1-2", "B", 1),
        ("t1-3", "C", 2),
    ]
    assert [answer.answer_id for answer in banks[0].answers] == ["a1", "a2", "a3"]


def test_the_older_form_is_of_the_query_in_the_name_of_its_file(tmp_path: Path) -> None:
    record = {"Who?": ["AND", {"she": ["d1", "d2"], "he": ["d1"], "it": []}], "When?": ["OR", {"now": []}]}
    path = tmp_path / "nuggets_300.json"
    path.write_text(json.dumps(record, indent=2))
    both = list(read_nuggets(path))
    older, _ = both
    assert (older.query_id, older.text, older.aggregator) == ("300", "Who?", "AND")
    assert [(answer.text, len(answer.references)) for answer in older.answers] == [
        ("she", 2),
        ("he", 1),
        ("it", 0),
    ]
    assert str(nuggets_without_reference(both)) == (
        "2 answers without a reference are left out, and with them 1 question that has no other answer, as"
        " Auto-ARGUE does"
    )
    assert "name the file nuggets_QUERY.json" in refused(record)


def test_several_files_are_a_folder_and_a_query_is_in_one_of_them(tmp_path: Path) -> None:
    for query in ("301", "302"):
        record = {
            "query_id": query,
            "title_query": "",
            "claim_bank": {"c": {"claim": "x", "query_id": query}},
        }
        (tmp_path / f"{query}.v3.json").write_text(json.dumps(record, indent=2))
    (tmp_path / "README.md").write_text("not read")
    assert [nugget.query_id for nugget in read_nuggets(tmp_path)] == ["301", "302"]
    together = b"".join(path.read_bytes() + b"\n" for path in sorted(tmp_path.glob("*.json")))
    assert [nugget.query_id for nugget in read_nuggets(stream(together))] == ["301", "302"]
    (tmp_path / "other.json").write_text((tmp_path / "301.v3.json").read_text())
    with pytest.raises(InputError, match=r"query 301 has nuggets in .*301\.v3\.json, too"):
        list(read_nuggets(tmp_path))


def test_a_pipe_is_read_like_a_file() -> None:
    reading, writing = os.pipe()
    os.write(writing, json.dumps(bank(question("a?", [1])), indent=1).encode())
    os.close(writing)
    assert [nugget.text for nugget in read_nuggets(f"/dev/fd/{reading}")] == ["a?"]
    os.close(reading)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"aggregator_type": "XOR"}, "'a?': expected one of OR, AND, NOT, SUM as `aggregator_type`"),
        ({"importance": 10**400}, "'a?': expected a number up to 1,000,000 as `importance`"),
        ({"query_id": "301"}, "'a?': expected a nugget of query '300', found one of '301'"),
        ({"answers": ["x"]}, "'a?': Expected `object | null`, got `array` in `answers`"),
        ({"answers": {"x": {"answer": "x", "references": [{"doc_id": ""}]}}}, "`doc_id`, found nothing"),
        (
            {
                "answers": {
                    "x": {
                        "answer": "x",
                        "references": [{"doc_id": "d", "offsets": {"start_offset": 3, "end_offset": 1}}],
                    }
                }
            },
            "expected offsets from 0, with the end after the start, found 3 to 1",
        ),
        ({"sub_nuggets": [{"query_id": "300"}]}, "missing required field `question`"),
    ],
)
def test_bad_nuggets_are_named(change: dict[str, Any], message: str) -> None:
    error = refused(bank(question("a?", [1]) | change))
    assert error.startswith("file.jsonl:1: expected NuggetBank v3")
    assert message.casefold() in error.casefold()


def test_json_over_many_lines_is_explained_where_it_is_broken() -> None:
    whole = json.dumps(bank(question("a?", [1])), indent=1).encode()
    text = json.dumps(bank(question("a?", [1]), query_id=[]), indent=1).encode()
    line = whole.count(b"\n") + 2
    assert refused(whole, text).startswith(f"file.jsonl:{line}: expected NuggetBank v3")
    assert "no valid JSON" in refused(whole[:-9])
    assert "appears twice" in refused(whole.replace(b'"title_query"', b'"query_id"'))
    deep = b'{\n"a":' * 10_000 + b"1" + b"}\n" * 10_000
    assert "nested too deeply" in refused(deep)
    with pytest.raises(InputError, match="--limit record"):
        list(read_nuggets(with_limits(stream(whole), DEFAULT._replace(record=100))))


@given(st.binary(max_size=60))
@settings(max_examples=50)
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    for start in (
        b'{\n"query_id": "q", "title_query": "", "nugget_bank": ',
        b'{"query_id": "q", "nugget_bank": ',
    ):
        with pytest.raises(InputError):
            list(read_nuggets(stream(start + content)))


def test_what_says_not_is_read_and_never_scored(tmp_path: Path) -> None:
    path = tmp_path / "bank.jsonl"
    path.write_text(json.dumps(bank(question("a?", [1], aggregator_type="NOT", question_id="n"))))
    (nugget,) = read_nuggets(path)
    assert nugget.aggregator == "NOT"
    judged = [{"query_id": "300", "run_id": "r", "aspect": "n", "label": "support"}]
    with pytest.raises(InputError, match="with NOT, which cannot be scored"):
        rageval.evaluate_answers("nugget_recall", judged, nuggets=path)
    assert "say NOT or SUM" in diagnose(path)[0].message


def test_judges_are_told_the_answers_to_a_question() -> None:
    built, protects, never = list(read_nuggets(GOLDEN / "synthetic.v3.jsonl"))[:3]
    assert built.statement == "When was it built? (one of: 15th century; about 1450)"
    assert protects.statement == "What protects it? (all of: UNESCO rules; fewer visitors; no source)"
    answers = [{"query_id": "1", "run_id": "r", "answer": "UNESCO rules, about 1450."}]
    asked = [{"query_id": "1", "question": "What is known?"}]
    judged = rageval.judge(
        "nugget-assignment", answers, "lexical", questions=asked, nuggets=GOLDEN / "synthetic.v3.jsonl"
    )
    grades = {row["aspect"]: row["grade"] for row in judged}
    assert grades.keys() == {built.nugget_id, protects.nugget_id, never.nugget_id, "c1"}
    assert grades[built.nugget_id] == 1.0
    material = Material([Answer("t1", "r", (Sentence("x"),))], {"t1": Question("t1", "?")})
    material = replace(material, nuggets={"t1": list(read_nuggets(GOLDEN / "dragun.rubric.json"))})
    (task,) = tasks(rubric_named("nugget-assignment"), material)
    assert [row.also for rows in task.rows.values() for row in rows] == [{}, {}, {}]


def test_importance_of_another_kind_is_not_weighed() -> None:
    judged = [{"query_id": "t1", "run_id": "r", "aspect": "t1-1", "label": "support"}]
    rubric = GOLDEN / "dragun.rubric.json"
    with pytest.warns(UserWarning, match="were not judged"):
        scores = rageval.evaluate_answers("nugget_recall", judged, nuggets=rubric)
    assert scores["r"]["nugget_recall"].value == 1
    with (
        pytest.warns(UserWarning, match="were not judged"),
        pytest.raises(UsageError, match="the importance of nuggets"),
    ):
        rageval.evaluate_answers("v_strict", judged, nuggets=rubric)
    high = stream(bank(question("a?", [1], question_id="t1-1", importance="high")))
    judged[0]["query_id"] = "300"
    with pytest.raises(InputError, match="'t1-1' has the importance 'high', which cannot be weighed here"):
        rageval.evaluate_answers("v_strict", judged, nuggets=high)
    with pytest.raises(InputError, match="expected vital or okay, found 'A'"):
        read_intent_weights(rubric)


@pytest.mark.slow
def test_doctor_knows_banks(tmp_path: Path) -> None:
    long = tmp_path / "nuggets_1.json"
    record = {f"{'Long ' * 50}{index}?": ["OR", {"yes": ["d"]}] for index in range(2000)}
    long.write_text(json.dumps(record, indent=2))
    assert not diagnose(long, GOLDEN / "dragun.rubric.json")
    messages = [finding.message for finding in diagnose(GOLDEN / "synthetic.v3.jsonl")]
    assert any(message.startswith("2 answers without a reference") for message in messages)
