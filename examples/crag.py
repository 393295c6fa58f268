"""CRAG: ask two judges, and report truthfulness with slices and traffic weights."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from data.rule_judge import rule_judge

import rageval
from rageval.comparison.estimates import slices
from rageval.files.questions import read_facts, read_weights
from rageval.judges import Settings, gathered, judged_by, rubric_named

DATA = Path(__file__).parent / "data" / "answers"


def main() -> None:
    material = gathered([DATA / "crag.answers.jsonl"], questions=DATA / "crag.jsonl")
    judges = [rule_judge("by words"), rule_judge("never content", enough=2.0)]
    with TemporaryDirectory() as folder:
        settings = Settings(store=f"{folder}/store.sqlite")
        judged = list(judged_by(judges, rubric_named("crag-auto"), material, settings))

    print("Two judges, their mean, and what each of them says")
    for run, scores in rageval.evaluate_answers("official:crag", judged).items():
        for score in scores.values():
            judge_means = ", ".join(
                f"{name.partition('@')[0]} {value:.2f}" for name, value in score.judges.items()
            )
            print(f"  {run:<7} {score.measure!s:<28}{score.value:6.2f}  ({judge_means})")

    facts = read_facts(DATA / "crag.jsonl", ("question_type",))
    kinds = {query: facts_of_query["question_type"] for query, facts_of_query in facts.items()}
    print("By question type, and weighted by the traffic of each")
    scores = rageval.evaluate_answers("crag_score", judged)
    weighted = rageval.evaluate_answers(
        "crag_score", judged, groups=kinds, weights=read_weights(DATA / "traffic.tsv")
    )
    for run in scores:
        parts = slices(scores[run]["crag_score"], "question_type", kinds)
        shown = "  ".join(f"{part.name} {part.value:.2f} (n={part.queries})" for part in parts)
        print(f"  {run:<7} {shown}  weighted {weighted[run]['crag_score'].value:.2f}")


if __name__ == "__main__":
    main()
