"""A week of the organizers of TREC RAG 2026, dry: from what teams hand in to a leaderboard with battles."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rageval.cli import main

TOPICS = [f"rag2026-{number}" for number in range(8)]
TEAMS = {f"team{number:02}": number / 11 for number in range(12)}  # and how good they are
BROKEN = "team11"
WORTH = {"2": Fraction(1), "1": Fraction(1, 2), "0": Fraction(0)}
Record = dict[str, Any]


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def submitted(team: str, number: int) -> list[Record]:
    records = []
    for place, topic in enumerate(TOPICS):
        metadata = {"team_id": team, "narrative_id": topic, "narrative": f"Narrative of {topic}"}
        sentences = [
            # Headings cite nothing, and say so.
            {"text": f"{team} says {part}.", "citations": [part % 3] if (part + number) % 3 else []}
            for part in range(1 + (place + number) % 4)  # answers of various lengths
        ]
        records.append(
            {
                "metadata": metadata | {"run_id": team, "run_desc": "made up", "generator": "none"},
                "references": [f"shard_00000_{10 * place + part}" for part in range(3)],
                "answer": sentences,
            }
        )
    return records


class Week:
    """What is handed in, and what the organizers' judges say of it, in the forms of their kit."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.rng = folder, random.Random(2026)
        self.submissions = {team: submitted(team, number) for number, team in enumerate(TEAMS)}
        self.submissions["team03"][2]["answer"][0]["citations"] = [0, 0]  # may be repeated
        self.submissions["team04"][1]["answer"] = []  # may be nothing
        self.submissions[BROKEN][-1]["references"] = []  # where citations lead nowhere
        self.support = [self.supported(record) for records in self.submissions.values() for record in records]
        self.graded = [self.criteria(record) for records in self.submissions.values() for record in records]
        self.battles = [
            self.battle(topic, pair)
            for pair in combinations(TEAMS, 2)
            for topic in self.rng.sample(TOPICS, 2)
        ]
        (folder / "runs").mkdir()
        for team, records in self.submissions.items():
            self.write(f"runs/{team}.jsonl", records)
        self.write("support.jsonl", self.support)
        self.write("graded.jsonl", self.graded)
        self.write("battles.jsonl", self.battles)
        (folder / "topics.tsv").write_text("".join(f"{topic}\tNarrative of {topic}\n" for topic in TOPICS))

    def write(self, name: str, records: list[Record]) -> None:
        (self.folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))

    def supported(self, record: Record) -> Record:
        metadata = record["metadata"]
        documents = [f"shard_00000_{part}" for part in range(3)]  # also where none is listed
        judged = [
            [
                {"reference": (record["references"] or documents)[place], "support": self.label(metadata)}
                for place in dict.fromkeys(sentence["citations"])
            ]
            for sentence in record["answer"]
        ]
        place = {"topic_id": metadata["narrative_id"], "run_id": metadata["run_id"]}
        return place | {"sentences": [{"citations": citations} for citations in judged]}

    def label(self, metadata: Record) -> str:
        return "2" if self.rng.random() < TEAMS[metadata["run_id"]] else self.rng.choice("01")

    def criteria(self, record: Record) -> Record:
        metadata = record["metadata"]
        criteria = [
            {"text": f"c{number}", "weight": weight, "tier": tier,
             "verdict": "satisfied" if self.label(metadata) == "2" else "not_satisfied"}
            for number, (weight, tier) in enumerate([(5, "mandatory"), (5, "mandatory"), (2, "optional")])
        ]  # fmt: skip
        place = {"qid": metadata["narrative_id"], "run_id": metadata["run_id"], "status": "completed"}
        return place | {"criteria": criteria}

    def battle(self, topic: str, pair: tuple[str, str]) -> Record:
        shown = self.rng.sample(pair, 2)
        lead = TEAMS[shown[0]] - TEAMS[shown[1]] + self.rng.gauss(0, 0.4)
        verdict = "A" if lead > 0.1 else "B" if lead < -0.1 else "Tie"
        return {
            "qid": topic, "pair": list(pair), "assistant_a_run_id": shown[0], "assistant_b_run_id": shown[1],
            "judge_verdict": verdict, "model": "judge", "status": "completed",
            "preferred_run_id": None if verdict == "Tie" else shown["AB".index(verdict)],
        }  # fmt: skip

    def win_rate(self, team: str) -> Fraction:
        """The mean over topics of the share of battles won, ties half, against runs that are valid."""
        of_topic: dict[str, list[Fraction]] = {}
        for battle in self.battles:
            if team in battle["pair"] and BROKEN not in battle["pair"]:
                won = {team: Fraction(1), None: Fraction(1, 2)}.get(battle["preferred_run_id"], Fraction(0))
                of_topic.setdefault(battle["qid"], []).append(won)
        means = [sum(won) / Fraction(len(won)) for won in of_topic.values()]
        return sum(means) / Fraction(len(means))

    def rubric_score(self, team: str) -> Fraction:
        rows = [row["criteria"] for row in self.graded if row["run_id"] == team]
        met = [sum(of["weight"] for of in row if of["verdict"] == "satisfied") for row in rows]
        return sum((Fraction(points, 12) for points in met), Fraction(0)) / len(rows)

    def citation_recall(self, team: str) -> Fraction:
        rows = [row["sentences"] for row in self.support if row["run_id"] == team and row["sentences"]]
        firsts = [[sentence["citations"][:1] for sentence in row] for row in rows]
        values = [sum((WORTH[one["support"]] for cited in row for one in cited), Fraction(0)) / len(row)
                  for row in firsts]  # fmt: skip
        return sum(values) / Fraction(len(values))


@pytest.mark.slow
def test_a_week_from_submissions_to_a_leaderboard_with_battles(tmp_path: Path) -> None:
    week = Week(tmp_path)
    runs, topics, out = (str(tmp_path / name) for name in ("runs", "topics.tsv", "out"))
    files = [str(path) for path in sorted((tmp_path / "runs").iterdir())]
    checked = run("validate", *files, "--track", "rag26", "--topics", topics)
    assert checked.exit_code == 1
    assert "11 of 12 files have no errors" in checked.stdout
    assert "answer[0] cites 'shard_00000_20' more than once" in checked.stdout

    judged = [f"--judgements={tmp_path / name}.jsonl" for name in ("support", "graded", "battles")]
    measures = ("win_rate", "rubric_score", "citation_recall")
    words = ("track", runs, "--track", "rag26", "--topics", topics, *judged, "-o", out)
    ranked = run(*words, "-m", ",".join(measures))
    assert ranked.exit_code == 0, ranked.output
    assert "8 lines of" in ranked.stderr
    assert "22 lines of" in ranked.stderr  # battles with the run that is not valid
    lines = (tmp_path / "out/leaderboard.jsonl").read_text().splitlines()
    values = {(row["measure"], row["run"]): row["value"] for row in map(json.loads, lines)}
    valid = [team for team in TEAMS if team != BROKEN]
    assert values == {
        (name, team): pytest.approx(float(getattr(week, name)(team))) for name in measures for team in valid
    }
    assert values["rubric_score", "team10"] > values["rubric_score", "team00"]

    standings = run("arena", str(tmp_path / "battles.jsonl"), "--format", "json")
    assert standings.exit_code == 0
    assert {row["system"] for row in json.loads(standings.stdout)} == {*TEAMS}
    verified = run("board", "verify", str(tmp_path / "out/board.tar.gz"))
    assert verified.exit_code == 0, verified.output
