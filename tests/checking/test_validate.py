"""`rageval validate` on answers: every rule seen at work and at rest, whole outputs, broken files."""

from __future__ import annotations

import gzip
import io
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from declared import require_golden, require_same
from rageval.checking.repairs import repaired
from rageval.checking.tracks import track_named, validate_answers
from test_bad_input import HOSTILE, Outcome, command

GOLDEN = Path(__file__).parents[1] / "golden"
SAMPLES = Path(__file__).parents[2] / "examples/data/answers"
Json = dict[str, Any]


def segment(number: int) -> str:
    return f"msmarco_v2.1_doc_00_{number}#0_{number}"


SEGMENTS = [segment(0), segment(1)]
SHARDS = ["shard_00000_1", "shard_00000_2"]
ANSWER = [{"text": "One two.", "citations": [0]}, {"text": "Three.", "citations": [1, 0]}]
URN = "<urn:uuid:00000000-1111-4222-8333-000000000000>"
GOOD: dict[str, Json] = {
    "rag24": {
        "run_id": "r",
        "topic_id": "1",
        "topic": "one",
        "references": SEGMENTS,
        "response_length": 3,
        "answer": ANSWER,
    },
    "rag25": {
        "metadata": {"team_id": "us", "run_id": "r", "narrative_id": 1, "type": "manual", "narrative": "one"},
        "references": SEGMENTS,
        "answer": ANSWER,
    },
    "rag26": {
        "metadata": {
            "team_id": "us",
            "narrative_id": "1",
            "narrative": "one",
            "run_id": "r",
            "run_desc": "BM25",
        },
        "references": SHARDS,
        "answer": ANSWER,
    },
    "liverag": {
        "id": 1,
        "question": "one",
        "passages": [{"passage": "P", "doc_IDs": [URN]}],
        "final_prompt": "p",
        "answer": "a",
    },
}
TRACKS = tuple(GOOD)
TREC = ("rag24", "rag25", "rag26")


def record(track: str, number: int = 1, /, **changes: Any) -> Json:
    """A record without fault, then changed; None takes a field away, `metadata` is changed within."""
    require_same(GOOD, {*GOOD, track}, "GOOD of tests/checking/test_validate.py, a record without fault")
    row = json.loads(json.dumps(GOOD[track]))
    texts = {1: "one", 2: "two"}
    if track == "rag24":
        row |= {"topic_id": str(number), "topic": texts[number]}
    elif track == "liverag":
        row |= {"id": number, "question": texts[number]}
    else:
        row["metadata"] |= {"narrative_id": str(number), "narrative": texts[number]}
        inside = changes.pop("metadata", {})
        row["metadata"] = row["metadata"] | inside if isinstance(inside, dict) else inside
        if isinstance(row["metadata"], dict):
            row["metadata"] = {key: value for key, value in row["metadata"].items() if value is not None}
    return {key: value for key, value in (row | changes).items() if value is not None}


Checker = Callable[..., Outcome]


@pytest.fixture(name="check")
def checker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checker:
    """Validate `file`, made of these records (or raw bytes), against two topics."""
    monkeypatch.chdir(tmp_path)
    Path("topics").write_text("1\tone\n2\ttwo\n")

    def check(track: str, *records: Any, options: tuple[str, ...] = ("--topics", "topics")) -> Outcome:
        lines = [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]
        Path("file").write_bytes(b"\n".join(lines) + b"\n")
        return command("validate", "file", "--track", track, *options)

    return check


@pytest.mark.parametrize("track", TRACKS)
def test_a_file_without_fault(check: Checker, track: str) -> None:
    outcome = check(track, record(track, 1), b"", record(track, 2))
    assert outcome == Outcome(0, "file: 2 answers, fine\n", "")


def reply(answers: list[Any]) -> dict[str, Any]:
    return {"answer": answers}


def cites(*citations: Any) -> dict[str, Any]:
    return reply(
        [{"text": "One two three.", "citations": [0, 1]}, {"text": "Four.", "citations": list(citations)}]
    )


