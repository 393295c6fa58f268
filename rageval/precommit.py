"""What pre-commit runs: `rageval-hook validate|baseline FILE…`. Nothing is judged here.

It is a program of its own and not `python -m`, which would import from the repository that is checked.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from rageval.checking.doctor import diagnose
from rageval.checking.findings import ERROR
from rageval.errors import FAULTS, WRONG, RagevalError
from rageval.files.kinds import kind_of
from rageval.files.questions import read_questions
from rageval.files.scores import read_baseline
from rageval.files.spans import read_spans
from rageval.measures.base import Measure
from rageval.measures.parsing import parse_measures
from rageval.policy import Policy, find_policy
from rageval.scoring.evaluation import Evaluator
from rageval.subjects import ANSWERS, RUNS, kinds_of_measure
from rageval.text import visible


def main(words: Sequence[str]) -> int:
    """Check each file by itself, say what is wrong, and return the exit code."""
    checks = {"validate": validated, "baseline": compared_with_policy}
    if not words or words[0] not in checks:
        print("usage: rageval-hook validate|baseline FILE...", file=sys.stderr)
        return WRONG
    faults: list[str] = []
    for path in words[1:]:
        try:
            # One by one: what was found before an error is said, too.
            for fault in checks[words[0]](path):
                faults.append(fault)
        except RagevalError as error:
            faults += str(error).split("\n")
    for fault in faults:
        print(visible(fault), file=sys.stderr)
    return FAULTS if faults else 0


def run() -> None:
    """Check the files that the command line names."""
    sys.exit(main(sys.argv[1:]))


def validated(path: str) -> Iterator[str]:
    """Yield the errors of a file of any kind that is known, as `rageval doctor` has them."""
    kind = kind_of(path)
    if kind is not None and kind.name == "spans":
        read_spans(path)
        return
    if kind is not None and kind.name == "questions":
        for _ in read_questions(path):
            pass
        return
    for finding in diagnose([(path, None)]):
        if finding.level == ERROR:
            yield finding.text


def compared_with_policy(path: str) -> Iterator[str]:
    """Yield where a baseline is not whole, or not made by the measures and rules of the policy."""
    header = read_baseline(path).header
    policy = find_policy()
    for name, signature in _signatures(policy).items():
        if name not in header.measures:
            yield f"{path}:1: does not have {name}, which {policy.path} gates; save it again"
        elif signature and header.measures[name] != signature:
            yield (
                f"{path}:1: {name} was scored by other rules than {policy.path} has:"
                f" {header.measures[name]};"
                f" expected {signature}; save it again"
            )


def _signatures(policy: Policy) -> dict[str, str]:
    """Return the signatures that the policy's measures have; of answers, whose judge is not known, none."""
    settings = policy.gate_settings()
    measures = parse_measures(settings.get("measures", settings.get("measure", [])))
    answers = [
        measure
        for measure in measures
        if isinstance(measure, Measure) and ANSWERS in kinds_of_measure(measure)
    ]
    runs = [measure for measure in measures if measure not in answers]
    names = {name.replace("_", "-"): name for name in RUNS.rules}
    rules: dict[str, Any] = {names[key]: value for key, value in settings.items() if key in names}
    signatures = dict.fromkeys(map(str, answers), "")
    if runs:
        signatures |= Evaluator(runs, {"q": {"n": {"d": 1}}}, **rules).signatures
    return signatures


if __name__ == "__main__":
    run()
