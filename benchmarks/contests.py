"""Made-up contests of equal systems, taken to every command of the program that people's labels go through.

A contest is a folder of files: what a judge said, who favours the first system, and what people said of some
queries. Nothing separates the systems, so whatever a command claims is false; of a mean the truth is known.
`asked` takes a contest to a command, with labels or without. Without, claims name the judge,
but for rankings: judgements of documents do not say whose they are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from click.testing import CliRunner

from rageval.cli import main
from worlds import NORMAL, worth

PEOPLE, JUDGE = "people", "judge:openai:m"  # what claims rest on, as JSON has it

Generator = np.random.Generator
Row = dict[str, Any]
QUERIES, LABELLED = 120, 40
LABELS = {1.0: "perfect", 0.5: "acceptable", 0.0: "missing", -1.0: "incorrect"}
RANKINGS = "p@5"  # the measure of rankings
CLAIMS = ("higher", "lower", "better", "worse")


class Contest(NamedTuple):
    """Words that name its files and measure, those that add the labels, and every system's true mean."""

    files: list[str]
    gold: list[str]
    measure: str
    truth: float
    more: tuple[str, ...] = ()


class Asked(NamedTuple):
    """Of so many intervals (or families of pairs) so many were wrong, and so many refused.

    `is_said`: each claim said what it rests on.
    """

    wrong: int
    of: int
    is_said: bool
    refused: int = 0


def _written(folder: Path, name: str, rows: Iterable[Row]) -> str:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder / name)


def _contest(
    folder: Path, judged: list[Row], people: list[Row], labeled: set[int], measure: str, truth: float,
    more: Iterable[str] = (),
) -> Contest:  # fmt: skip
    some = [{**row, "judge": "person:a"} for row in people if int(row["query_id"][1:]) in labeled]
    files = [_written(folder, "judged.jsonl", ({**row, "judge": "openai:m"} for row in judged))]
    # They are drawn so; who does not say it is refused once in a hundred times.
    gold = ["--gold", _written(folder, "people.jsonl", some), "--gold-chosen", "uniform"]
    return Contest(files, gold, measure, truth, tuple(more))


def _drawn(rng: Generator, number: int = LABELLED) -> set[int]:
    return set(rng.choice(QUERIES, number, replace=False).tolist())


def _labels(values: Iterable[Iterable[float]]) -> list[Row]:
    return [
        {"query_id": f"q{query:03d}", "run_id": "abcdef"[run], "rubric": "crag", "label": LABELS[value],
         "page": f"p{query // 4}", "domain": "xy"[query % 2]}
        for run, column in enumerate(values) for query, value in enumerate(column)
    ]  # fmt: skip


def _mean_of_crag() -> float:
    cuts = [NORMAL.cdf(cut) for cut in (-0.6744897501960817, -0.2533471031357997, 0.12566134685507402)]
    return -cuts[0] + 0.5 * (cuts[2] - cuts[1]) + 1 - cuts[2]


