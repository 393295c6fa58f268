"""TREC RAG: validate answers, assign nuggets, judge citations, compare systems, and run an arena.

The systems are the sample, and the first and the last sentence of each of its answers.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from data.rule_judge import rule_judge

import rageval
from rageval.checking import validate
from rageval.comparison.arena import games, strengths
from rageval.files.answers import read_answers, write_answers
from rageval.judges import Settings, gathered, judged_by, rubric_named

DATA = Path(__file__).parent / "data" / "answers"
NUGGETS = ("nugget-assignment", "v_strict, a_strict, w")
CITATIONS = ("citation-support", "citation_precision, citation_recall")


def main() -> None:
    findings = validate(DATA / "rag24.jsonl", "rag24")
    for finding in findings:
        print(f"rag24.jsonl:{finding.line}: {finding.level}: {finding.message}")
    print(f"rag24.jsonl: {findings.summary}\n")

    whole = [answer._replace(run_id="whole") for answer in read_answers(DATA / "rag24.jsonl")]
    first = [answer._replace(run_id="first", sentences=answer.sentences[:1]) for answer in whole]
    last = [answer._replace(run_id="last", sentences=answer.sentences[-1:]) for answer in whole]
    material = gathered(
        [DATA / "rag24.jsonl"], nuggets=DATA / "nuggets.jsonl", passages=DATA / "segments.jsonl"
    )
    material = replace(material, answers=[*whole, *first, *last])
    with TemporaryDirectory() as folder:
        settings = Settings(store=f"{folder}/store.sqlite")
        answers = [json.loads(line) for line in write_answers(material.answers, "plain")]
        table: dict[str, dict[str, float]] = {}
        for rubric, measures in (NUGGETS, CITATIONS):
            judged = list(judged_by([rule_judge()], rubric_named(rubric), material, settings))
            for run, scores in rageval.evaluate_answers(measures, judged, answers=answers).items():
                values = {str(score.measure): score.value for score in scores.values()}
                table.setdefault(run, {}).update(values)
        duels = list(judged_by([rule_judge()], rubric_named("pairwise"), material, settings))

    names = ("v_strict", "a_strict", "w", "cited: precision", "recall")
    print(f"{'':<8}" + "".join(f"{name:>18}" for name in names))
    for run, row in table.items():
        print(f"{run:<8}" + "".join(f"{value:>18.3f}" for value in row.values()))

    played = games(rageval.read_judgements(duels))
    print(f"\nThe arena: {len(played)} games, each pair in both orders")
    for system in strengths(played):  # log odds, by Bradley and Terry, with ties
        interval = f"[{system.low:.2f}, {system.high:.2f}]" if system.low == system.low else "too few queries"
        print(f"{system.system:<8}{system.strength:>7.2f}  ({interval})  wins {system.win_rate:.0%}")


if __name__ == "__main__":
    main()