BLANK = {"text": " \n", "citations": []}
LONG = reply([{"text": "word " * 200, "citations": [0]}, {"text": "word " * 201, "citations": [1]}])
LONGER = reply([{"text": "word " * 1025, "citations": [0, 1]}])
NEW = "expected a position from 0 to 1"
# Track (or all of TREC's), what is changed in a record without fault, what is said of it.
RULES: list[tuple[str, dict[str, Any], str]] = [
    ("rag24", {"run_id": None}, "error: `run_id` is missing, expected an id (text or number)"),
    ("rag24", {"run_id": ["r"]}, 'error: expected an id (text or number) as `run_id`, found ["r"]'),
    ("rag24", {"run_id": " "}, "error: `run_id` is empty"),
    (
        "rag24",
        {"run_id": "a run"},
        "warning: white space in `run_id`: 'a run'; files in columns are split there",
    ),
    ("rag24", {"topic_id": True}, "error: expected an id (text or number) as `topic_id`, found true"),
    ("rag24", {"topic": None}, "error: `topic` is missing, expected a text"),
    ("rag24", {"topic": "other"}, "error: `topic` is not the text of the topic: 'other'"),
    ("rag24", {"references": {}}, "error: expected a list as `references`, found {}"),
    ("rag24", {"response_length": "3"}, "error: expected a whole number as `response_length`, found '3'"),
    ("rag24", {"response_length": 4}, "warning: `response_length` says 4, counted 3 words (nfkc)"),
    ("rag24", {"refs": 1}, "warning: unknown field 'refs'; known are run_id topic_id topic references"),
    (
        "rag24",
        {"references": [segment(index) for index in range(21)]},
        "error: expected at most 20 references, found 21",
    ),
    ("rag24", {"references": [*SEGMENTS, "doc 7", "x"]}, "error: expected ids of MS MARCO V2.1 segments"),
    (
        "rag24",
        cites(segment(0)),
        f"error: answer[1] cites '{segment(0)}', expected a position in the references, a number",
    ),
    ("rag24", cites(1, 0, 1), f"warning: answer[1] cites '{segment(1)}' more than once"),
    ("rag24", LONG, "error: expected at most 400 words (nfkc), found 401"),
    ("rag25", {"metadata": 1}, "error: expected an object as `metadata`, found 1"),
    ("rag25", {"metadata": {"team_id": None}}, "error: `metadata.team_id` is missing, expected an id"),
    (
        "rag25",
        {"metadata": {"narrative_id": None}},
        "error: `metadata.narrative_id` is missing, expected an id",
    ),
    (
        "rag25",
        {"metadata": {"type": "auto"}},
        "error: expected manual or automatic as `metadata.type`, found 'auto'",
    ),
    (
        "rag25",
        {"metadata": {"narrative": "other"}},
        "warning: `metadata.narrative` is not the text of the topic",
    ),
    ("rag25", {"metadata": {"narrative": 3}}, "error: expected a text as `metadata.narrative`, found 3"),
    ("rag25", {"metadata": {"prompt": ""}}, "warning: `metadata.prompt` is empty"),
    (
        "rag25",
        {"metadata": {"taem": "x"}},
        "warning: unknown field 'taem' in `metadata`; known are team_id run_id",
    ),
    ("rag25", {"x": 1}, "warning: unknown field 'x'; known are metadata references answer"),
    (
        "rag25",
        {"references": [segment(index) for index in range(101)]},
        "error: expected at most 100 references, found 101",
    ),
    ("rag25", {"references": [*SEGMENTS, "x"]}, "warning: expected ids of MS MARCO V2.1 segments"),
    ("rag25", cites(1, segment(1)), f"warning: answer[1] cites '{segment(1)}' more than once"),
    ("rag25", LONG, "error: expected at most 400 words (nfkc), found 401"),
    ("rag26", {"metadata": {"run_desc": None}}, "error: `metadata.run_desc` is missing, expected a text"),
    ("rag26", {"metadata": {"run_desc": " "}}, "error: `metadata.run_desc` is empty"),
    ("rag26", {"metadata": {"narrative": None}}, "error: `metadata.narrative` is missing, expected a text"),
    ("rag26", {"references": [*SHARDS, segment(0)]}, "warning: expected ids of ClimbMix documents"),
    ("rag26", cites(1, 1), f"warning: answer[1] cites '{SHARDS[1]}' more than once"),
    (
        "rag26",
        {"references": [*SHARDS, SHARDS[1]]},
        f"warning: references[2] is references[1] again: '{SHARDS[1]}'",
    ),
    ("rag26", cites(0, 1, 2, 3), "error: answer[1] has 4 citations, expected at most 3"),
    ("rag26", LONGER, "error: expected at most 1,024 words (split), found 1,025"),
    (
        "TREC",
        {"references": [*SEGMENTS, 5]},
        "error: expected the id of a document as references[2], found 5",
    ),
    *(
        (
            track,
            {"references": [*SEGMENTS, SEGMENTS[1]]},
            f"error: references[2] is references[1] again: '{SEGMENTS[1]}'",
        )
        for track in TREC[:2]
    ),
    ("TREC", {"references": [*SEGMENTS, segment(7)]}, "warning: 1 of 3 references are cited by no sentence"),
    ("TREC", {"answer": None}, "error: `answer` is missing, expected a list"),
    *((track, reply(empty), "error: the answer is empty") for track in TREC[:2] for empty in ([], [BLANK])),
    *((track, reply([*ANSWER, BLANK]), "warning: answer[2].text is empty") for track in TREC[:2]),
    # The guidelines of 2026 let an answer have no sentences, and no sentence have no text.
    ("rag26", reply([]) | {"references": []}, "warning: the answer is empty"),
    ("rag26", reply([*ANSWER, BLANK]), "error: answer[2].text is empty"),
    (
        "rag26",
        {"metadata": {"narrative": "other"}},
        "error: `metadata.narrative` is not the text",
    ),
    ("TREC", reply([*ANSWER, "text"]), "error: expected {text, citations} as answer[2], found 'text'"),
    ("TREC", reply([*ANSWER, {"citations": []}]), "error: answer[2].text is missing, expected a text"),
    (
        "TREC",
        reply([*ANSWER, {"text": "x"}]),
        "error: answer[2].citations is missing, expected a list",
    ),
    (
        "TREC",
        reply([*ANSWER, {"text": 3, "citations": 1}]),
        "error: expected a list as answer[2].citations, found 1",
    ),
    (
        "TREC",
        reply([*ANSWER, {"text": "a\x00b", "citations": []}]),
        "answer[2].text holds the control character U+0000",
    ),
    ("TREC", reply([*ANSWER, {"text": "\u202eb", "citations": []}]), "the control character U+202E"),
    ("TREC", cites(2), f"error: answer[1] cites 2, {NEW}"),
    ("TREC", cites(-1), f"error: answer[1] cites -1, {NEW}"),
    ("TREC", cites(True), "error: answer[1] cites true, expected a position in the references"),
    ("TREC", cites(1.0), "error: answer[1] cites 1.0, expected a position in the references"),
    ("TREC", cites(None), "error: answer[1] cites null, expected a position in the references"),
    ("rag25", cites("x"), "error: answer[1] cites 'x', which is not among the references"),
    ("rag26", cites("x"), "error: answer[1] cites 'x', which is not among the references"),
    ("rag26", {"references": []}, "error: answer[0] cites 0, and there are no references"),
    ("liverag", {"id": "1"}, "error: expected a whole number as `id`, found '1'"),
    ("liverag", {"id": None}, "error: `id` is missing, expected a whole number"),
    ("liverag", {"question": "other"}, "warning: `question` is not the text of the topic: 'other'"),
    ("liverag", {"passages": "P"}, "error: expected a list as `passages`, found 'P'"),
    ("liverag", {"passages": []}, "warning: `passages` is empty: faithfulness cannot be judged"),
    ("liverag", {"passages": ["P"]}, "error: expected {passage, doc_IDs} as passages[0], found 'P'"),
    (
        "liverag",
        {"passages": [{"passage": "", "doc_IDs": [URN]}]},
        "error: expected a text as passages[0].passage",
    ),
    (
        "liverag",
        {"passages": [{"passage": "P", "doc_IDs": []}]},
        "error: expected a list of ids as passages[0].doc_IDs",
    ),
    ("liverag", {"passages": [{"passage": "P"}]}, "as passages[0].doc_IDs, found null"),
    (
        "liverag",
        {"passages": [{"passage": "P", "doc_IDs": [7]}]},
        "error: expected ids in texts as passages[0].doc_IDs",
    ),
    (
        "liverag",
        {"passages": [{"passage": "P", "doc_IDs": ["x"]}]},
        "warning: expected <urn:uuid:…> as passages[0].doc",
    ),
    ("liverag", {"final_prompt": None}, "error: `final_prompt` is missing, expected a text"),
    ("liverag", {"answer": ""}, "error: `answer` is empty"),
    ("liverag", {"score": 1}, "warning: unknown field 'score'; known are id question passages"),
]
CASES = [(one, *rest) for track, *rest in RULES for one in (TREC if track == "TREC" else (track,))]


