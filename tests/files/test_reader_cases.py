"""One small case each of what readers decide at an edge, worked out by hand."""

from __future__ import annotations

import io
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rageval
from rageval.errors import InputError
from rageval.files import parts, writing
from rageval.files._records import _is_answer
from rageval.files.answers import read_answers, topic_of, write_answers
from rageval.files.jsonl import Unfit, refuse_long
from rageval.files.kinds import Start, kind_of
from rageval.files.objects import is_missing
from rageval.files.opening import DEFAULT, assigned, chunks
from rageval.files.spans import read_chunks
from rageval.files.trec import Reading
from rageval.files.whole import problem_of_name
from rageval.scoring.runs import Run


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("r q1 ap .5\n", "qrels"),
        ("q n1 d1 .5\nq n2 d2 .4\n", "qrels"),
        ("q1 n1 d .5\nq2 n1 d .4\nq3", "qrels"),  # the last line is cut off where looking ended
        ("q1\t0 d 1\n", "qrels"),
        ("q1\twhen was 1850\n", "topics"),
    ],
)
def test_lines_of_columns_are_told_apart(text: str, kind: str) -> None:
    assert str(kind_of(io.BytesIO(text.encode()))) == kind


def test_zeros_between_streams_of_xz_come_in_fours() -> None:
    packed = lzma.compress(b"a\n")
    assert b"".join(chunks(io.BytesIO(packed + b"\0" * 8 + packed))) == b"a\na\n"
    with pytest.raises(InputError, match="bytes: 6 zero bytes after a stream, not a multiple of 4"):
        list(chunks(io.BytesIO(packed + b"\0" * 6 + packed)))


def test_a_second_judgement_is_told_with_as_much_of_its_names_as_a_person_reads() -> None:
    row = {"query_id": "q", "run_id": "r", "item_id": "y" * 100, "aspect": "x" * 100, "label": "support"}
    with pytest.raises(InputError) as refused:
        rageval.evaluate_answers("v_strict", [row | {"rubric": "nugget-assignment"}] * 2)
    assert f"item {'y' * 80}, aspect {'x' * 80} was judged before" in str(refused.value)


class Frame(dict[str, np.ndarray]):
    """What has columns by name, as a DataFrame."""

    @property
    def columns(self) -> list[str]:
        return list(self)


def test_a_frame_is_read_by_its_columns_and_refused_without_them() -> None:
    values = {"qid": np.array(["q"]), "docno": np.array(["d"]), "score": np.array([2.5])}
    run: Any = Frame(values)
    assert list(Run.from_pandas(run)) == [("q", "d", 2.5)]
    del run["score"]
    with pytest.raises(
        InputError, match=r"run: expected the columns query_id, doc_id, score .*found \['qid'"
    ):
        Run.from_pandas(run)


@pytest.mark.parametrize(("word", "size"), [("7", 7), ("16M", 16 * 2**20), ("300kiB", 300 * 2**10)])
def test_a_limit_has_a_unit_behind_as_many_digits_as_it_takes(word: str, size: int) -> None:
    assert assigned([f"line={word}"], ["line"]) == {"line": size}


@pytest.mark.parametrize("offset", [0, 2**25])
def test_a_border_is_found_wherever_in_a_file_it_is_looked_for(offset: int) -> None:
    rows = [b"q1 Q0 d 1 2.5 r\n", b"q1 Q0 e 2 1.5 r\n", b"q2 Q0 d 1 2.5 r\n"]
    # The first line may be half of one, so that the border is behind the second whole line of q1.
    assert parts._border([b"half\n", *rows], offset, Reading(), DEFAULT.line) == offset + len(b"half\n") + 32


def test_a_report_has_documents_where_their_texts_are_known() -> None:
    line = {
        "query_id": "q",
        "run_id": "r",
        "answer": [{"text": "Oslo.", "citations": ["d"]}],
        "references": ["d"],
    }
    told_of = {"passages": [{"id": "d", "text": "Oslo is a city."}]}
    for more, documents in (({}, None), (told_of, {"d": {"id": "d", "text": "Oslo is a city."}})):
        answers = list(read_answers(io.BytesIO(json.dumps(line | more).encode())))
        (report,) = write_answers(answers, "report")
        assert json.loads(report).get("documents") == documents
        assert [answer.passages for answer in read_answers(io.BytesIO(report.encode()))] == [
            answers[0].passages
        ]


def test_a_chunk_holds_something(tmp_path: Path) -> None:
    path = tmp_path / "chunks"
    path.write_text('{"id": "c", "doc_id": "d", "start": 3, "end": 3}\n')
    with pytest.raises(InputError, match=r"chunks:1: .*at least one code point, found 3 to 3"):
        list(read_chunks(path))


def test_a_name_may_be_a_kibibyte_long() -> None:
    assert [problem_of_name("n" * length) for length in (1024, 1025)] == ["", "is not a file name"]


def test_parts_of_a_name_that_fits_into_theirs_are_removed(tmp_path: Path) -> None:
    for length, is_removed in ((40, True), (41, False)):
        target = tmp_path / ("n" * length)
        part = tmp_path / f"{writing._start_of_part(target)}{'0' * 16}.part"
        part.touch()
        writing.remove_parts(target)
        assert part.exists() != is_removed


def test_sixty_characters_of_a_topic_are_shown() -> None:
    with pytest.raises(Unfit) as caught:
        topic_of({"topic_id": "x" * 70, "qa_id": "y"})
    assert str(caught.value).endswith(f"found topic_id '{'x' * 60}' and qa_id 'y'")


def test_only_the_first_line_has_to_end_soon_enough() -> None:
    refuse_long(b"\n" + b"x" * 20, "here", 10)
    with pytest.raises(InputError, match="here: a line of more than 10 bytes"):
        refuse_long(b"x" * 10 + b"\n", "here", 10)


@pytest.mark.parametrize(
    ("keys", "is_one"), [("metadata", False), ("metadata responses", True), ("answer", True)]
)
def test_an_answer_that_is_cut_off_is_told_by_its_keys(keys: str, is_one: bool) -> None:
    beginning = ", ".join(f'"{key}": []' for key in keys.split())
    assert _is_answer(Start(f'{{{beginning}, "long": "and on'.encode())) == is_one


def test_what_is_missing_is_none_or_no_number() -> None:
    absent = type("NAType", (), {"__repr__": lambda self: "<NA>"})()
    assert [is_missing(cell) for cell in (None, float("nan"), absent)] == [True] * 3
    assert [is_missing(cell) for cell in (0, "", 0.0, "nan", [])] == [False] * 5
