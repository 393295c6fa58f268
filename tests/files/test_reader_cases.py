"""One small case each of what readers decide at an edge, worked out by hand."""

from __future__ import annotations

import io
import json
import lzma
import os
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

import rageval
from rageval.errors import InputError
from rageval.files import columnar, parts, writing
from rageval.files._records import _is_answer
from rageval.files.answers import read_answers, topic_of, write_answers
from rageval.files.jsonl import Unfit, _keys, refuse_long
from rageval.files.kinds import Start, kind_of, kind_of_records
from rageval.files.nuggets import NuggetBank, numbered_banks
from rageval.files.objects import is_missing
from rageval.files.opening import DEFAULT, assigned, chunks, quoted
from rageval.files.plans import LabelPlan, plan_lines
from rageval.files.spans import read_chunks
from rageval.files.trec import Reading
from rageval.files.whole import problem_of_name
from rageval.scoring.runs import Run
from rageval.scoring.sources import read_qrels


@pytest.mark.parametrize("length", [10, 11])
def test_an_id_may_be_just_as_long_as_its_limit(length: int) -> None:
    limits = DEFAULT._replace(id=10)
    text = f"{'q' * length} 0 d 1\n".encode()
    if length == 10:
        assert read_qrels(io.BytesIO(text), limits=limits).query_ids == ["q" * 10]
    else:
        with pytest.raises(InputError, match="11 bytes; expected at most 10"):
            read_qrels(io.BytesIO(text), limits=limits)