@pytest.mark.slow
@pytest.mark.parametrize(("track", "change", "message"), CASES)
def test_what_breaks_a_rule_is_named_with_its_line(
    check: Checker, track: str, change: Json, message: str
) -> None:
    outcome = check(track, record(track, 1), record(track, 2, **change))
    assert message in outcome.out
    assert "file:1:" not in outcome.out
    assert outcome.code == int(": error:" in outcome.out)
    assert outcome.err == ""


@pytest.mark.parametrize(
    ("track", "change"),
    [
        ("rag24", {"references": [segment(index) for index in range(20)]}),
        ("rag25", {"references": [segment(index) for index in range(100)]}),
        ("rag24", reply([{"text": "word " * 400, "citations": [0, 1]}]) | {"response_length": 400}),
        ("rag24", reply([{"text": "one\ttwo\nthree", "citations": [0, 1]}])),
        ("rag25", reply([{"text": "x", "citations": SEGMENTS}])),
        ("rag25", {"metadata": {"prompt": "p", "type": "automatic"}}),
        ("rag26", reply([{"text": "word " * 1024, "citations": [0, SHARDS[1]]}])),
        ("rag26", {"metadata": {"anything": {"else": 1}}}),
        ("rag26", {"references": [f"shard_0_{index}" for index in range(300)]}),
        (
            "rag26",
            {"references": [*SHARDS, "shard_1_1"]} | reply([{"text": "x", "citations": [2, 0, 1]}]),
        ),
        ("liverag", {"passages": [{"passage": "P", "doc_IDs": [URN, URN.replace("8333", "9333")]}]}),
    ],
)
def test_what_is_allowed(check: Checker, track: str, change: Json) -> None:
    outcome = check(track, record(track, 1), record(track, 2, **change))
    assert outcome.code == 0
    unexpected = [
        line for line in outcome.out.splitlines() if "cited by no" not in line and ": warning" in line
    ]
    assert not [line for line in unexpected if "cites by" not in line]


