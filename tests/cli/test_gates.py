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


@pytest.mark.parametrize("gate", ["hallucination>=0.1", "hallucination>0.1", "crag_score<=0.5", "missing>0"])
def test_a_gate_that_stops_the_good_ones_is_refused(judged: str, gate: str) -> None:
    result = run_checked(judged, "--require", gate, code=2)
    assert gate.translate(str.maketrans("<>", "><")) in result.stderr


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


@pytest.mark.parametrize("gate", [["--fail-under", "v_strict=-1"], ["--require", "v_strict>=-1"]])
def test_a_gate_on_nothing_fails(tmp_path: Path, gate: list[str]) -> None:
    judged = write_jsonl(tmp_path / "judged.jsonl", vital_in_one_of_four()[1:])
    result = run_checked(judged, *gate, code=1)
    assert "has no defined value (over 0 of 3 queries), so 'v_strict>=-1' is not met" in result.stderr


def test_a_gate_is_not_passed_by_queries_that_the_run_lacks(runs: list[str], tmp_path: Path) -> None:
    """A query without documents has no unjudged ones: 0, the best there is."""
    (tmp_path / "half").write_text("".join(f"q{q} Q0 a 1 1 t\n" for q in range(2)))
    words = (str(tmp_path / "half"), runs[-1], "--require", "hole@1<=0.1")
    result = run_checked(*words, code=1)
    assert "but 2 of 4 queries are not in the run and count as 0" in result.stderr
    assert "(over 2 of 4 queries)" in run_checked(*words, "--intersection", code=0).stderr


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
