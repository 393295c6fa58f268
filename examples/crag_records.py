"""CRAG: process real records with a rule in place of a judge.

    python crag_records.py [QUESTIONS.jsonl or .jsonl.bz2]

Pass the ten questions that CRAG publishes (`example_data/dev_data.jsonl.bz2`); without a file, stand-ins of
the same shape are used. CRAG publishes no answers, so the program makes three systems: the first search
result's snippet (or title), the gold answer, and "I don't know". For any such file the gold answer scores
1, "I don't know" scores 0, and a report has the numbers of the judgements. The scores of snippets reproduce
no published result; for a measurement, use a model in place of the rule.
"""

from __future__ import annotations

import bz2
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from data.records import answers_of, nuggets_of, pages_of, show
from data.rule_judge import rule_judge

import rageval
from rageval.files.questions import read_questions
from rageval.judges import gold_in_top

FILE = Path(__file__).parent / "data" / "crag_records.jsonl"


def main(file: Path = FILE) -> None:
    with (bz2.open if file.suffix == ".bz2" else open)(file, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    answers = [answer for record in records for answer in answers_of(record)]
    pages = {record["interaction_id"]: pages_of(record) for record in records}
    nuggets = [nuggets_of(record["interaction_id"], [record["answer"]]) for record in records]
    passages = [page for pages_found in pages.values() for page in pages_found]
    texts = {query: [page["text"] for page in pages_found] for query, pages_found in pages.items()}
    tops = gold_in_top(list(read_questions(file)), texts, (1, 2, 5))
    pages_found = ", ".join(f"top {top.k} of {top.share:.0%}" for top in tops)
    print(f"{len(records)} questions, {tops[0].questions} with an answer, which stands in the {pages_found}")

    with TemporaryDirectory() as folder:
        asked = {"questions": file, "store": f"{folder}/store.sqlite"}
        auto = rageval.judge("crag-auto", answers, rule_judge(), "crag_score", **asked)
        assigned = rageval.judge(
            "nugget-assignment", answers, rule_judge(), "v_strict", nuggets=nuggets, **asked
        )
        cited = rageval.judge(
            "citation-support", answers, rule_judge(), "citation_precision", passages=passages, **asked
        )
        duels = rageval.judge("pairwise", answers, rule_judge(), "win_rate", **asked)
        show(("CRAG", "v_strict", "cited", "won"), (auto, assigned, cited, duels), duels)
        page = rageval.report(auto.scores, f"{folder}/report.html", questions=file)
        print(f"  a report, one file: {'yes' if b'crag_score' in page.read_bytes() else 'no'}")
        same = rageval.evaluate_answers("crag_score", auto.save(f"{folder}/judged.jsonl"))
    values = {run: scores["crag_score"].value for run, scores in auto.scores.items()}
    is_reproduced = {run: scores["crag_score"].value for run, scores in same.items()} == values
    print(f"  identities: the gold answer scores {values['gold']:g}, silence {values['silent']:g};", end=" ")
    print(f"judgements written and read again score the same: {'yes' if is_reproduced else 'no'}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
