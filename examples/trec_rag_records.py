"""TREC RAG: process published answer files with a rule in place of a judge.

    python trec_rag_records.py [ANSWERS.jsonl ...]

Pass answer files of the tracks of 2024, 2025 and 2026; without a file, stand-ins of the same three shapes are
used. The program makes three systems from each answer: all of it, its first sentence, its last sentence. The
nuggets are its sentences, and a document's text is the first sentence that cites it. For any such file, an
answer that is read, written and read again is the same, and a whole answer has every nugget. The other scores
and the arena reproduce no published result; for a measurement, use the track's nuggets and passages and a
model.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from data.records import first_cited, is_kept, nuggets_of, parts_of, show
from data.rule_judge import rule_judge

import rageval
from rageval.files.answers import read_answers

DATA = Path(__file__).parent / "data" / "answers"
FILES = [DATA / f"rag{year}.jsonl" for year in (24, 25, 26)]
CITED = "citation_precision, citation_recall"


def import_and_score(file: Path, folder: str) -> None:
    """Nuggets, assignment, support, arena, report, of one file."""
    answers = list(read_answers(file))
    records = parts_of(answers)
    nuggets = [nuggets_of(answer.query_id, [part.text for part in answer.sentences]) for answer in answers]
    asked = {"store": f"{folder}/store.sqlite"}
    assigned = rageval.judge(
        "nugget-assignment", records, rule_judge(), "v_strict, length, citations", nuggets=nuggets, **asked
    )
    cited = rageval.judge(
        "citation-support", records, rule_judge(), CITED, passages=first_cited(answers), **asked
    )
    duels = rageval.judge("pairwise", records, rule_judge(), "win_rate", **asked)
    print(f"{file.name}: {len(answers)} answers")
    show(("v_strict", "length", "citations", "precision", "recall", "won"), (assigned, cited, duels), duels)
    page = rageval.report(assigned.scores, f"{folder}/{file.stem}.html", title=file.name)
    print(f"  a report, one file: {'yes' if b'nugget_recall' in page.read_bytes() else 'no'}")
    whole = assigned.scores["whole"]["v_strict"].value
    print(f"  identities: all of an answer has {whole:.0%} of its sentences;", end=" ")
    print(f"written and read again it is the same: {'yes' if is_kept(answers, folder) else 'no'}")


def main(files: list[Path]) -> None:
    for file in files or FILES:
        with TemporaryDirectory() as folder:
            import_and_score(file, folder)


if __name__ == "__main__":
    main(list(map(Path, sys.argv[1:])))