def test_a_line_is_called_too_long_only_if_it_is(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(f"{'q' * 10} 0 d many\n")
    with pytest.raises(InputError, match="found 'many'"):
        read_qrels(tmp_path / "qrels", limits=DEFAULT._replace(id=10))


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


def test_a_plan_is_told_by_its_first_line() -> None:
    plan = LabelPlan(
        plan="rageval-plan/1", seed=0, rubric="crag", kind="label", systems=("a", "b"), queries=1
    )
    text = "".join(f"{line}\n" for line in plan_lines(plan))
    assert str(kind_of(io.BytesIO(text.encode()))) == "plan"
    label = {"query_id": "q", "run_id": "a", "label": "perfect", "plan": "0" * 64}
    assert str(kind_of(io.BytesIO(json.dumps(label).encode()))) == "judgements"


def test_answers_of_a_bank_have_the_importance_that_is_said() -> None:
    stated = {"references": [{"doc_id": "d"}]}
    answers = {"a": {"answer": "Oslo", "importance": 3, **stated}, "b": {"answer": "Bergen", **stated}}
    asked = {"question": "Where?", "question_id": "1", "query_id": "q", "answers": answers}
    record = {"query_id": "q", "title_query": "t", "nugget_bank": {"Where?": asked}}
    ((_, bank),) = numbered_banks(io.BytesIO(json.dumps(record).encode()))
    assert isinstance(bank, NuggetBank)
    assert [[answer.importance for answer in nugget.answers] for nugget in bank.nuggets] == [["3", None]]


def test_the_head_of_a_file_in_blocks_is_all_of_them_where_they_are_few() -> None:
    assert parts._head(iter([b"q Q0 d ", b"1 2.5 r\n"])) == b"q Q0 d 1 2.5 r\n"
    assert parts._head(iter([b"x" * parts._HEAD, b"y"])) == b"x" * parts._HEAD


@pytest.mark.parametrize(
    ("descriptor", "checksum", "content"),
    [(0, b"", True), (0x80, b"\0" * 4, True), (0x04, b"", False), (0x84, b"\0" * 4, False)],
)
def test_frames_are_those_of_the_seek_table(descriptor: int, checksum: bytes, content: bool) -> None:
    entries = b"".join(struct.pack("<II", *sizes) + checksum for sizes in ((10, 100), (20, 50)))
    footer = struct.pack("<IBI", 2, descriptor, parts._FOOTER)
    table = struct.pack("<II", parts._TABLE, len(entries) + len(footer)) + entries + footer
    raw = io.BytesIO(b"x" * 30 + table)
    frames = [(frame.offset, frame.packed, frame.begin) for frame in parts._frames(raw, len(raw.getvalue()))]
    assert frames == ([(0, 10, 0), (10, 20, 100)] if content else [])


@pytest.mark.parametrize(
    ("rows", "groups", "begin"), [((5, 10), [0], 0), ((10, 25), [1, 2], 10), ((9, 11), [0, 1], 0)]
)
def test_rows_of_a_table_lie_in_the_groups_that_hold_them(
    rows: tuple[int, int], groups: list[int], begin: int
) -> None:
    metadata = SimpleNamespace(num_row_groups=3, row_group=lambda group: SimpleNamespace(num_rows=10))
    assert columnar._groups(metadata, range(*rows)) == (groups, begin)


def test_zeros_between_streams_of_xz_come_in_fours() -> None:
    packed = lzma.compress(b"a\n")
    assert b"".join(chunks(io.BytesIO(packed + b"\0" * 8 + packed))) == b"a\na\n"
    with pytest.raises(InputError, match="bytes: 6 zero bytes after a stream, not a multiple of 4"):
        list(chunks(io.BytesIO(packed + b"\0" * 6 + packed)))


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no room can be made before")
def test_room_is_made_for_a_longer_copy_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(os, "posix_fallocate", lambda file, begin, size: sizes.append(size))
    for before, after, room in ((1, 5, [5]), (5, 1, []), (5, 5, [])):
        (tmp_path / "part").write_bytes(b"x" * after)
        (tmp_path / "target").write_bytes(b"y" * before)
        writing._copy_over(tmp_path / "part", tmp_path / "target")
        assert (tmp_path / "target").read_bytes() == b"x" * after
        assert sizes == room
        sizes.clear()


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


@pytest.mark.parametrize("letter", ["a", "é", "😀"])
def test_eighty_characters_of_a_line_are_shown_however_many_bytes_they_take(letter: str) -> None:
    assert quoted((letter * 80).encode()) == repr(letter * 80)
    assert quoted((letter * 100).encode()) == repr(letter * 80 + "…")


@pytest.mark.parametrize("offset", [0, 2**25])
def test_a_border_is_found_wherever_in_a_file_it_is_looked_for(offset: int) -> None:
    rows = [b"q1 Q0 d 1 2.5 r\n", b"q1 Q0 e 2 1.5 r\n", b"q2 Q0 d 1 2.5 r\n"]
    # The first line may be half of one, so that the border is behind the second whole line of q1.
    assert parts._border([b"half\n", *rows], offset, Reading(), DEFAULT.line) == offset + len(b"half\n") + 32


def test_each_frame_is_in_the_part_that_its_content_is_in_and_the_last_in_the_last() -> None:
    frames = [
        parts._Frame(index, 1, begin, size)
        for index, (begin, size) in enumerate(((0, 10), (10, 10), (20, 0)))
    ]
    first, second, empty = frames
    assert parts._around(frames[:2], 0, 10) == (first,)
    assert parts._around(frames[:2], 10, 20) == (second,)
    assert parts._around(frames, 5, 15) == (first, second)
    assert parts._around(frames, 10, 20) == (second, empty)


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


@pytest.mark.parametrize(("text", "number"), [(b'{"a" : 1, "b": 2}', 2), (b'{"a": 1, "b": "c : d"}', 2)])
def test_keys_are_counted_with_a_blank_before_the_colon_or_without(text: bytes, number: int) -> None:
    assert _keys(text) == number


def test_only_the_first_line_has_to_end_soon_enough() -> None:
    refuse_long(b"\n" + b"x" * 20, "here", 10)
    with pytest.raises(InputError, match="here: a line of more than 10 bytes"):
        refuse_long(b"x" * 10 + b"\n", "here", 10)


def test_a_question_with_metadata_is_no_answer() -> None:
    for more, holds in (
        ({"metadata": {"a": 1}}, "questions"),
        ({"metadata": {}, "responses": []}, "answers"),
    ):
        kind = kind_of_records([{"query_id": "q", "question": "Why?", **more}])
        assert kind is not None
        assert kind.holds == holds


@pytest.mark.parametrize(
    ("keys", "is_one"), [("metadata", False), ("metadata responses", True), ("answer", True)]
)
def test_an_answer_that_is_cut_off_is_told_by_its_keys(keys: str, is_one: bool) -> None:
    beginning = ", ".join(f'"{key}": []' for key in keys.split())
    assert _is_answer(Start(f'{{{beginning}, "long": "and on'.encode())) == is_one


def test_a_plan_is_made_by_names_and_stays_and_is_written_without_what_is_usual() -> None:
    plan = LabelPlan(plan="p", seed=1, rubric="crag", kind="each", systems=("a",), queries=3)
    assert json.loads(msgspec.json.encode(plan)) == {
        "plan": "p", "seed": 1, "rubric": "crag", "kind": "each", "systems": ["a"], "queries": 3
    }  # fmt: skip
    with pytest.raises(AttributeError):
        plan.seed = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        LabelPlan("p", 1, "crag", "each", ("a",), 3)  # type: ignore[call-arg, misc]


def test_what_is_missing_is_none_or_no_number() -> None:
    absent = type("NAType", (), {"__repr__": lambda self: "<NA>"})()
    assert [is_missing(cell) for cell in (None, float("nan"), absent)] == [True] * 3
    assert [is_missing(cell) for cell in (0, "", 0.0, "nan", [])] == [False] * 5
