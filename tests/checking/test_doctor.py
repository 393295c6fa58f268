"""`rageval doctor`: one planted fault, one finding; what is sound is left alone; nothing is a traceback."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval.checking.doctor import diagnose
from rageval.checking.runs import validate_run
from rageval.files.opening import DEFAULT
from rageval.files.trec import LineForm
from rageval.judges.rubric import rubric_named
from test_bad_input import HOSTILE, assert_refused, command

RUN = "q1 Q0 d1 1 9 t\nq1 Q0 d2 2 8 t\nq2 Q0 d1 1 7 t\nq2 Q0 d3 2 6 t\n"
QRELS = "q1 n1 d1 1\nq1 n2 d2 1\nq2 n1 d1 1\nq2 n2 d3 1\n"
TOPICS = "q1\tfirst\nq2\tsecond\n"
CORPUS = "".join(json.dumps({"_id": doc, "text": "text"}) + "\n" for doc in ("d1", "d2", "d3"))
NUGGETS = [
    {"qid": query, "query": "", "nuggets": [{"text": text, "nugget_id": text} for text in ("n1", "n2")]}
    for query in ("q1", "q2")
]
ANSWERS = [
    {"query_id": query, "run_id": "r", "answer": [{"text": "So.", "citations": ["d1"]}], "references": ["d1"]}
    for query in ("q1", "q2")
]
VERSION = f"nugget-assignment@{rubric_named('nugget-assignment').digest}"
JUDGED = [
    {"query_id": query, "run_id": run, "aspect": nugget, "label": "support", "judge": "m", "rubric": VERSION}
    for query in ("q1", "q2")
    for run in ("r", "s")
    for nugget in ("n1", "n2")
]
ASSIGNED = [
    {"qid": "q1", "run_id": run, "nuggets": [{"text": "n1", "assignment": "support"}]} for run in ("r", "s")
]


def jsonl(records: list[dict[str, object]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


SOUND = {
    "run": RUN,
    "qrels.nugget": QRELS,
    "topics": TOPICS,
    "corpus": CORPUS,
    "nuggets": jsonl(NUGGETS),
    "answers": jsonl(ANSWERS),
    "judged": jsonl(JUDGED),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def doctor(*words: str, **files: str) -> tuple[int, list[str]]:
    """The exit code and the lines about these files, whose names have - for _."""
    names = []
    for name, text in files.items():
        names.append(name.replace("_", "."))
        Path(names[-1]).write_bytes(text.encode("utf-8", "surrogateescape"))
    outcome = command("doctor", *names, "--at", "2", *words)
    assert outcome.err == ""
    return outcome.code, outcome.out.splitlines()


def changed(records: list[dict[str, object]], position: int, **fields: object) -> str:
    """The records as lines, with one of them changed."""
    return jsonl(
        [{**record, **fields} if number == position else record for number, record in enumerate(records)]
    )


def test_what_is_sound_is_left_alone() -> None:
    code, lines = doctor(**{name.replace(".", "_"): text for name, text in SOUND.items()})
    assert (code, lines) == (0, ["nothing suspicious in 7 files"])


@pytest.mark.parametrize(
    ("text", "code", "finding"),
    [
        (
            RUN + "q2 Q0 d1 3 5 t\n",
            1,
            "run:5: error: documents ranked twice: 1, first 'd1' of query 'q2'; rejected",
        ),
        (
            RUN + "q2 Q0 d4 3 6 t\n",
            0,
            "run:4: warning: queries with equal scores across rank 2: 1, first 'q2'; every",
        ),
        (RUN + "q2 Q0 d4 1 2 t\n", 0, "run:5: warning: queries whose rank column contradicts the scores: 1"),
        (RUN + "q1 Q0 d4 3 5 t\n", 0, "run:5: warning: queries whose rows are not together: 1, first 'q1'"),
        (RUN + "q2 Q0 d4 3 5 other\n", 0, "run:5: warning: additional run tags: 1, first 'other'"),
        (RUN + "q2 Q0 d4 3 x t\n", 1, "run:5: error: "),
        (RUN.replace(" ", "\t").replace("d3", "d 3"), 0, "run:4: warning: ids with a space: 1, first 'd 3'"),
        ("q1 Q0 a 1 1 t\nq1 Q0 b 2 1 t\n", 1, "run:1: error: all scores of each query are equal"),
        (
            "q1 Q0 a 1 1 t\n",
            0,
            "run:1: warning: at most 1 document a query (the first: 'q1'); recall and coverage @2",
        ),
        ("q1 Q0 \x1b[31m 1 1 t\n", 1, "run:1: error: "),
    ],
)
def test_each_fault_of_a_run_is_found_once(text: str, code: int, finding: str) -> None:
    exit_code, lines = doctor(run=text)
    assert exit_code == code
    assert len([line for line in lines if line.startswith(finding)]) == 1, lines
    assert not HOSTILE.search("\n".join(lines).replace("\n", ""))


def test_plain_qrels_are_not_suspicious_for_being_plain() -> None:
    assert doctor(qrels="q1 0 d1 1\nq2 0 d1 1\n")[1] == ["nothing suspicious in 1 file"]
    assert "one nugget per query everywhere" in doctor(qrels="q1 a d1 1\nq2 b d1 1\n")[1][0]


ONE, TWO = {"text": "It rains.", "importance": "vital"}, {"text": "it  rains.", "importance": "okay"}


@pytest.mark.parametrize(
    ("files", "code", "finding"),
    [
        (
            {"n": jsonl([{"qid": "q", "nuggets": [ONE, TWO]}])},
            0,
            "n:1: warning: duplicate nuggets of a query: 1",
        ),
        (
            {"n": jsonl([{"qid": "q", "nuggets": [{"text": "Why?"}]}])},
            0,
            "n:1: warning: nuggets that are questions: 1",
        ),
        ({"n": jsonl([{"qid": "q", "nuggets": []}])}, 0, "n:1: warning: empty nuggets or lists: 1"),
        (
            {"n": jsonl([{"qid": "q", "nuggets": [ONE]}, {"qid": "r", "nuggets": [TWO]}])},
            0,
            "n:2: warning: queries without a vital nugget: 1, first 'r'; v_strict and v are undefined",
        ),
        (
            {"n": jsonl([{"qid": "q", "nuggets": [ONE, {"text": "x", "importance": "failed"}]}])},
            0,
            "n:1: warning: nuggets without an importance: 1, first '1' of query 'q'",
        ),
        (
            {"a": changed(ANSWERS, 1, answer=[{"text": "So.", "citations": ["d9"]}])},
            0,
            "a:2: warning: sentences that cite a missing reference: 1",
        ),
        (
            {"a": changed(ANSWERS, 1, query_id="q1")},
            1,
            "a:2: error: second answers of a run: 1, first to query 'q1'",
        ),
        (
            {"a": changed(ANSWERS, 0, answer=[{"text": " "}])},
            0,
            "a:1: warning: empty answers: 1, first to query 'q1'",
        ),
        (
            {"a": changed(ANSWERS, 0, references=["d1", "d1"])},
            0,
            "a:1: warning: lists of references with a duplicate: 1",
        ),
        (
            {"j": jsonl([*JUDGED, JUDGED[0]])},
            1,
            "j:9: error: answers judged twice by a judge: 1, first 'r' of query 'q1'",
        ),
        (
            {"j": changed([*JUDGED], 7, label=None, status="refused")},
            0,
            "j:8: warning: failed judgements (1 refused): 1, first of query 'q2'; they are missing",
        ),
        (
            {"j": changed(JUDGED, 5, rubric="nugget-assignment@00000000")},
            0,
            "j:6: warning: additional versions of the rubric 'nugget-assignment': 1",
        ),
        (
            {"j": jsonl([{**row, "rubric": "nugget-assignment@00000000"} for row in JUDGED])},
            0,
            "j:1: warning: judged by version 00000000 of the rubric 'nugget-assignment', but ",
        ),
        (
            {"j": jsonl([{**row, "judge": "m" if row["run_id"] == "r" else "n"} for row in JUDGED])},
            0,
            "j:3: warning: systems with other judges than 'r': 1, first 's'; a difference",
        ),
        (
            {"j": changed(JUDGED, 7, aspect="n3")},
            0,
            "j:7: warning: queries whose nugget banks differ: 1, first 'q2'; nugget_recall",
        ),
        (
            {"j": jsonl([row for row in JUDGED if (row["query_id"], row["run_id"]) != ("q2", "s")])},
            0,
            "j:3: warning: systems judged on fewer queries: 1",
        ),
        (
            {"b": changed(ASSIGNED, 1, nuggets=[{"text": "n2", "assignment": "support"}])},
            0,
            "b:2: warning: answers with another nugget bank: 1",
        ),
        (
            {"b": changed(ASSIGNED, 1, nuggets=[{"text": "n1", "assignment": "failed"}])},
            0,
            "b:2: warning: queries with failed assignments: 1",
        ),
        (
            {"n": jsonl(NUGGETS), "m": jsonl(NUGGETS).replace('"n2"', '"n4"')},
            0,
            "m:1: warning: queries with other nuggets than 'n': 2",
        ),
        (
            {"run": RUN, "qrels": QRELS.replace("q2", "q3")},
            0,
            "run:3: warning: queries that are not in 'qrels': 1, first 'q2'; these",
        ),
        (
            {"run": RUN, "qrels": QRELS.replace("q2", "q3")},
            0,
            "qrels:3: warning: judged queries that 'run' lacks: 1, first 'q3'; each",
        ),
        (
            {"run": RUN, "qrels": QRELS.replace("q", "Q")},
            1,
            "run:1: error: none of its queries is in 'qrels', first 'q1'; 'q1' would be 'Q1'",
        ),
        (
            {"run": RUN, "qrels": QRELS.replace("d1", "e1")},
            0,
            "run:1: warning: queries with unjudged documents in the top 10 (50% of it): 2",
        ),
        (
            {"run": RUN, "topics": "q1\tfirst\n"},
            0,
            "run:3: warning: queries that are not in 'topics': 1, first 'q2'",
        ),
        (
            {"qrels": QRELS, "topics": "q1\tfirst\n"},
            0,
            "qrels:3: warning: queries that are not in 'topics': 1",
        ),
        (
            {"run": RUN, "c": jsonl([{"_id": "d1", "text": "t"}, {"_id": "d2", "text": "t"}])},
            0,
            "run:4: warning: documents that are not in 'c': 1, first 'd3'",
        ),
        (
            {"a": jsonl(ANSWERS), "c": jsonl([{"_id": "D1", "text": "t"}])},
            1,
            "a:1: error: none of its documents is in 'c', first 'd1'; 'd1' would be 'D1'",
        ),
        (
            {"qrels": QRELS, "n": jsonl(NUGGETS).replace('"n2"', '"n4"')},
            0,
            "qrels:2: warning: nuggets that 'n' does not have: 2, first 'n2'",
        ),
        (
            {"qrels": QRELS, "n": jsonl(NUGGETS).replace('"n2"', '"n4"')},
            0,
            "n:1: warning: nuggets without a judged document in 'qrels': 2",
        ),
    ],
)
def test_other_files_and_files_together(files: dict[str, str], code: int, finding: str) -> None:
    exit_code, lines = doctor(**files)
    assert exit_code == code, lines
    assert len([line for line in lines if line.startswith(finding)]) == 1, lines


def test_a_collection_that_was_edited() -> None:
    from rageval.building.collection import manifest_text

    Path("qrels.nugget").write_text(QRELS)
    Path("manifest.json").write_text(manifest_text(Path(), ["qrels.nugget"], [], {}, {}, {}))
    assert command("doctor", "manifest.json").out == "nothing suspicious in 1 file\n"
    Path("qrels.nugget").write_text(QRELS.replace("d3 1", "d3 0"))
    outcome = command("doctor", "manifest.json")
    assert outcome.code == 1
    assert outcome.out.startswith("manifest.json:1: error: qrels.nugget has changed since")


def test_many_bad_lines_are_counted() -> None:
    code, lines = doctor(run=RUN + "q1 Q0 d x t\n" * 25)
    assert code == 1
    assert lines[-1] == "11 errors and 0 warnings in 1 file"
    assert any("… and 15 more such lines" in line for line in lines)


def test_what_is_no_file_of_the_field_is_refused() -> None:
    Path("prose").write_text("Once upon a time there was a file of words.\n")
    assert_refused(command("doctor", "prose"), "prose:1: cannot tell what this is")
    assert_refused(command("doctor", "nowhere"), "nowhere: no such file")
    assert_refused(command("doctor"), "no file given")
    assert_refused(command("doctor", "prose", "--at", "0"), "expected whole numbers from 1")
    assert "run{n}:1: error" in doctor(**{"run{n}": "q Q0 d 1 x t\n"})[1][0]


LINE = st.one_of(
    st.sampled_from([*(RUN + QRELS + TOPICS + CORPUS).splitlines(), *map(json.dumps, [*NUGGETS, *ANSWERS])]),
    st.sampled_from([json.dumps(JUDGED[0]), json.dumps(ASSIGNED[0]), "{", "", "\t", "q1 Q0 d1 1 nan t"]),
    st.text(max_size=20),
)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.lists(LINE, min_size=1, max_size=4), min_size=1, max_size=3))
def test_whatever_the_files_hold_there_is_no_traceback(contents: list[list[str]]) -> None:
    names = []
    for index, lines in enumerate(contents):
        names.append(f"f{index}")
        Path(names[-1]).write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    outcome = command("doctor", *names)
    assert outcome.code in (0, 1, 2)
    assert not HOSTILE.search(outcome.out.replace("\n", "") + outcome.err.replace("\n", ""))


def drawn(rng: random.Random) -> tuple[str, str]:
    """A run and judgements, with ties, repetitions, contradictions, scattered queries and wrong lines."""
    run, qrels = [], []
    for query in range(rng.randint(1, 4)):
        score = 50
        for rank in range(1, rng.randint(2, 9)):
            score -= rng.choice([0, 1, 1, -2])
            doc = rng.choice([rank, rank, rng.randint(0, 9)])
            place = rng.choice([str(rank)] * 9 + ["x"])
            run.append(f"q{query} Q0 d{doc} {place} {score} {rng.choice('ttttttttu')}")
        for _ in range(rng.randint(1, 9)):
            nugget, doc, grade = rng.randint(0, 2), rng.randint(0, 9), rng.choice([-1, 0, 1, 1, 2])
            qrels.append(f"q{query} n{nugget} d{doc} {grade}")
    for lines in (run, qrels):
        if rng.random() < 0.3:
            rng.shuffle(lines)
        if rng.random() < 0.3:
            lines.insert(rng.randint(0, len(lines)), rng.choice(["", "x", "q0 Q0 d1 1 nan t", "# said"]))
    return "\n".join(run) + "\n", "\n".join(qrels) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("size", [40, 2**20])
def test_rows_read_together_and_one_by_one_give_the_same_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rageval.files.opening.chunks.__defaults__", (DEFAULT, size))
    Path("corpus").write_text('{"_id": "d1", "text": "of the first"}\n')
    rng = random.Random(5)
    for _ in range(50):
        for name, text in zip(("run", "qrels"), drawn(rng), strict=True):
            Path(name).write_text(text)
        findings = []
        for way in (LineForm.ordinary, lambda *_: None):
            with monkeypatch.context() as patch:
                patch.setattr(LineForm, "ordinary", way)
                lines = [*diagnose([("run", "run"), ("qrels", "qrels"), ("corpus", "corpus")], [1, 2, 5])]
                findings.append((lines, list(validate_run("run"))))
        assert findings[0] == findings[1]


@pytest.mark.parametrize(
    "more",
    [
        {"query_id": "q2 ", "label": "perfect"},
        {"label": "perfect", "grade": -1.0},
        {"label": "perfect", "status": "error"},
        {"label": "correct", "rubric": "crag"},
    ],
)
def test_judgements_that_scoring_refuses_are_errors(more: dict[str, object], tmp_path: Path) -> None:
    sound = [
        {"query_id": f"q{line}", "run_id": "r", "label": "incorrect", "rubric": "crag"} for line in (1, 3)
    ]
    path = tmp_path / "judged.jsonl"
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in [*sound, {**sound[0], "query_id": "q2", **more}])
    )
    assert command("score", str(path), "-m", "crag_score").code == 2
    result = command("doctor", str(path))
    assert (result.code, "nothing is scored" in result.out) == (1, True), result