def labels(
    folder: Path, rng: Generator, runs: int = 2, clusters: bool = False, chosen: bool = False
) -> Contest:
    """CRAG's four labels, of two or more systems; on pages whose queries are alike; drawn by the judge's."""
    z = rng.normal(size=QUERIES)
    if clusters:
        z = np.repeat(rng.normal(size=QUERIES // 4), 4) * 0.8 + 0.6 * z
    level = [(z + rng.normal(size=QUERIES)) / math.sqrt(2) for _ in range(runs)]
    seen = [
        chance_of_run + 0.6 * rng.normal(size=QUERIES) + 0.6 * (run == 0)
        for run, chance_of_run in enumerate(level)
    ]
    judged = [worth(chance_of_run).tolist() for chance_of_run in seen]
    some = _drawn(rng)
    more = ["--cluster", "page"] if clusters else []
    if chosen:
        chance = np.where(np.array(judged[0]) > np.array(judged[1]), 0.6, 0.25)
        some = set(np.flatnonzero(rng.random(QUERIES) < chance).tolist())
        lines = "".join(
            f"q{query:03d} {chance_of_run}\n" for query, chance_of_run in enumerate(chance.tolist())
        )
        (folder / "chances").write_text(lines)
    people = [worth(chance_of_run).tolist() for chance_of_run in level]
    paths = _contest(folder, _labels(judged), _labels(people), some, "crag_score", _mean_of_crag(), more)
    return (
        paths._replace(gold=[*paths.gold[:2], "--gold-chosen", str(folder / "chances")]) if chosen else paths
    )


def rare(folder: Path, rng: Generator) -> Contest:
    """Nearly always right, and hardly ever different."""
    first = rng.random(QUERIES) < 0.96
    second = np.where(rng.random(QUERIES) < 0.9, first, rng.random(QUERIES) < 0.96)
    people = [np.where(table, 1.0, -1.0).tolist() for table in (first, second)]
    judged = [np.where(rng.random(QUERIES) < 0.05, 1.0, np.array(people[0])).tolist(), people[1]]
    return _contest(folder, _labels(judged), _labels(people), _drawn(rng), "hallucination", 0.04)


def nuggets(folder: Path, rng: Generator) -> Contest:
    """The share of four nuggets."""
    p = rng.beta(2, 2, QUERIES)
    judged, people = [], []
    for run in "ab":
        truth = rng.random((QUERIES, 4)) < p[:, None]
        labels_of_judge = rng.random((QUERIES, 4)) < np.where(truth, 0.95, 0.35 if run == "a" else 0.1)
        for rows, values in ((people, truth), (judged, labels_of_judge)):
            rows += [
                {"query_id": f"q{query:03d}", "run_id": run, "domain": "xy"[query % 2],
                 "rubric": "nugget-assignment", "aspect": f"n{nugget}", "importance": "vital",
                 "label": "support" if values[query, nugget] else "not_support"}
                for query in range(QUERIES) for nugget in range(4)
            ]  # fmt: skip
    return _contest(folder, judged, people, _drawn(rng), "v_strict", 0.5)


def runs(folder: Path, rng: Generator) -> Contest:
    """Rankings of ten documents each, judged by a model and by people."""
    judged, people, ranked = [], [], {"a": [], "b": []}
    some = _drawn(rng)
    for query in range(QUERIES):
        p = rng.beta(2, 2)
        for run in "ab":
            for rank in range(5):
                name, is_good = f"{run}{rank}", rng.random() < p
                seems = rng.random() < (0.95 if is_good else 0.4 if run == "a" else 0.1)
                ranked[run].append(f"q{query:03d} Q0 {name} {rank + 1} {5 - rank} {run}\n")
                judged.append(f"q{query:03d} 0 {name} {int(seems)}\n")
                if query in some:
                    people.append(f"q{query:03d} 0 {name} {int(is_good)}\n")
    for name, lines in (
        ("a.trec", ranked["a"]),
        ("b.trec", ranked["b"]),
        ("model", judged),
        ("people", people),
    ):
        (folder / name).write_text("".join(lines))
    files = [str(folder / name) for name in ("a.trec", "b.trec", "model")]
    return Contest(files, ["--gold", str(folder / "people"), "--gold-chosen", "uniform"], RANKINGS, 0.5)


def battles(folder: Path, rng: Generator) -> Contest:
    """Three systems, each against each, a third of the games ties."""
    judged, people = [], []
    for one, other in ("ab", "ac", "bc"):
        truth = rng.choice([0.0, 0.5, 1.0], QUERIES)
        seen = np.where(rng.random(QUERIES) < 0.8, truth, 1.0 if one == "a" else 0.5)
        for rows, values in ((people, truth), (judged, seen)):
            for query, value in enumerate(values.tolist()):
                for run, got in ((one, value), (other, 1 - value)):
                    label = {1.0: "win", 0.5: "tie", 0.0: "loss"}[got]
                    rows.append({"query_id": f"q{query:03d}", "run_id": run, "rubric": "pairwise",
                                 "aspect": f"{one}-{other}", "label": label})  # fmt: skip
    return _contest(folder, judged, people, _drawn(rng), "", 0.0)


Maker = Callable[[Path, Generator], Contest]
CONTESTS: dict[str, Maker] = {
    "labels": labels,
    "labels of 5": lambda folder, rng: labels(folder, rng, 5),
    "labels on pages": lambda folder, rng: labels(folder, rng, clusters=True),
    "labels by chances": lambda folder, rng: labels(folder, rng, chosen=True),
    "rare": rare,
    "nuggets": nuggets,
    "runs": runs,
    "battles": battles,
}


def command(*words: str) -> str:
    result = CliRunner().invoke(main, list(words))
    if result.exit_code:
        raise RuntimeError(f"{' '.join(words)}: {result.stderr}")
    return result.stdout


def _of_pairs(pairs: list[Row], with_gold: bool) -> Asked:
    """Whether anything is claimed of a pair, and whether it says what it rests on."""
    claimed = [pair for pair in pairs if pair["verdict"].split()[0] in CLAIMS]
    basis = PEOPLE if with_gold else JUDGE
    is_said = all(
        pair["basis"] == basis and (with_gold or pair["verdict"].endswith(" by openai:m"))
        for pair in claimed
        if with_gold or pair["measure"] != RANKINGS
    )
    named = [pair for pair in pairs if pair["better_run"] and pair not in claimed]
    refused = sum(pair["verdict"] == "refused" for pair in pairs)
    return Asked(int(bool(claimed)), 1, is_said and not named, refused)


def _of_ends(rows: list[Row], truth: float, basis: str) -> Asked:
    with_interval = [row for row in rows if row["low"] is not None]
    wrong = sum(not row["low"] <= truth <= row["high"] for row in with_interval)
    is_said = all(row.get("basis", basis) == basis for row in rows)
    return Asked(wrong, len(with_interval), is_said, len(rows) - len(with_interval))


def compare(contest: Contest, with_gold: bool) -> Asked:
    gold = contest.gold if with_gold else []
    words = [*contest.files, *gold, "-m", contest.measure, *contest.more, "--format", "json"]
    return _of_pairs(json.loads(command("compare", *words))["pairs"], with_gold)


def report(contest: Contest, with_gold: bool) -> Asked:
    gold = contest.gold if with_gold else []
    page = str(Path(contest.files[0]).with_name("report.html"))
    command("report", *contest.files, *gold, "-m", contest.measure, *contest.more, "-o", page)
    return _of_pairs(
        json.loads(command("report", "show", page, "--format", "json"))["comparison"]["pairs"], with_gold
    )


def score(contest: Contest, with_gold: bool) -> Asked:
    gold = contest.gold if with_gold else []
    words = [*contest.files, *gold, "-m", contest.measure, "--by", "domain", "--format", "json"]
    slices = [slice_ for row in json.loads(command("score", *words))["results"] for slice_ in row["slices"]]
    return _of_ends(slices, contest.truth, PEOPLE if with_gold else JUDGE)


def correct(contest: Contest, with_gold: bool) -> Asked:
    if not with_gold:
        return Asked(0, 0, True)  # there is no such command
    words = [*contest.files, *contest.gold, "-m", contest.measure, "--format", "json"]
    rows = json.loads(command("label", "correct", *words))["results"]
    return _of_ends(rows, contest.truth, PEOPLE)


def arena(contest: Contest, with_gold: bool) -> Asked:
    gold = contest.gold if with_gold else []
    rows = json.loads(command("arena", *contest.files, *gold, "--format", "json"))
    return _of_ends(rows, 0.0, PEOPLE if with_gold else JUDGE)


Command = Callable[[Contest, bool], Asked]
_ANSWERS: dict[str, Command] = {
    "compare": compare,
    "report": report,
    "score --by": score,
    "label correct": correct,
}
COMMANDS: dict[str, dict[str, Command]] = {
    "labels": _ANSWERS,
    "labels of 5": {"compare": compare, "report": report, "label correct": correct},
    "labels on pages": {"compare": compare, "report": report},
    "labels by chances": {"compare": compare, "report": report, "label correct": correct},
    "rare": _ANSWERS,
    "nuggets": _ANSWERS,
    "runs": {"compare": compare, "report": report},
    "battles": {"arena": arena},
}


def asked(folder: Path, kind: str, command: str, seed: int, with_gold: bool) -> Asked:
    """One contest at one command."""
    rng = np.random.default_rng([list(CONTESTS).index(kind), seed])
    return COMMANDS[kind][command](CONTESTS[kind](folder, rng), with_gold)
