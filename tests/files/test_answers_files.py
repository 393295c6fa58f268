"""Files of answers: each format read and written back, citations led to documents, bad files explained."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rageval
from rageval.errors import InputError, UsageError
from rageval.files.answers import FORMS, read_answers, write_answers
from rageval.files.judgements import JudgementLine, JudgementTable
from rageval.files.opening import DEFAULT, Limits, with_limits
from rageval.records import AMOUNTS, Answer, Sentence
from rageval.text import length

WRITTEN = [name for name, form in FORMS.items() if form.write is not None]
SAMPLES = Path(__file__).parents[2] / "examples/data/answers"
RAG24 = {"run_id": "r", "topic_id": 7, "topic": "t", "references": ["a", "b"], "response_length": 1}
RAG25 = {"metadata": {"team_id": "t", "run_id": "r", "narrative_id": 7}, "references": ["a", "b"]}
RAG26 = {"metadata": {"run_id": "r", "narrative_id": 7, "run_desc": "d"}, "references": ["a", "b"]}
PLAIN = {"query_id": 7, "run_id": "r", "passages": [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}]}
CITING = {"rag24": RAG24, "rag25": RAG25, "rag26": RAG26, "plain": PLAIN}
LIVERAG = {"id": 7, "question": "q", "passages": [], "final_prompt": "p", "answer": "yes"}


def stream(*records: Any, name: str = "file.jsonl") -> io.BytesIO:
    """A file in memory; bytes are lines as they are, anything else is put into JSON."""
    lines = [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]
    content = io.BytesIO(b"\n".join(lines))
    content.name = name
    return content


def refused(*records: Any, limits: Limits = DEFAULT) -> str:
    with pytest.raises(InputError) as error:
        list(read_answers(with_limits(stream(*records), limits)))
    return str(error.value)


def citing(form: str, *citations: Any) -> dict[str, Any]:
    return CITING[form] | {"answer": [{"text": "It is so.", "citations": list(citations)}]}


# --- what is read

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
IDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6).filter(
    lambda text: bool(text.strip()) and text == text.strip(" ")
)


@st.composite
def answers(draw: st.DrawFn, form: str, query: str) -> Answer:
    """An answer that the format can hold."""
    if form == "liverag":
        query = query.removeprefix("q")
        passages = tuple(draw(st.lists(st.tuples(st.one_of(IDS, st.just("")), TEXTS), max_size=4)))
        references = tuple(dict.fromkeys(doc for doc, _ in passages if doc))
        sentences = (Sentence(draw(TEXTS)),)
        return Answer(query, "file.jsonl", sentences, references, passages, draw(TEXTS), draw(TEXTS))
    references = tuple(draw(st.lists(IDS, max_size=4)))
    references_or_none = references if form == "report" else (None, *references)  # a report cites by id alone
    cited = (
        st.lists(st.sampled_from(references_or_none), max_size=4) if references_or_none else st.just([])
    ).map(tuple)
    sentences = tuple(draw(st.lists(st.builds(Sentence, TEXTS, cited), max_size=4)))
    passages = (
        tuple((doc, draw(TEXTS)) for doc in references) if form == "plain" and draw(st.booleans()) else ()
    )
    prompt = "" if form == "rag24" else draw(TEXTS)
    answer = Answer(query, draw(IDS), sentences, references, passages, draw(TEXTS), prompt)
    if form != "plain":
        return answer
    return answer._replace(**{name: draw(st.none() | st.floats(0, 1)) for name in AMOUNTS})


@pytest.mark.slow
@pytest.mark.parametrize("form", WRITTEN)
@given(data=st.data())
def test_what_is_written_is_read_again(form: str, data: st.DataObject) -> None:
    written = [data.draw(answers(form, f"q{index}")) for index in range(data.draw(st.integers(1, 3)))]
    lines = [line.encode() for line in write_answers(written, form)]
    assert list(read_answers(stream(*lines))) == written


@pytest.mark.parametrize("form", WRITTEN)
def test_the_samples_are_read_and_written_back(form: str) -> None:
    path = SAMPLES / f"{form if form.startswith('rag') else form + '.answers'}.jsonl"
    answers = list(read_answers(path))
    assert len(answers) == 5
    assert all(answer.text and answer.references for answer in answers)
    lines = [line.encode() for line in write_answers(answers, form)]
    assert list(read_answers(stream(*lines, name=path.name))) == answers


# --- what is refused

BAD = {
    "no JSON": (b"{", "file.jsonl:1: expected answers, found no valid JSON"),
    "a list over many lines": (b"[\n", "'['; put one record on each line, not a list"),
    "a record over many lines": (b'{\n"query_id": "q"}', "'{'; put one record on each line, not a list"),
    "text after the object": (b'{"query_id": "q", "answer": "a"} x', "file.jsonl:1: expected"),
    "no object": ([1], "file.jsonl:1: expected answers, one of: plain answers"),
    "unknown keys": ({"x": 1}, "file.jsonl:1: expected answers, one of: plain answers"),
    "a NaN": (b'{"query_id": NaN, "answer": "a"}', "file.jsonl:1: expected plain answers"),
    "Latin-1": (b'{"query_id": "\xe9", "answer": "a"}', "file.jsonl:1: byte 15 is 0xe9, which is not UTF-8"),
    "UTF-16": ("{}".encode("utf-16"), "file.jsonl:1: the file is UTF-16"),
    "half a surrogate": (b'{"query_id": "q", "answer": "\\ud800"}', "file.jsonl:1: expected"),
    "deep nesting": (b'{"answer": ' + b"[" * 9999, "file.jsonl:1: JSON nested too deeply"),
    "a missing field": ({"topic_id": 1, "run_id": "r", "answer": []}, "missing required field `references`"),
    "a missing citations": (RAG24 | {"answer": [{"text": "x"}]}, "field `citations` in answer[0]"),
    "a missing run": (RAG25 | {"metadata": {"narrative_id": 1}, "answer": []}, "field `run_id` in metadata"),
    "a wrong field": (RAG24 | {"answer": "text"}, "expected `array | null`, got `str` in answer"),
    "a citation that is true": (citing("rag24", True), "got `bool` in answer[0].citations[0]"),
    "a citation of a half": (citing("rag26", 0.5), "got `float` in answer[0].citations[0]"),
    "an empty id": ({"query_id": " ", "answer": "a"}, "expected an id of 1 to 1,024 bytes in `query_id`"),
    "a long id": ({"query_id": "é" * 513, "answer": "a"}, "in `query_id`, found 513 characters"),
    "an id with a control character": ({"query_id": "a\tb", "answer": "a"}, "without control characters"),
    "a negative cost": ({"query_id": "q", "answer": "a", "cost": -1}, "expected `float` >= 0.0 in cost"),
    "a cost in words": ({"query_id": "q", "answer": "a", "cost": "$2"}, "got `str` in cost"),
    "endless": (b'{"query_id": "q", "answer": "a", "seconds": Infinity}', "found Infinity in seconds"),
    "percent": ({"query_id": "q", "answer": "a", "confidence": 85}, "found 85; divide percentages by 100"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_lines_are_explained(name: str) -> None:
    line, message = BAD[name]
    assert message in refused(line)


def test_a_file_of_two_formats_is_refused() -> None:
    records = [citing("rag24"), citing("rag25"), citing("rag26"), LIVERAG, citing("plain")]
    for before in records:
        for after in records:
            if before is not after:
                message = refused(before, after)
                assert message.startswith("file.jsonl:2: expected ")
                assert "as in the lines before, found" in message
                assert "put each format in its own file" in message


@pytest.mark.slow
def test_a_line_beyond_all_limits(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b'\n{"query_id": "' + b"x" * 66 * 2**20)
    with pytest.raises(InputError, match=r"f:2: a line of more than 67,108,864 bytes; raise the limit with"):
        list(read_answers(tmp_path / "f"))
    assert "a line of more than 9 bytes" in refused(LIVERAG, limits=Limits(record=9))


def test_what_cannot_be_written() -> None:
    stray = Answer("q", "r", (Sentence("x", ("c",)),), ("a",))
    for form in CITING:
        with pytest.raises(InputError, match="cites 'c', which is not among its references"):
            list(write_answers([stray], form))
    with pytest.raises(UsageError, match="expected one of plain, rag24"):
        list(write_answers([], "rag23"))


def test_an_unknown_counting_rule() -> None:
    with pytest.raises(UsageError, match="expected one of nfkc, split, nonspace, characters"):
        length(["x"], "words")


@pytest.mark.parametrize("seed", range(20))
def test_lines_that_lie_apart_are_the_answers_they_are_together(seed: int, tmp_path: Path) -> None:
    """In any order of lines, in few stretches or in many, an answer has its rows, and rows their lines."""
    rng = random.Random(seed)
    rows = [
        {"query_id": f"q{query}", "run_id": run, "judge": judge, "aspect": f"n{index}", "label": "support"}
        for query in range(3)
        for run in "ab"
        for judge in ("J", "K")[: rng.randint(1, 2)]
        for index in range(rng.randint(1, 3))
    ]
    if seed % 2:
        rng.shuffle(rows)
    path = tmp_path / "judged.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = JudgementTable("x")
    step = rng.choice((1, 2, 100))
    for begin in range(0, len(rows), step):
        records = msgspec.convert(rows[begin : begin + step], list[JudgementLine])
        table.add("x", range(begin + 1, begin + 1 + len(records)), records, DEFAULT)
    for read_table in (table.finish(), rageval.read_judgements(path)):
        lines = {read_table.where(row).line: line for row, line in read_table.each()}
        assert [
            {name: getattr(lines[index + 1], name) for name in rows[index]} for index in range(len(rows))
        ] == rows
        places = [
            (read_table.run[index], read_table.judge[index], read_table.query[index])
            for index in range(len(read_table.run))
        ]
        assert places == sorted(set(places))
        assert len(places) == len({(row["run_id"], row["judge"], row["query_id"]) for row in rows})
        of_answer = [
            [read_table.position(row) for row in read_table.rows(index)] for index in range(len(places))
        ]
        assert all(answer == sorted(answer) for answer in of_answer)
