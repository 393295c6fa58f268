"""What is suspicious in judgements: failures, prompts that changed, judges and banks that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rageval.checking._nuggets import BANKS, FAILED
from rageval.checking.findings import ERROR, WARNING, Finding, Known, in_query, named, once
from rageval.files.jsonl import read_records
from rageval.files.judgements import EXPECTED, JudgementLine
from rageval.files.limits import Limits

_GRADED = ("ok", "repaired")
_OF_NUGGETS = ("nugget-assignment", "lexical")
_JudgedLines = list[tuple[int, JudgementLine]]


def diagnose_judgements(path: str, limits: Limits) -> tuple[list[Finding], Known]:
    """Return the findings of judgements, and what they hold."""
    lines: _JudgedLines = list(read_records(path, JudgementLine, EXPECTED, limits))
    known = Known(path, "judgements")
    for line, said in lines:
        known.queries.setdefault(str(said.query_id), line)
        if _is_of_nuggets(said):
            known.nuggets.setdefault((str(said.query_id), str(said.aspect)), line)
    findings = [
        *_twice(path, lines),
        *_failed(path, lines),
        *_versions(path, lines),
        *_judges(path, lines),
        *_banks(path, lines),
    ]
    return findings, known


def _is_of_nuggets(said: JudgementLine) -> bool:
    return _rubric(said)[0] in _OF_NUGGETS and said.item_id == "answer"


def _rubric(said: JudgementLine) -> tuple[str, str]:
    """(name, version) of a judgement's rubric."""
    name, _, version = said.rubric.partition("@")
    return name, version


def _twice(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    first: dict[tuple[Any, ...], int] = {}
    again: dict[str, int] = {}
    for line, said in lines:
        key = (said.query_id, said.run_id, said.judge, said.item_id, said.aspect)
        if first.setdefault(key, line) != line:
            again.setdefault(in_query(str(said.run_id), str(said.query_id)), line)
    yield from once(path, again, ERROR, "answers judged twice by a judge: {n}, first {name}", "refused")


def _failed(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    failed = [(str(said.query_id), line) for line, said in lines if said.status not in _GRADED]
    counts = Counter(said.status for _, said in lines if said.status not in _GRADED)
    kinds = ", ".join(f"{count:,} {status}" for status, count in counts.most_common())
    yield from once(
        path, failed, WARNING, f"failed judgements ({kinds}): {{n}}, first of query {{name}}", FAILED
    )


def _versions(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    """Rubrics that come in several versions, or in another one than is installed."""
    versions: dict[str, dict[str, int]] = {}
    for line, said in lines:
        name, version = _rubric(said)
        if version:
            versions.setdefault(name, {}).setdefault(version, line)
    for name, found in versions.items():
        others = list(found.items())[1:]
        message = f"further versions of the rubric {named(name)}: {{n}}, first {{name}}"
        effect = "other prompts give other grades: a mean over both is of neither"
        yield from once(path, others, WARNING, message, effect)
        ours = _digests(name)
        if ours and not ours & set(found):
            version, line = next(iter(found.items()))
            installed = " or ".join(sorted(ours))
            message = f"judged by version {version} of the rubric {named(name)}, here it is {installed}"
            effect = "what is judged anew is not comparable with it; frozen: does not find it"
            yield Finding(line, WARNING, message, effect, path)


def _digests(name: str) -> set[str]:
    """Return the versions of the installed rubrics whose judgements bear this name."""
    from rageval.judges.rubric import rubric_named, rubric_names

    rubrics = [rubric_named(known) for known in rubric_names()]
    return {rubric.digest for rubric in rubrics if rubric.judged_as == name}


def _judges(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    """Systems that were judged by others than the first one."""
    judges: dict[str, set[str]] = {}
    lines_of: dict[str, int] = {}
    for line, said in lines:
        judges.setdefault(str(said.run_id), set()).add(said.judge)
        lines_of.setdefault(str(said.run_id), line)
    if not judges:
        return
    first, by = next(iter(judges.items()))
    places = {run: lines_of[run] for run, found in judges.items() if found != by}
    message = f"systems judged by others than {named(first)}: {{n}}, first {{name}}"
    effect = "the difference between two systems may be that between two judges"
    yield from once(path, places, WARNING, message, effect)


def _banks(path: str, lines: _JudgedLines) -> Iterator[Finding]:
    """Answers to one question that were judged on other nuggets, or not at all."""
    banks: dict[str, dict[str, set[str]]] = {}
    answered: dict[str, dict[str, int]] = {}
    for line, said in lines:
        run, query = str(said.run_id), str(said.query_id)
        answered.setdefault(run, {}).setdefault(query, line)
        if _is_of_nuggets(said):
            banks.setdefault(query, {}).setdefault(run, set()).add(str(said.aspect))
    different = {
        query: answered[next(run for run, bank in of_run.items() if bank != next(iter(of_run.values())))][
            query
        ]
        for query, of_run in banks.items()
        if any(bank != next(iter(of_run.values())) for bank in of_run.values())
    }
    yield from once(path, different, WARNING, "queries whose nugget banks differ: {n}, first {name}", BANKS)
    everything = {query for found in answered.values() for query in found}
    fewer = {run: min(found.values()) for run, found in answered.items() if len(found) < len(everything)}
    effect = "what others have and it lacks is a missing judgement: scoring wants --on-missing"
    yield from once(path, fewer, WARNING, "systems judged on fewer queries: {n}, first {name}", effect)