def test_three_counting_rules_differ(check: Checker) -> None:
    text = "rock´n " * 200 + "x"  # an acute accent that stands alone parts words after NFKC, and only then
    parts = reply([{"text": text, "citations": [0, 1]}])
    assert "found 401" in check("rag25", record("rag25", **parts), record("rag25", 2)).out
    assert check("rag26", record("rag26", **parts), record("rag26", 2)).out == "file: 2 answers, fine\n"


# --- rules on all records together


def test_one_answer_a_topic(check: Checker) -> None:
    for track in TRACKS:
        second = record(track, 1)
        outcome = check(track, record(track, 1), record(track, 2), second)
        assert outcome.out == (
            "file:3: error: a second answer to topic '1', the first is in line 1\n"
            "file: 1 error and 0 warnings in 3 answers\n"
        )
        assert outcome.code == 1


def test_numbers_and_texts_name_the_same_topic(check: Checker) -> None:
    other = record("rag24") | {"topic_id": 1}
    assert "file:2: error: a second answer to topic '1'" in check("rag24", record("rag24"), other).out


def test_unknown_and_missing_topics(check: Checker) -> None:
    for track, path in (("rag24", "topic_id"), ("liverag", "id")):
        outcome = check(track, record(track, 1), record(track, 2) | {path: 3})
        assert "file:2: error: unknown topic '3'\n" in outcome.out
        assert "file:2: error: no answer to 1 of 2 topics: '2'\n" in outcome.out


