"""No command prints a sampling interval of width 0, whatever legal data it is given.

Exempt is what is no estimate: two runs that rank the same documents in the same order, or a population of
which every member was observed; the output then says which.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import run_command, write_jsonl
from every_command import leaves

Worlds = dict[str, list[float]]
NUMBER = 24
# Each world: the share of what is right in each query of two systems.
WORLDS: Worlds = {
    "all right": [1.0] * NUMBER,
    "all wrong but one": [1.0] + [0.0] * (NUMBER - 1),
    "all alike": [0.5] * NUMBER,
    "one query": [1.0],
    "two queries": [1.0, 0.5],
    "eight queries": [1.0] * 8,
}
# Commands that print JSON and no interval.
WITHOUT = {"board verify", "datasets export", "doctor", "reproduce", "validate"}


def with_json() -> set[str]:
    """The commands that print JSON if they are asked to."""
    return {
        name
        for name, command in leaves().items()
        for option in command.params
        if "--format" in option.opts and {"json", "jsonl"} & set(getattr(option.type, "choices", ()))
    }


def runs(folder: Path, shares: list[float]) -> tuple[str, ...]:
    """Two runs and judgements: recall of the first is the share, of the second half of it."""
    (folder / "qrels").write_text(
        "".join(f"q{index:02d} 0 d{doc} 1\n" for index in range(len(shares)) for doc in range(4))
    )
    for name, part in (("one", 1.0), ("other", 0.5)):
        (folder / f"{name}.trec").write_text(
            "".join(
                f"q{index:02d} Q0 {'d' if doc < 4 * share * part else 'x'}{doc} {doc + 1} {9 - doc} {name}\n"
                for index, share in enumerate(shares)
                for doc in range(4)
            )
        )
    return str(folder / "one.trec"), str(folder / "other.trec"), str(folder / "qrels")


def answers(folder: Path, shares: list[float], name: str, better: int = 0) -> str:
    """Judged answers of two systems; the second is a grade worse where it can be."""
    labels = ["perfect", "acceptable", "missing", "incorrect"]
    rows = [
        {"query_id": f"q{index:02d}", "run_id": run, "label": label, "rubric": "crag", "judge": name}
        for index, share in enumerate(shares)
        for run, worse in (("one", 0), ("other", 1))
        for label in [labels[min(round(2 * (1 - share)) + worse + better, 3)]]
    ]
    return write_jsonl(folder / f"{name}.jsonl", rows)


def pairs(folder: Path, shares: list[float], name: str) -> str:
    """Games of two systems: each wins in one of two orders."""
    rows = [
        {
            "query_id": f"q{index:02d}",
            "run_id": run,
            "aspect": "|".join(order),
            "label": "win" if run == order[index % 2] else "loss",
            "judge": name,
        }
        for index in range(len(shares))
        for order in (("one", "other"), ("other", "one"))
        for run in order
    ]
    return write_jsonl(folder / f"{name}.jsonl", rows)


def leaderboards(folder: Path, shares: list[float], lead: float, name: str) -> str:
    path = folder / name
    rows = [
        {"run_id": run, "topic_id": f"q{index:02d}", "measure": "m", "value": share + lead * number}
        for number, run in enumerate(("a", "b", "c"))
        for index, share in enumerate(shares)
    ]
    rows += [
        {
            "run_id": run,
            "topic_id": "all",
            "measure": "m",
            "value": math.fsum(shares) / len(shares) + lead * number,
        }
        for number, run in enumerate(("a", "b", "c"))
    ]
    return write_jsonl(path, rows)


def diagnosed(folder: Path, shares: list[float]) -> tuple[str, ...]:
    """Answers that use every nugget of what was retrieved, or none."""
    qrels, run, judged = [], [], []
    for index, share in enumerate(shares):
        for nugget in range(4):
            qrels.append(f"q{index:02d} n{nugget} d{nugget} 1\n")
            label = "support" if share == 1 else "not_support"
            row = {"query_id": f"q{index:02d}", "run_id": "one", "aspect": f"n{nugget}", "label": label}
            judged.append({**row, "rubric": "nugget-assignment"})
        run += [f"q{index:02d} Q0 d{doc} {doc + 1} {9 - doc} one\n" for doc in range(4)]
    (folder / "nuggets.qrels").write_text("".join(qrels))
    (folder / "one.trec").write_text("".join(run))
    return (
        write_jsonl(folder / "nuggets.jsonl", judged),
        *("--run", str(folder / "one.trec"), "--qrels", str(folder / "nuggets.qrels")),
    )


def words(name: str, folder: Path, shares: list[float]) -> Iterator[list[str]]:
    """How a command is called on such data, in each of its ways to print intervals."""
    if name == "score":
        rows = [{"id": f"q{index:02d}", "text": "?", "kind": "k"} for index in range(len(shares))]
        questions = write_jsonl(folder / "questions.jsonl", rows)
        judged, people = answers(folder, shares, "gpt"), answers(folder, shares, "people", 1)
        yield ["score", judged, "-m", "crag_score", "--by", "kind", "--questions", questions]
        yield [
            "score", judged, "-m", "crag_score", "--by", "kind", "--questions", questions, "--gold", people,
            "--gold-chosen", "uniform",
        ]  # fmt: skip
    elif name in ("compare", "report"):
        to = ["-o", str(folder / "page.html")] if name == "report" else []
        for more in ([], ["--all-pairs"], ["--test", "t"]) if name == "compare" else ([],):
            yield [name, *runs(folder, shares), "-m", "recall@4,rr,p@4", *more, *to]
        judged, people = answers(folder, shares, "gpt"), answers(folder, shares, "people", 1)
        yield [name, judged, "-m", "crag_score,hallucination", *to]
        yield [name, judged, "-m", "crag_score", "--gold", people, "--gold-chosen", "uniform", *to]
    elif name == "arena":
        judged, people = pairs(folder, shares, "gpt"), pairs(folder, shares, "people")
        yield ["arena", judged]
        yield ["arena", judged, "--gold", people, "--gold-chosen", "uniform"]
    elif name == "label agree":
        judged, people = answers(folder, shares, "gpt"), answers(folder, shares, "people")
        yield ["label", "agree", judged, people]
        yield [
            "label", "agree", "--leaderboards", leaderboards(folder, shares, 0.1, "truth.jsonl"),
            leaderboards(folder, shares, 0.2, "judge.jsonl"),
        ]  # fmt: skip
    elif name == "label correct":
        judged, people = answers(folder, shares, "gpt"), answers(folder, shares, "people", 1)
        yield ["label", "correct", judged, "--gold", people, "-m", "crag_score"]
    elif name == "diagnose":
        yield ["diagnose", *diagnosed(folder, shares)]
    else:
        raise AssertionError(f"{name} prints JSON, and this law does not know how to call it")


def intervals(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every record of a JSON text that holds an interval."""
    if isinstance(node, dict):
        for low in node:
            high = low.replace("low", "high")
            if low != high and high in node and "rank" not in low:
                yield ".".join((*path, low)), {**node, "low": node[low], "high": node[high]}
        for name, value in node.items():
            yield from intervals(value, (*path, str(name)))
    elif isinstance(node, list):
        for value in node:
            yield from intervals(value, path)


