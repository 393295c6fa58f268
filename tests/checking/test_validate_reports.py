"""`rageval validate` on reports: what the shared schema and each track refuse, and what can be repaired."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rageval.checking import diagnose, validate
from rageval.checking.repairs import repaired
from rageval.checking.tracks import track_named
from test_answers_files import stream
from test_bad_input import Outcome, command

GOLDEN = Path(__file__).parents[1] / "golden/trec"
UUID = "a-b-c-d-e_1"
DOCUMENT, SEGMENT = "msmarco_v2.1_doc_04_1", "msmarco_v2.1_doc_04_1#2_3"
# Of each track: the topics of two records without fault, metadata, what is cited, and whether it is listed.
TRACKS: dict[str, tuple[tuple[str, str], dict[str, Any], Any, bool]] = {
    "report": (("1", "2"), {}, {"d1": 0.5, "d2": 0}, True),
    "ragtime25": (("1", "2"), {"task": "english"}, {UUID: 100}, True),
    "dragun25": ((DOCUMENT, DOCUMENT + "2"), {"type": "automatic", "use_starter_kit": 1}, [SEGMENT], False),
    "biogen25-b": (("1", "2"), {}, ["PMID1", "2"], False),
}
Json = dict[str, Any]


def report(track: str, number: int = 0, /, metadata: Json | None = None, **changes: Any) -> Json:
    """A record without fault, then changed; None takes a field away."""
    topics, more, cited, listed = TRACKS[track]
    whole: Json = {"team_id": "us", "run_id": "r", "topic_id": topics[number], **more, **(metadata or {})}
    record = {"metadata": {key: value for key, value in whole.items() if value is not None}}
    record["responses"] = [{"text": "One two.", "citations": cited}]
    record |= {"references": list(cited)} if listed else {}
    return {key: value for key, value in (record | changes).items() if value is not None}


def reply(*citations: Any, text: str = "One two.") -> Json:
    return {"responses": [{"text": text, "citations": cited} for cited in citations]}


Checker = Callable[..., Outcome]


@pytest.fixture(name="check")
def checker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checker:
    """Validate `file`, made of these records, with two topics of the track."""
    monkeypatch.chdir(tmp_path)

    def check(track: str, *records: Any, options: tuple[str, ...] = (), **topic: Any) -> Outcome:
        lines = [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]
        Path("file").write_bytes(b"\n".join(lines) + b"\n")
        topics = [{"topic_id": name, "title": "T", **topic} for name in TRACKS[track][0]]
        Path("topics").write_text("".join(json.dumps(topic) + "\n" for topic in topics))
        return command("validate", "file", "--track", track, "--topics", "topics", *options)

    return check


@pytest.mark.parametrize("track", TRACKS)
def test_files_without_fault(check: Checker, track: str) -> None:
    outcome = check(track, report(track), report(track, 1))
    assert outcome == Outcome(0, "file: 2 answers, fine\n", "")
    assert "no answer to 1 of 2 topics" in check(track, report(track)).out
    assert check(track, report(track), report(track, metadata={"topic_id": "x"})).code == 1


def test_published_runs_by_their_own_tracks() -> None:
    for name in ("my_best_run_01", "my_best_run_02", "my_best_run_02_with_citations"):
        assert validate(GOLDEN / f"reports/{name}.jsonl", "report").errors == 0
    dragun = GOLDEN / "reports/dragun.jsonl"
    findings = validate(dragun, "dragun25")
    assert [finding.message for finding in findings] == ["answers to 3 topics, expected 30"]
    errors = [finding.message for finding in validate(dragun, "report") if finding.level == "error"]
    assert errors == ["`references` is missing, expected a list"] * 3
    for task in ("a", "b"):
        assert not validate(GOLDEN / f"reports/biogen-{task}.jsonl", f"biogen25-{task}")
    assert validate(GOLDEN / "reports/biogen-a.jsonl", "biogen25-b").errors
    assert validate(GOLDEN / "reports/biogen-b.jsonl", "biogen25-a").errors
    findings = validate(GOLDEN / "dragun.questions.tsv", "dragun25-questions")
    assert [finding.message for finding in findings] == ["1 topics, expected 30"]


FEW = ("a", "b", "c", "d")
RULES: list[tuple[str, Json, str]] = [
    ("report", {"metadata": {"team_id": None}}, "error: `metadata.team_id` is missing, expected a text"),
    ("report", {"metadata": {"topic_id": 1}}, "error: expected a text as `metadata.topic_id`, found 1"),
    ("report", {"metadata": {"request_id": "9"}}, "error: expected one topic in `metadata`, found topic_id"),
    ("report", {"references": None}, "error: `references` is missing, expected a list"),
    ("report", {"references": [1]}, "error: expected the id of a document as references[0], found 1"),
    ("report", {"responses": None}, "error: `responses` is missing, expected a list"),
    ("report", {"answer": []}, "error: expected the sentences in `responses` or in `answer`, not in"),
    ("report", {"responses": None, "answer": []}, "warning: the sentences are in `answer`"),
    ("report", {"responses": "x"}, "error: expected a list as `responses`, found 'x'"),
    ("report", {"responses": [1]}, "error: expected {text, citations} as responses[0], found 1"),
    ("report", {"responses": [{"citations": []}]}, "error: responses[0].text is missing"),
    ("report", {"responses": [{"text": 1, "citations": []}]}, "error: expected a text as responses[0].text"),
    ("report", {"responses": []}, "warning: the answer is empty"),
    ("report", reply("x"), "error: expected a list of ids, or {id: number} as responses[0].citations"),
    ("report", reply([0]), "error: responses[0] cites 0, expected an id in a text"),
    ("report", reply([" "]), "error: responses[0] cites ' ', expected an id in a text"),
    ("report", reply({"": 0.5}), "error: responses[0] cites '', expected an id in a text"),
    ("report", reply({" ": 0.5}), "error: responses[0] cites ' ', expected an id in a text"),
    ("report", reply({"d1": True}), "error: responses[0] cites 'd1' with true, expected a number"),
    ("report", reply({"d1": 1}, ["d1"]), "error: responses[1] cites by id, line 1 by id and confidence"),
    ("report", reply(["d1", "d1"]), "warning: responses[0] cites 'd1' more than once"),
    ("report", reply({"x": 1}), "warning: responses[0] cites 'x', which is not among the references"),
    ("ragtime25", {"metadata": {"task": None}}, "error: `metadata.task` is missing, expected a text"),
    ("ragtime25", reply({UUID: 101}), f"warning: responses[0] cites '{UUID}' with 101, expected 0 to 100"),
    ("ragtime25", reply({UUID: 1}, {}), "warning: 1 of 2 sentences cite nothing"),
    ("ragtime25", {"references": [UUID, "z"]}, "error: 1 references are cited by no sentence, the first 'z'"),
    ("ragtime25", reply({UUID: 1, "z": 1}), "error: 1 cited documents are not in the references, the first"),
    ("ragtime25", reply({"a-b_1": 1}) | {"references": ["a-b_1"]}, "warning: expected ids of RAGTIME1 d"),
    ("ragtime25", {"responses": []}, "error: the answer is empty"),
    ("dragun25", {"metadata": {"topic_id": "x"}}, "error: expected the id of a document"),
    ("dragun25", {"metadata": {"type": "auto"}}, "error: expected manual or automatic as `metadata.type`"),
    ("dragun25", {"metadata": {"use_starter_kit": "1"}}, "error: expected a whole number as `metadata.use_"),
    ("dragun25", reply([SEGMENT], text="w " * 251), "error: expected at most 250 words (split), found 251"),
    ("dragun25", reply(FEW), "error: responses[0] has 4 citations, expected at most 3"),
    ("dragun25", reply(dict.fromkeys(FEW, 1)), "error: responses[0] has 4 citations, expected at most 3"),
    ("dragun25", reply(["x"]), "warning: expected ids of MS MARCO V2.1 segments (msmarco_v2.1_doc_00_1#"),
    ("biogen25-b", reply([*"1234"]), "error: responses[0] has 4 citations, expected at most 3"),
    ("biogen25-b", reply(["1"], text="w " * 251), "error: expected at most 250 words (split), found 251"),
    ("biogen25-b", reply(["x"]), "warning: expected PMIDs as citations, found 'x'"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("track", "changes", "message"), RULES)
def test_what_breaks_a_rule_of_reports_is_named_with_its_line(
    check: Checker, track: str, changes: Json, message: str
) -> None:
    silent = reply([], text="Two.") | ({"references": []} if TRACKS[track][3] else {})
    outcome = check(track, report(track, 0, **changes), report(track, 1, **silent))
    assert f"file:1: {message}" in outcome.out
    assert outcome.code == message.startswith("error")


HALVES = [
    {"text": "\u00bd\ufb01", "citations": {}},
    {"text": "b", "citations": {}},
]  # 7 characters after NFKC


@pytest.mark.parametrize("strict", [False, True])
def test_length_is_of_the_topic(check: Checker, strict: bool) -> None:
    records = [report("report", index, responses=HALVES, references=[]) for index in range(2)]
    options = ("--strict-length",) if strict else ()
    outcome = check("report", *records, options=options, limit=6)
    level = "error" if strict else "warning"
    assert f"file:1: {level}: expected at most 6 characters (NFKC), found 7\n" in outcome.out
    assert outcome.code == strict
    assert check("report", *records, options=options, limit=7).code == 0
    assert "at most 1 words (split), found 2" in check("report", *records, word_limit=1).out
    own = [
        report("report", index, metadata={"limit": 6}, responses=HALVES, references=[]) for index in range(2)
    ]
    assert "at most 6 characters" in check("report", *own, options=options).out
    assert check("report", *own, options=options, limit=7).code == 0  # the topic knows better
    outcome = check("report", *records, limit="6.5")
    assert (outcome.code, "topic '1': expected a whole number as `limit`, found '6.5'" in outcome.err) == (
        2,
        True,
    )


def test_length_is_asked_of_tracks_that_have_one(check: Checker) -> None:
    outcome = check("dragun25", report("dragun25"), options=("--strict-length",))
    assert (outcome.code, outcome.out) == (2, "")
    assert "topics of dragun25 have no length of their own" in outcome.err
    assert command("validate", "file", "--track", "run", "--strict-length").code == 2


QUESTION = [DOCUMENT, "us", "r", "1", "Who?"]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (0, "x", "1: error: expected the id of a document (msmarco_v2.1_doc_00_1) as `topic_id`, found 'x'"),
        (2, "s", "2: error: `run_id` is 'r', expected 's' as in line 1"),
        (3, "2", "2: error: rank 2 of topic 'msmarco_v2.1_doc_04_1' is in line 1, too"),
        (3, "11", "1: error: expected a rank from 1 to 10, found '11'"),
        (3, "01", "1: error: expected a rank from 1 to 10, found '01'"),
        (3, "11", "10: error: topic 'msmarco_v2.1_doc_04_1' has 9 of 10 questions, no rank 1"),
        (4, "x" * 301, "1: error: expected at most 300 characters a question, found 301"),
        (4, "", "1: error: `question` is empty"),
        (4, "a\tb", "1: error: expected 5 columns with tabs between (topic_id team_id run_id rank question)"),
    ],
)
def test_questions_of_dragun(tmp_path: Path, column: int, value: str, message: str) -> None:
    rows = [[*QUESTION[:3], str(rank), "Who?"] for rank in range(1, 11)]
    path = tmp_path / "questions.tsv"
    path.write_text("".join("\t".join(row) + "\r\n" for row in rows))
    assert [finding.message for finding in validate(path, "dragun25-questions")] == ["1 topics, expected 30"]
    assert not validate(path, "dragun25-questions", {DOCUMENT: ""})
    assert "unknown topic" in validate(path, "dragun25-questions", {"x": ""})[0].message
    rows[0][column] = value
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    texts = [finding.text.removeprefix(f"{path}:") for finding in validate(path, "dragun25-questions")]
    assert any(text.startswith(message) for text in texts), texts


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"supported_citations": [*FEW]}, "answer[0].supported_citations has 4 ids, expected at most 3"),
        (
            {"contradicted_citations": [*FEW]},
            "answer[0].contradicted_citations has 4 ids, expected at most 3",
        ),
        (
            {"contradicted_citations": "x"},
            "expected a list of ids as answer[0].contradicted_citations, found 'x'",
        ),
        ({"supported_citations": ["1"]}, "answer[0].supported_citations has '1' twice"),
        ({"text": 1}, "expected a text as answer[0].text, found 1"),
    ],
)
def test_task_a_of_biogen(changes: Json, message: str) -> None:
    part = {"text": "One.", "existing_supported_citations": ["1"], "supported_citations": ["2"]}
    part |= {"contradicted_citations": []}
    metadata = {"team_id": "us", "run_id": "r", "qa_id": "1"}
    assert not validate(stream({"metadata": metadata, "answer": [part]}), "biogen25-a", {"1": "?"})
    findings = validate(stream({"metadata": metadata, "answer": [part | changes]}), "biogen25-a")
    assert any(message in finding.message for finding in findings)


# --- repairs


def fixed(track: str, record: Json) -> tuple[Json, list[str]]:
    bounds = track_named(track).bounds
    assert bounds is not None
    line, repairs = repaired(json.dumps(record).encode(), bounds)
    assert repaired(line, bounds) == (line, [])
    return json.loads(line), [finding.message for finding in repairs]


def test_what_can_be_repaired_in_reports(check: Checker) -> None:
    wrong = report("report", metadata={"topic_id": 1}, references=["a", "b"], **reply([1, 0, 5, 1], [0]))
    repaired, repairs = fixed("report", wrong)
    assert repaired["metadata"]["topic_id"] == "1"
    assert [part["citations"] for part in repaired["responses"]] == [["b", "a"], ["a"]]
    assert repairs == [
        "wrote the topic 1 as a text",
        "responses[0]: kept 2 of 4 citations, 4 positions as ids",
        "responses[1]: kept 1 of 1 citation, 1 position as ids",
    ]
    repaired, _ = fixed("report", report("report", references=None, **reply(["b"], ["a", "b"])))
    assert repaired["references"] == ["b", "a"]
    outcome = check("report", wrong, report("report", 1, **reply(["d1"])), options=("--fix", "out"))
    assert outcome.out.endswith("out: 0 errors and 1 warning in 2 answers\n") or outcome.code == 0


def test_repairs_of_tracks_keep_the_strongest() -> None:
    repaired, _ = fixed("dragun25", report("dragun25", **reply({"a": 1, "b": 9, "c": 5, "d": 7})))
    assert repaired["responses"][0]["citations"] == {"b": 9, "c": 5, "d": 7}
    long = [{"text": "w " * 150, "citations": ["a"], "own": 1}, {"text": "w " * 101, "citations": ["b"]}]
    repaired, repairs = fixed("biogen25-b", report("biogen25-b", responses=long))
    assert repaired["responses"] == long[:1]
    assert repairs[0].startswith("dropped responses[1], leaving 150 words")
    repaired, _ = fixed(
        "ragtime25", report("ragtime25", references=["x", UUID, UUID], **reply({UUID: 1, "z": 0}))
    )
    assert repaired["references"] == [UUID, "z"]


# --- and what the doctor says of files of tracks


def test_doctor_on_questions_and_on_judgements_of_other_tools(tmp_path: Path) -> None:
    lines = (GOLDEN / "dragun.questions.tsv").read_text().splitlines()
    (tmp_path / "questions.tsv").write_text("\n".join([*lines[:9], lines[8]]) + "\n")
    findings = diagnose(tmp_path / "questions.tsv", topics=[GOLDEN / "reports/kiddie.topics.jsonl"])
    assert [finding.line for finding in findings] == [10, 10, 1]
    assert "is in line 9, too" in findings[0].message
    assert findings[2].message.startswith("none of its queries is in")
    lines = (GOLDEN / "dragun.labels.csv").read_text().splitlines()
    (tmp_path / "labels.csv").write_text("\n".join([*lines, lines[1]]) + "\n")
    (found_again,) = diagnose(tmp_path / "labels.csv")
    assert found_again.message.startswith("answers judged twice by a judge: 1, first")