@pytest.mark.parametrize(("odd", "more"), [(1, "found 'x0'\n"), (2, "found 'x0' and 1 more\n")])
def test_odd_references_are_told_together(check: Checker, odd: int, more: str) -> None:
    references = [*SEGMENTS, *(f"x{index}" for index in range(odd))]
    assert more in check("rag24", record("rag24", references=references)).out


@pytest.mark.parametrize(
    ("track", "change", "message"),
    [
        ("rag24", {"run_id": "s"}, "error: `run_id` is 's', expected 'r' as in line 1"),
        (
            "rag25",
            {"metadata": {"run_id": "s"}},
            "error: `metadata.run_id` is 's', expected 'r' as in line 1",
        ),
        ("rag26", {"metadata": {"run_id": 5}}, "error: `metadata.run_id` is 5, expected 'r' as in line 1"),
        ("rag25", {"metadata": {"team_id": "t"}}, "warning: `metadata.team_id` is 't', expected 'us'"),
        ("rag26", {"metadata": {"run_desc": "t"}}, "warning: `metadata.run_desc` is 't', expected 'BM25'"),
        (
            "rag25",
            reply([{"text": "x", "citations": SEGMENTS}]),
            "warning: cites by ids, line 1 by positions",
        ),
        (
            "rag26",
            reply([{"text": "x", "citations": SHARDS}]),
            "warning: cites by ids, line 1 by positions",
        ),
    ],
)
def test_what_is_the_same_in_all_records(check: Checker, track: str, change: Json, message: str) -> None:
    outcome = check(track, record(track, 1), record(track, 2, **change))
    assert outcome.out.startswith(f"file:2: {message}")
    assert outcome.out.count("\n") == 2


# --- broken files


def test_a_broken_line_does_not_stop_the_rest(check: Checker) -> None:
    bad = [b"{", b"[1]", b'{"topic_id": "\xe9"}', b'{"a": ' + b"[" * 9999, b'"\\ud800"', b"null"]
    outcome = check("rag24", record("rag24", 1), *bad, record("rag24", 2, response_length=9))
    lines = outcome.out.splitlines()
    assert [line.partition(" ")[0] for line in lines] == [f"file:{index}:" for index in range(2, 9)] + [
        "file:"
    ]
    assert "byte 15 is 0xe9, which is not UTF-8" in lines[2]
    assert lines[-1] == "file: 6 errors and 1 warning in 8 answers"
    assert outcome.code == 1


def test_answers_of_another_track_are_one_finding(check: Checker) -> None:
    outcome = check("rag25", record("rag25", 1), record("rag24", 2), record("rag25", 2))
    finding = "file:2: error: expected TREC RAG 2025 answers, found TREC RAG 2024 answers; validate them"
    assert outcome.out.startswith(finding)
    assert outcome.out.count("\n") == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "file: is empty; expected JSON lines"),
        (b"\n\n", "file: is empty; expected JSON lines"),
        (b"\xff\xfe{\x00", "file:1: the file is UTF-16"),
        (gzip.compress(b'{"x": 1}', mtime=0)[:-9], "file: is truncated or damaged"),
        (b"\n" + b"x" * 2**21, "file:1: a line of more than"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "file").write_bytes(content)
    outcome = command("validate", tmp_path / "file", "--track", "rag24", "--limit", "record=1M")
    assert outcome.code == 2
    assert message.replace("file:1", "file:2" if content.startswith(b"\n") else "file:1") in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nosuch", "--track", "rag24"], "nosuch: no such file"),
        ([".", "--track", "rag24"], "is a directory"),
        (["file"], "--track"),
        (["file", "--track", "rag23"], "rag23"),
        (["file", "--track", "rag24", "--topics", "nosuch"], "nosuch: no such file"),
        (["file", "--track", "rag24", "--topics", "bad"], "bad:1: expected topics id<TAB>text"),
        (["file", "--track", "rag24", "--limit", "x=1"], "expected NAME=NUMBER"),
    ],
)
def test_wrong_options_are_explained(check: Checker, words: list[str], message: str) -> None:
    check("rag24", record("rag24"))
    Path("bad").write_text("1 one\n")
    outcome = command("validate", *words)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.out == ""


