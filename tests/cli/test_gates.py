"""Gates on the command line: which runs pass, what is said of them, and which gates are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import run_checked, write_jsonl

# Of four questions `bad` has one hallucination, one answer is missing; `good` has neither.
LABELS = {"good": ["perfect"] * 4, "bad": ["perfect", "perfect", "missing", "incorrect"]}


@pytest.fixture(name="judged")
def judged_(tmp_path: Path) -> str:
    return write_jsonl(
        tmp_path / "judged.jsonl",
        [
            {"query_id": f"q{index}", "run_id": run, "label": label}
            for run, labels in LABELS.items()
            for index, label in enumerate(labels)
        ],
    )


@pytest.fixture(name="runs")
def runs_(tmp_path: Path) -> list[str]:
    """Of `full` everything in the top two is judged, of `holey` half."""
    for name, docs in {"full": "ab", "holey": "ax"}.items():
        lines = [
            f"q{q} Q0 {doc} {index} {9 - index} {name}\n" for q in range(4) for index, doc in enumerate(docs)
        ]
        (tmp_path / name).write_text("".join(lines))
    (tmp_path / "qrels").write_text("".join(f"q{q} 0 {doc} 1\n" for q in range(4) for doc in "ab"))
    return [str(tmp_path / name) for name in ("full", "holey", "qrels")]


@pytest.mark.parametrize("name", ["hallucination", "missing", "crag_share(label=incorrect)"])
def test_at_least_is_refused_where_low_is_good(judged: str, name: str) -> None:
    result = run_checked(judged, "--fail-under", f"{name}=0.1", code=2)
    assert f"use --require '{name}<=0.1'" in result.stderr
    assert result.stdout == ""


def test_at_most_is_a_gate_of_runs(runs: list[str]) -> None:
    result = run_checked(*runs, "--require", "hole@2<=0.4", code=1)
    assert result.stderr.splitlines()[-1] == "rageval: holey: hole@2 is 0.5000, above 0.4"
    run_checked(*runs, "--require", "hole@2<=0.5", code=0)
    assert "use --require 'hole@2<=0.4'" in run_checked(*runs, "--fail-under", "hole@2=0.4", code=2).stderr


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("hole@2<=0.5", 0),
        ("hole@2<0.5", 1),
        ("hole@2 <= 0.5", 0),
        ("recall@2>=0.5", 0),
        ("recall@2>0.5", 1),
        ("recall@2>=.5,hole@2<=.5", 0),
        ("recall@2>=.5, hole@2<.5", 1),
        ("recall(over=topics,rel=1)@2>=0.1,rr>0.1", 0),
    ],
)
def test_a_gate_has_four_signs_and_a_text_several_gates(runs: list[str], gate: str, code: int) -> None:
    run_checked(*runs, "--require", gate, code=code)


def test_gates_of_both_kinds_must_all_be_passed(runs: list[str]) -> None:
    result = run_checked(*runs, "--fail-under", "recall@2=0.9", "--require", "hole@2<0.1", code=1)
    assert [line.partition("holey: ")[2] for line in result.stderr.splitlines()[-2:]] == [
        "hole@2 is 0.5000, not below 0.1",
        "recall@2 is 0.5000, below 0.9",
    ]


@pytest.mark.parametrize("gate", ["hallucination>=0.1", "hallucination>0.1", "crag_score<=0.5", "missing>0"])
def test_a_gate_that_stops_the_good_ones_is_refused(judged: str, gate: str) -> None:
    result = run_checked(judged, "--require", gate, code=2)
    assert gate.translate(str.maketrans("<>", "><")) in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--require", "missing>=0.1,missing<=0.3"],
        ["--require", "missing<=0.3", "--require", "missing>=0.1"],
        ["--fail-under", "crag_score=0.1", "--require", "crag_score<=0.9"],
    ],
)
def test_a_limit_on_the_other_side_counts_beside_one_on_the_right_side(judged: str, words: list[str]) -> None:
    result = run_checked(judged, *words, code=1)  # good is outside the range
    _, whose = result.stderr.splitlines()
    assert whose.startswith("rageval: by ")
    assert "good: " in result.stderr


@pytest.mark.parametrize("words", [["--fail-under", "length=1"], ["--require", "length<=9,length>0"]])
def test_where_neither_way_is_good_both_may_be_asked_for(tmp_path: Path, words: list[str]) -> None:
    answers = write_jsonl(
        tmp_path / "answers.jsonl", [{"query_id": "q", "run_id": "r", "answer": "It is safe."}]
    )
    judged = write_jsonl(tmp_path / "judged.jsonl", [{"query_id": "q", "run_id": "r", "label": "perfect"}])
    run_checked(judged, "--answers", answers, *words, code=0)


def vital_in_one_of_four() -> list[dict[str, object]]:
    return [
        {
            "query_id": f"q{number}",
            "run_id": "r",
            "aspect": "n",
            "importance": "vital" if number == 0 else "okay",
            "label": "support",
        }
        for number in range(4)
    ]


def test_a_gate_says_on_how_many_queries_a_value_rests(tmp_path: Path) -> None:
    judged = write_jsonl(tmp_path / "judged.jsonl", vital_in_one_of_four())
    result = run_checked(judged, "--fail-under", "v_strict=0.5", code=0)
    assert "meets 'v_strict>=0.5' (over 1 of 4 queries)" in result.stderr
    result = run_checked(judged, "--require", "v_strict>1", code=1)
    assert "is 1.0000, not above 1 (over 1 of 4 queries)" in result.stderr
    whose = (
        "rageval: by an unnamed judge: a_strict>=0.5 (this ignores judge errors; pass human labels with"
        " --gold to account for them)"
        "\n"
    )
    assert run_checked(judged, "--fail-under", "a_strict=0.5", code=0).stderr == whose


@pytest.mark.parametrize("gate", [["--fail-under", "v_strict=-1"], ["--require", "v_strict>=-1"]])
def test_a_gate_on_nothing_fails(tmp_path: Path, gate: list[str]) -> None:
    judged = write_jsonl(tmp_path / "judged.jsonl", vital_in_one_of_four()[1:])
    result = run_checked(judged, *gate, code=1)
    assert "has no defined value (over 0 of 3 queries), so 'v_strict>=-1' is not met" in result.stderr


def test_a_gate_on_runs_says_that_queries_were_left_out(runs: list[str], tmp_path: Path) -> None:
    (tmp_path / "half").write_text("".join(f"q{q} Q0 a 1 1 t\n" for q in range(2)))
    result = run_checked(
        str(tmp_path / "half"), runs[-1], "--intersection", "--require", "recall@2>=0.5", code=0
    )
    assert "which meets 'recall@2>=0.5' (over 2 of 4 queries)" in result.stderr


def test_a_gate_is_not_passed_by_queries_that_the_run_lacks(runs: list[str], tmp_path: Path) -> None:
    """A query without documents has no unjudged ones: 0, the best there is."""
    (tmp_path / "half").write_text("".join(f"q{q} Q0 a 1 1 t\n" for q in range(2)))
    words = (str(tmp_path / "half"), runs[-1], "--require", "hole@1<=0.1")
    result = run_checked(*words, code=1)
    assert "but 2 of 4 queries are not in the run and count as 0" in result.stderr
    assert "(over 2 of 4 queries)" in run_checked(*words, "--intersection", code=0).stderr


def test_what_is_printed_never_contradicts_the_gate(tmp_path: Path) -> None:
    """A mean of 0.33333… is not "0.3333, below 0.3333…"; four places would say that it passes."""
    rows = [
        {"query_id": str(index), "run_id": "r", "label": label} for index, label in enumerate(["perfect"] * 2)
    ]
    rows.append({"query_id": "2", "run_id": "r", "label": "incorrect"})
    judged = write_jsonl(tmp_path / "judged.jsonl", rows)
    result = run_checked(judged, "--require", "accuracy>=0.6667", code=1)
    assert "is 0.6666666666666666, below 0.6667" in result.stderr


@pytest.mark.parametrize(
    "gate",
    [
        *["hallucination", "hallucination=0.1", "hallucination==0.1", "hallucination=<0.1", "<=0.1"],
        *["hallucination<=", "hallucination<=x", "hallucination<=nan", "hallucination<=inf"],
        *["hallucination<=0,1", "accuracy,hallucination<=0.1", "halucination<=0.1", "0.1<=accuracy<=0.5", ""],
    ],
)
def test_what_is_no_gate_is_refused(judged: str, gate: str) -> None:
    result = run_checked(judged, "--require", gate, code=2)
    assert result.stderr.startswith("rageval: ")
    assert result.stdout == ""


@pytest.mark.parametrize("gate", ["accuracy>=0.1", "accuracy<0.1", "accuracy=inf", "=0.1"])
def test_at_least_takes_no_other_sign(judged: str, gate: str) -> None:
    assert "expected MEASURE=VALUE" in run_checked(judged, "--fail-under", gate, code=2).stderr
