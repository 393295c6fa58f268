"""What every reader refuses: keys that stand twice, ids with blanks around them, marks in mid-file."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import rageval
from rageval.building.collection import read_support
from rageval.building.pools import read_pool
from rageval.comparison.passport import read as read_passport
from rageval.errors import InputError
from rageval.files.answers import read_answers
from rageval.files.jsonl import _Shape, repeated_keys
from rageval.files.judgements import JudgementLine
from rageval.files.nuggets import _SCORES, read_metrics, read_nuggets
from rageval.files.questions import read_facts, read_groups, read_questions
from rageval.files.retrieved import read_umbrela
from rageval.judges.material import passages_in
from rageval.judges.offline import FrozenJudgements
from rageval.judges.rubric import Rubric, rubric_named
from rageval.scoring.runs import Run

Reader = Callable[[Path], Any]
SEGMENT = "msmarco_v2.1_doc_00_1#0_1"
CRAG = {
    "interaction_id": "q",
    "query": "who?",
    "answer": "he",
    "search_results": [{"page_name": "x" * 2**15}],
}

# What is read, a record of it, and the keys under which ids stand.
READERS: dict[str, tuple[Reader, dict[str, Any], tuple[str, ...]]] = {
    "judgements": (
        lambda path: rageval.evaluate_answers("crag_score", path),
        {"query_id": "q", "run_id": "r", "item_id": "answer", "label": "perfect", "usage": {"input": 1}},
        ("query_id", "run_id", "item_id"),
    ),
    "assignments": (
        lambda path: rageval.evaluate_answers("a_strict", path),
        {"qid": "q", "run_id": "r", "nuggets": [{"text": "n", "assignment": "support"}]},
        ("qid", "run_id"),
    ),
    "plain answers": (
        lambda path: list(read_answers(path)),
        {"query_id": "q", "run_id": "r", "answer": "yes"},
        ("query_id", "run_id"),
    ),
    "answers of 2024": (
        lambda path: list(read_answers(path)),
        {
            "run_id": "r",
            "topic_id": "q",
            "references": [SEGMENT],
            "answer": [{"text": "t", "citations": [0]}],
        },
        ("topic_id", "run_id"),
    ),
    "nuggets": (
        lambda path: list(read_nuggets(path)),
        {"qid": "q", "nuggets": [{"text": "n", "importance": "vital"}]},
        ("qid",),
    ),
    "rubrics": (
        lambda path: list(read_nuggets(path)),
        {"qid": "q", "rubrics": [{"criterion": "c", "weight": 1}]},
        ("qid",),
    ),
    "questions": (
        lambda path: list(read_questions(path)),
        {"query_id": "q", "question": "who?", "domain": "music"},
        ("query_id",),
    ),
    "questions of CRAG": (lambda path: list(read_questions(path)), CRAG, ("interaction_id",)),
    "UMBRELA's": (
        lambda path: list(read_umbrela(path)),
        {"qid": "q", "docid": "d", "judgment": 2},
        ("qid", "docid"),
    ),
    "metrics": (read_metrics, {"qid": "q", **dict.fromkeys(_SCORES, 0.5)}, ("qid",)),
    "facts": (lambda path: read_facts(path, ("domain",)), {"query_id": "q", "domain": "d"}, ("query_id",)),
    "passages": (lambda path: dict(passages_in(path)), {"id": "d", "text": "t"}, ("id",)),
    "a pool": (read_pool, {"query_id": "q", "doc_id": "d", "from": {"r": 1}}, ("query_id", "doc_id")),
    "support": (
        read_support,
        {"query_id": "q", "run_id": "documents", "item_id": "d", "aspect": "n", "label": "support"},
        ("query_id", "item_id"),
    ),
    "a passport": (
        read_passport,
        {"query_id": "q", "run_id": "r", "item_id": "answer", "aspect": "0", "label": "perfect"},
        ("query_id", "run_id", "item_id"),
    ),
    "frozen judgements": (
        FrozenJudgements,
        {"query_id": "q", "run_id": "r", "item_id": "answer", "aspect": "0", "label": "perfect"},
        ("query_id", "run_id", "item_id"),
    ),
}


def refused(read: Reader, path: Path, *expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read(path)
    for text in expected:
        assert text in str(caught.value), caught.value


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return tmp_path / "file.jsonl"


def doubled(record: Any) -> Iterator[tuple[str, str]]:
    """(a key, the record with it twice in one of its objects)."""
    for key, value in record.items():
        member = json.dumps({key: value})[1:-1]
        yield key, json.dumps(record)[:-1] + f", {member}}}"
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                for name, text in doubled(inner):
                    yield name, json.dumps(record).replace(json.dumps(inner), text)


@pytest.mark.parametrize("name", READERS)
class TestReaders:
    def test_the_record_is_read(self, name: str, path: Path) -> None:
        read, record, _ = READERS[name]
        path.write_text(json.dumps(record) + "\n")
        read(path)
        path.write_bytes(b"\xef\xbb\xbf" + json.dumps(record).encode() + b"\r\n\n")
        read(path)

    def test_a_key_that_stands_twice_is_refused(self, name: str, path: Path) -> None:
        read, record, keys = READERS[name]
        other = {**record, **{key: f"{record[key]}2" for key in keys}}
        for key, text in doubled(record):
            path.write_text(f"{json.dumps(other)}\n\n{text}\n")
            refused(read, path, f"{path}:3: the key {key!r} appears twice")

    @pytest.mark.slow
    def test_ids_with_blanks_around_them_are_refused(self, name: str, path: Path) -> None:
        read, record, keys = READERS[name]
        for key in keys:
            no_run = name == "plain answers" and key == "run_id"  # the run is called after the file
            for odd in ("q1 ", " q1", "\tq1", "q1\n", " ", *(() if no_run else ("",))):
                path.write_text(json.dumps({**record, key: odd}) + "\n")
                refused(read, path, f"{path}:1: expected ")

    def test_a_mark_in_the_middle_is_refused(self, name: str, path: Path) -> None:
        read, record, keys = READERS[name]
        line = json.dumps({**record, **{key: f"{record[key]}2" for key in keys}}).encode()
        path.write_bytes(b"\xef\xbb\xbf" + json.dumps(record).encode() + b"\n\xef\xbb\xbf" + line)
        refused(read, path, f"{path}:2: begins with a byte-order mark")


def repeats_a_key(line: bytes) -> bool:
    """The slow way."""
    repeats = []

    def seen(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        repeats.append(len(set(names)) < len(names))
        return dict(pairs)

    json.loads(line, object_pairs_hook=seen)
    return any(repeats)


def drawn(rng: random.Random, depth: int = 0) -> str:
    kind = rng.random()
    if depth and (depth > 3 or kind < 0.4):
        return rng.choice(["1", '"x"', r'"a\":1"', r'"a\\"', '""', "null", r'"\u0022:"', '"{"', r'"a\"  :"'])
    if depth and kind < 0.6:
        return "[" + ",".join(drawn(rng, depth + 1) for _ in range(rng.randint(0, 3))) + "]"
    names = ["a", "b", "c", "d", "e", r"a\\", r"\"", "f", "g", "h", ""]
    pairs = (f'"{rng.choice(names)}"{rng.choice(["", "", " "])}:{drawn(rng, depth + 1)}' for _ in range(3))
    return "{" + ",".join(pairs) + "}"


@pytest.mark.slow
@pytest.mark.parametrize("large", [2**14, 0])
def test_counting_keys_finds_what_decoding_finds(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rageval.files.jsonl._LARGE", large)
    rng = random.Random(7)
    twice = 0
    for _ in range(4000):
        line = drawn(rng).encode()
        assert bool(list(repeated_keys(line))) == repeats_a_key(line), line
        twice += repeats_a_key(line)
    assert 500 < twice < 3500


LIKELY = {
    "query_id": "q",
    "run_id": "r",
    "aspect": "n",
    "label": "support",
    "judge": "openai:m",
    "latency": 0.5,
}
VALUES = [
    0,
    1.5,
    None,
    "x",
    "a: b",
    ":",
    '":',
    "a \\",
    '{"a": 1}',
    "\u00e9:",
    {},
    {"a": 1},
    {"a": {"b": 2}},
    [{"a": 1}],
    ["x"],
]


def line_like_others(rng: random.Random) -> bytes:
    """A judgement as a program writes it, now and then with something odd."""
    pairs = [[json.dumps(key), json.dumps(value)] for key, value in LIKELY.items()]
    pairs.append(['"usage"', json.dumps({"in": rng.randint(1, 9), "out": 1})])
    if rng.random() < 0.2:
        pairs.append(['"raw"', json.dumps(rng.choice(VALUES))])
    if rng.random() < 0.1:
        pairs.pop(rng.randrange(len(pairs)))
    if rng.random() < 0.1:
        pairs[rng.randrange(len(pairs))][1] = json.dumps(rng.choice(VALUES), ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.1:
        pairs.append([rng.choice(pairs)[0], json.dumps(rng.choice(VALUES))])
    if rng.random() < 0.1:
        pairs.append([json.dumps(rng.choice(["new", "a:", 'b"', "c\\", "l\u0061bel", "in"])), "1"])
    if rng.random() < 0.05:
        pairs = [
            [rng.choice(['"\\u006cabel"', '"label"']), '"support"'] if pair[0] == '"label"' else pair
            for pair in pairs
        ]
    if rng.random() < 0.1:
        rng.shuffle(pairs)
    colon = rng.choice([": "] * 8 + [" : ", ":", "\t:", ":\t"])
    return ("{" + ", ".join(key + colon + value for key, value in pairs) + "}").encode()


@pytest.mark.slow
def test_lines_that_look_alike_are_read_as_each_alone() -> None:
    """What is told by counting for many lines at once is what is found by looking at each."""
    rng = random.Random(11)
    decode = msgspec.json.Decoder(JudgementLine).decode
    plain = wrong = 0
    for _ in range(300):
        shape = _Shape(JudgementLine)
        for _ in range(12):
            lines = [line_like_others(rng) for _ in range(rng.choice((1, 2, 5)))]
            if rng.random() < 0.1:
                lines.insert(rng.randrange(len(lines)), rng.choice([b"", b"{}", lines[0] * 2, b"[]", b"{"]))
            text = b"\n".join(lines) + rng.choice([b"\n", b""])
            records = shape.records(text)
            if records is None:
                shape.learn(text)
                wrong += any(line.startswith(b'{"') and repeats_a_key_or_is_broken(line) for line in lines)
                continue
            plain += 1
            assert not any(map(repeats_a_key, lines)), text
            for record, line in zip(records, lines, strict=True):
                alone = decode(line)
                assert [getattr(record, name) for name in FIELDS] == [getattr(alone, name) for name in FIELDS]
    assert plain > 300
    assert wrong > 300


@pytest.mark.parametrize(
    "odd",
    [
        r'"aspect": "n", "judge": "openai\u003am", "aspect": "m"',  # as many colons as without the second
        r'"aspect": "a: b", "judge": "openai:m", "aspect" : "m"',
        r'"aspect": "n", "judge": "openai:m", "x\\": 1, "x\\": 2',  # no quote within a text
        r'"aspect": "n", "judge": "openai:m", "x": {"a": 1}, "x": {}',
        r'"judge": "openai:m", "aspect": "n", "\u0061spect": "m"',
    ],
)
def test_a_key_that_hides_is_found(odd: str) -> None:
    shape = _Shape(JudgementLine)
    start = '{"query_id": "q", "run_id": "r", "label": "support", '
    usual = f'{start}"aspect": "n", "judge": "openai:m"}}\n'.encode()
    shape.learn(usual)
    assert shape.records(usual * 3) is not None
    line = f"{start}{odd}}}".encode()
    assert repeats_a_key(line)
    assert shape.records(usual + line) is None


FIELDS = [field.name for field in msgspec.structs.fields(JudgementLine)]


def repeats_a_key_or_is_broken(line: bytes) -> bool:
    try:
        return repeats_a_key(line)
    except ValueError:
        return True


@pytest.mark.parametrize("usual", [True, False])
def test_files_that_look_alike_are_read_the_quick_way(usual: bool) -> None:
    """Some lines have a cost and a raw reply, and some no label, as `judge` writes them."""
    shape = _Shape(JudgementLine)
    rows = []
    for index in range(60):
        row = {**LIKELY, "aspect": f"n{index}", "latency": index / 7}
        row |= (
            {"usage": {"in": 1}, "raw": '{"label": "support"}' if index % 2 else "a: b"}
            if index % 20 < 2
            else {}
        )
        row |= {"status": "error"} if index % 7 == 0 else {}
        rows.append({key: value for key, value in row.items() if key != "label" or index % 7})
    text = "\n".join(json.dumps(row, separators=None if usual else (",", ":")) for row in rows).encode()
    assert shape.records(text) is None
    shape.learn(text)
    records = shape.records(text)
    assert records is not None
    assert [record.aspect for record in records] == [f"n{index}" for index in range(60)]


RUN = b"q1 Q0 a 1 2 t\nq2 Q0 b 1 2 t\n"
QRELS = b"q1 0 a 1\nq2 0 b 1\n"


@pytest.mark.parametrize("which", ["run", "qrels", "groups", "topics"])
def test_files_of_columns_refuse_a_mark_in_the_middle(which: str, path: Path) -> None:
    read: dict[str, tuple[Reader, bytes]] = {
        "run": (rageval.read_run, RUN),
        "qrels": (rageval.read_qrels, QRELS),
        "groups": (read_groups, b"q1 a\nq2 b\n"),
        "topics": (lambda path: list(read_questions(path)), b"q1\twho\nq2\twhy\n"),
    }
    reader, rows = read[which]
    mark = b"\xef\xbb\xbf"
    path.write_bytes(mark + rows)
    reader(path)
    path.write_bytes(mark + rows + mark + rows.replace(b"q", b"p"))
    refused(reader, path, f"{path}:3: begins with a byte-order mark")
    path.write_bytes(mark + mark + rows)
    refused(reader, path, f"{path}:1: begins with a byte-order mark")


@pytest.mark.slow
def test_a_mark_behind_the_first_chunk_is_found(path: Path) -> None:
    lines = b"".join(b"q%d Q0 d%d 1 2 t\n" % (index, index) for index in range(200_000))
    path.write_bytes(lines + b"\xef\xbb\xbfq Q0 d 1 2 t\n")
    refused(rageval.read_run, path, f"{path}:200001: begins with a byte-order mark")


class TestIds:
    """Ids handed over in Python: text, or whole numbers as their digits; a run's and judgements' alike."""

    @pytest.mark.parametrize("number", [7, np.int64(7), np.uint8(7)])
    def test_whole_numbers_are_their_digits(self, number: Any) -> None:
        text = rageval.evaluate("rr", {"7": {"7": 1.0}}, {"7": {"7": 1}})["rr"].value
        assert rageval.evaluate("rr", {number: {number: 1.0}}, {"7": {"7": 1}})["rr"].value == text
        assert rageval.evaluate("rr", {"7": {"7": 1.0}}, {number: {number: 1}})["rr"].value == text
        assert rageval.evaluate("rr", {"7": {"7": 1.0}}, {number: {number: {number: 1}}})["rr"].value == text
        assert rageval.evaluate("coverage", {"7": {"7": 1.0}}, {number: {number: {}}})["coverage"].value == 0

    def test_so_are_those_of_parquet(self, tmp_path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        path = tmp_path / "run.parquet"
        parquet.write_table(
            pyarrow.table({"query_id": [-1, 2], "doc_id": [10, 11], "score": [2.0, 1.0]}), path
        )
        assert [(row.query_id, row.doc_id) for row in rageval.read_run(path)] == [("-1", "10"), ("2", "11")]
        for odd in ("q1 ", " q1", "\tq1", "q1\n", ""):
            table = pyarrow.table({"query_id": ["q", odd], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
            parquet.write_table(table, path)
            refused(rageval.read_run, path, f"{path}:2: expected ")

    @pytest.mark.parametrize("odd", [7.0, 7.5, float("nan"), True, None, b"7"])
    def test_nothing_else_is(self, odd: Any) -> None:
        for run, qrels in ((odd, "7"), ("7", odd)):
            with pytest.raises(InputError, match="expected text"):
                rageval.evaluate("rr", {run: {"a": 1.0}}, {qrels: {"a": 1}})

    def test_a_number_and_its_digits_are_one_id(self) -> None:
        with pytest.raises(InputError, match="'7' appears twice, as text and as a number"):
            Run.from_dict({7: {"a": 1.0}, "7": {"b": 1.0}})
        with pytest.raises(InputError, match="twice"):
            rageval.evaluate("rr", {"7": {"a": 1.0}}, {7: {"a": 1}, "7": {"b": 1}})


class TestRubrics:
    @pytest.mark.parametrize("grade", ["nan", "inf", "-inf", "1e7"])
    def test_grades_that_are_none(self, grade: str, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        head = 'unit = "answer"\nkind = "{}"\nsees = ["answer"]\n[prompt]\nsystem = "s"\nask = "a"\n'
        path.write_text(head.format("label") + f"[labels]\ngood = {grade}\nbad = 0.0\n")
        refused(lambda path: rubric_named(str(path)), path, f"{path}:8: labels: 'good'", "a grade")
        path.write_text(head.format("grades") + f"[ranges]\ngood = [{grade}, 2.0]\n")
        refused(lambda path: rubric_named(str(path)), path, f"{path}:8: ranges: 'good' = ")

    def test_ranges_the_wrong_way_round_and_rubrics_of_python(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.py"
        path.write_text(
            "from rageval.judges.rubric import Prompt, Rubric, RubricFile\n"
            "RUBRIC = Rubric('mine', RubricFile('answer', 'grades', ['answer'], Prompt('s', 'a'),"
            " ranges={'good': (2.0, -1.0)}))\n"
        )
        refused(lambda path: rubric_named(str(path)), path, f"{path}: ranges: 'good' = [2.0, -1.0]")
        assert isinstance(rubric_named("pairwise"), Rubric)