def test_compressed_standard_input_is_validated(check: Checker) -> None:
    check("rag24", record("rag24"))
    outcome = command("validate", "-", "--track", "rag24", stdin=gzip.compress(Path("file").read_bytes()))
    assert outcome.out.splitlines()[-1] == "<stdin>: 0 errors and 1 warning in 1 answer"


def test_nothing_a_terminal_would_obey_is_printed(check: Checker) -> None:
    hostile = "\x1b[31m\u202e\u2028"
    outcome = check("rag24", record("rag24", references=[hostile], run_id=hostile) | {hostile: hostile})
    assert not HOSTILE.search(outcome.out)
    assert not HOSTILE.search(check("rag25", json.dumps(hostile).encode()).out)


# --- whole outputs

BAD: dict[str, list[Any]] = {
    "rag24": [
        record("rag24", 1, run_id="a run"),
        b"{",
        record("rag24", 1, **cites(2, "x", 0, 0)),
        record("rag24", 2, **LONG),
    ],
    "rag25": [
        record("rag25", 1, **cites("x", None)),
        record("rag25", 2, metadata={"type": "auto", "run_id": "s"}, x=1),
    ],
    "rag26": [
        record("rag26", 1, **cites(0, 1, 1, 0)),
        record("rag24", 2),
        record("rag26", 1, metadata={"run_desc": None}),
    ],
    "liverag": [
        record("liverag", 1, passages=[{"passage": "P", "doc_IDs": ["x", 7]}]),
        record("liverag", 1, answer=None),
    ],
}


@pytest.mark.parametrize("track", TRACKS)
def test_whole_outputs_are_as_recorded(check: Checker, track: str) -> None:
    require_same(BAD, TRACKS, "BAD of tests/checking/test_validate.py, records with faults")
    outcome = check(track, *BAD[track])
    path = GOLDEN / f"validate_{track}.txt"
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_text(outcome.out, encoding="utf-8")
    require_golden(outcome.out, path)
    assert outcome.code == 1


@pytest.mark.parametrize("track", TRACKS)
def test_the_samples_have_no_errors(track: str) -> None:
    path = SAMPLES / f"{track if track.startswith('rag') else track + '.answers'}.jsonl"
    assert path.exists(), f"{track}: add a sample as examples/data/answers/{path.name}"
    outcome = command("validate", path, "--track", track)
    assert outcome.code == 0
    assert outcome.out.count("warning:") == int(track != "report")  # few topics


# --- whatever stands in a file

KEYS = "metadata references answer text citations run_id topic_id narrative_id passages doc_IDs id run_desc"
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 4), st.floats(allow_nan=False), st.text(max_size=3)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@pytest.mark.parametrize("track", TRACKS)
@given(
    records=st.lists(
        st.dictionaries(st.sampled_from(KEYS.split()), VALUES, max_size=6), min_size=1, max_size=2
    )
)
def test_no_record_breaks_the_rules(track: str, records: list[Json]) -> None:
    lines = [json.dumps(record).encode() for record in records]
    rules = track_named(track)
    assert all(finding.message for finding in validate_answers(io.BytesIO(b"\n".join(lines)), rules))
    for line in lines:
        if rules.bounds:
            fixed, _ = repaired(line, rules.bounds)
            assert repaired(fixed, rules.bounds) == (fixed, [])


@pytest.mark.nightly
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    line = (
        json.dumps(record("rag26", **reply([{"text": "word " * 900, "citations": [0, 1]}]))).encode() + b"\n"
    )
    with (tmp_path / "file").open("wb") as stream:
        for index in range(2000):
            stream.write(line.replace(b'"narrative_id": "1"', b'"narrative_id": "%d"' % index))
    tracemalloc.start()
    findings = validate_answers(str(tmp_path / "file"), track_named("rag26"))
    assert [finding.message for finding in findings] == ["answers to 2,000 topics, expected 119"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * 2**20 < (tmp_path / "file").stat().st_size