def printed(text: str) -> Any:
    return [json.loads(line) for line in text.splitlines()] if text.startswith('{"') else json.loads(text)


@pytest.mark.slow
@pytest.mark.some(11)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", sorted(with_json() - WITHOUT))
def test_no_interval_is_a_point(name: str, world: str, tmp_path: Path) -> None:
    called = 0
    for given in words(name, tmp_path, WORLDS[world]):
        result = run_command(*given, *([] if name == "report" else ["--format", "json"]))
        if name == "report" and result.exit_code == 0:  # its numbers are in the page
            result = run_command("report", "show", given[-1], "--format", "json")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        if result.exit_code == 2:  # such data are refused
            assert len(WORLDS[world]) < NUMBER, result.output
            continue
        called += 1
        for where, interval in intervals(printed(result.stdout)):
            is_same = interval.get("verdict") == "identical" and interval.get("reasons")
            if interval["low"] is not None and not is_same:
                assert interval["high"] - interval["low"] > 1e-9, (given, where, interval)
            # NaN is no JSON, and no interval of one end.
            assert (interval["low"] is None) == (interval["high"] is None)
    assert called or len(WORLDS[world]) < NUMBER


def test_what_is_known_by_every_member_says_so(tmp_path: Path) -> None:
    """Of this very set, with a label for every query, nothing is uncertain; the output says that."""
    shares = [1.0, 0.5] * 12
    judged, people = answers(tmp_path, shares, "gpt"), answers(tmp_path, shares, "people", 1)
    rest = ("-m", "crag_score", "--population", "set", "--gold-chosen", "uniform", "--format", "json")
    result = run_command("compare", judged, "--gold", people, *rest)
    output = json.loads(result.stdout)
    assert any(pair["low"] == pair["high"] for pair in output["pairs"] + output["values"])
    assert any("cover every query of this set" in remark["text"] for remark in output["remarks"])


def test_bounds_have_other_names(tmp_path: Path) -> None:
    """What lies between bounds is no draw: its ends are called `least` and `most`."""
    result = run_command("diagnose", *diagnosed(tmp_path, [1.0] * NUMBER), "--format", "json")
    output = json.loads(result.stdout)
    assert all(set(share) == {"value", "least", "most"} for share in output["shares"].values())
    assert all(gain is None or gain["low"] < gain["high"] for gain in output["what_if"].values())


def test_a_judge_who_always_says_the_same_has_no_interval_of_kappa(tmp_path: Path) -> None:
    judged, people = answers(tmp_path, [1.0] * NUMBER, "gpt"), answers(tmp_path, [1.0, 0.5] * 12, "people")
    rows = [json.loads(line) for line in (tmp_path / "gpt.jsonl").read_text().splitlines()]
    judged = write_jsonl(tmp_path / "gpt.jsonl", [{**row, "label": "perfect"} for row in rows])
    result = run_command("label", "agree", judged, people, "--format", "json")
    found_intervals = list(intervals(json.loads(result.stdout)))
    assert found_intervals
    assert all(
        interval["low"] is None or interval["high"] - interval["low"] > 1e-9
        for _, interval in found_intervals
    ), found_intervals
    text_result = run_command("label", "agree", judged, people)
    assert text_result.exit_code == 0
    assert "[0.000, 0.000]" not in text_result.stdout


def test_a_judge_who_gives_back_the_order_shown_has_no_interval(tmp_path: Path) -> None:
    orders = ("abc", "bca", "cab")
    rows = [
        {"query_id": f"q{number}", "run_id": run, "grade": place, "aspect": shown, "rubric": "listwise",
         "shown": list(shown)}
        for number in range(NUMBER) for shown in orders for place, run in enumerate(shown, 1)
    ]  # fmt: skip
    result = run_command("arena", write_jsonl(tmp_path / "l.jsonl", rows))
    assert result.exit_code == 0
    assert "[1.00, 1.00]" not in result.stderr
    assert "1.00 places ahead" in result.stderr
