"""What the plug-in for pytest does once a test asks: gates by the policy, and answers judged and gated.

The plug-in is imported into every run of pytest; this is imported when a test uses it.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from rageval import verbs
from rageval.cli import main
from rageval.errors import INCONCLUSIVE, InputError, Place, RagevalError, UsageError
from rageval.files.kinds import is_answer_table
from rageval.files.questions import read_questions
from rageval.files.scores import read_baseline
from rageval.policy import find_policy, from_here
from rageval.pytest_plugin import RecordedAnswers, inconclusive_counts_as
from rageval.typing import GateOptions

if TYPE_CHECKING:
    from rageval.comparison import GateReport
    from rageval.policy import Policy
    from rageval.records import Question

_MINIMUM_SHARE = 0.9  # of the baseline's questions
_OF_THE_COMMAND = {"first-run", "inconclusive", "judge", "rubric"}  # settings that no call in Python has


def questions_of_mark(path: str) -> list[Question]:
    """Return the questions of the file that a mark names."""
    try:
        return list(read_questions(path))
    except (RagevalError, OSError) as error:
        raise pytest.UsageError(f"@pytest.mark.rageval: {error}") from None


def gate(
    config: pytest.Config, candidate: Any, qrels: Any, measures: Any, options: dict[str, Any]
) -> GateReport:
    """Hold a candidate against a baseline, as `rageval.gate`; what the test leaves out is the policy's."""
    __tracebackhide__ = True
    try:
        settings = _with_policy(config, measures, options)
        _require_baseline(settings["baseline"])
        return verbs.gate(candidate, qrels, **(_judging(config, candidate) | settings))
    except (RagevalError, pytest.UsageError) as error:
        # What is wrong with files and settings is said in a line: a traceback leads into rageval.
        pytest.fail(str(error), pytrace=False)


def _with_policy(config: pytest.Config, measures: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of `rageval.gate` with the policy's for what the test leaves out."""
    policy = find_policy(config.rootpath)
    settings = {
        "measures" if key == "measure" else key.replace("-", "_"): value
        for key, value in policy.gate_settings().items()
        if key not in _OF_THE_COMMAND
    }
    declared = {*GateOptions.__annotations__, "anchor", "baseline", "margin", "system"}
    declared |= {"measures", "judge", "rubric"}
    for key in settings.keys() - declared:
        raise pytest.UsageError(f"{policy.path}: [gate]: {key}: is for the command, not for a test in Python")
    if "fail_under" in settings:
        floors = settings["fail_under"]  # texts MEASURE=VALUE
        pairs = [str(text).rpartition("=") for text in (floors if isinstance(floors, list) else [floors])]
        try:
            settings["fail_under"] = {name: float(value) for name, _, value in pairs}
        except ValueError:
            raise pytest.UsageError(
                f"{policy.path}: [gate]: fail-under: expected MEASURE=VALUE, found {floors!r:.80}"
            ) from None
    settings |= options | ({} if measures is None else {"measures": measures})
    for name in ("measures", "baseline", "margin"):
        if name not in settings:
            raise pytest.UsageError(
                f"rageval.gate: expected {name}, in the test or in rageval.toml under [gate]"
            )
    return settings


def _judging(config: pytest.Config, candidate: Any) -> dict[str, Any]:
    """Return who judges, and by what, as the policy says, where the candidate is a table of answers."""
    if not isinstance(candidate, str | os.PathLike) or not is_answer_table(candidate):
        return {}
    settings = find_policy(config.rootpath).gate_settings()
    return {name: settings[name] for name in ("judge", "rubric") if name in settings}


def _require_baseline(baseline: Any) -> None:
    """Refuse a baseline that nobody saved yet, and say how it is saved."""
    if isinstance(baseline, str | os.PathLike) and not os.path.isfile(baseline):
        name = os.fspath(baseline)
        raise InputError(
            at=Place(name),
            problem="there is no baseline yet",
            remedy=f"save one: rageval gate CANDIDATE [QRELS] -m MEASURES --save-baseline {name}",
        )


# --- after the last test


def gate_recorded(recorded: RecordedAnswers, exit_status: int) -> bool:
    """Judge what was recorded, and gate it; return whether that fails the session."""
    if recorded.crashed or exit_status not in (0, 1):
        why = "a worker crashed" if recorded.crashed else "the tests did not end in order"
        return _leave_out(recorded, why)
    if recorded.repeated:
        recorded.lines.append(
            f"error, nothing was gated: {recorded.repeated[0]}; expected one test a question"
        )
        return True
    with chdir(recorded.config.rootpath):
        try:
            return _gate_by_policy(recorded, find_policy(recorded.config.rootpath))
        except RagevalError as error:
            recorded.lines.append(f"error, nothing was gated: {error}")
            return True


def _leave_out(recorded: RecordedAnswers, why: str) -> bool:
    recorded.lines.append(f"not gated: {why} ({len(recorded.rows):,} answers were recorded)")
    return bool(recorded.config.getini("rageval_required"))


def _gate_by_policy(recorded: RecordedAnswers, policy: Policy) -> bool:
    judged = _judge(recorded, policy)
    baseline = policy.gate_settings().get("baseline")
    if not isinstance(baseline, str):
        return _leave_out(recorded, "the policy names no baseline")
    if not os.path.isfile(baseline):
        return _leave_out(
            recorded, f"{baseline} is not there; rageval gate {judged} --save-baseline {baseline}"
        )
    of_baseline = {line.query_id for line in read_baseline(baseline).lines}
    # Whoever runs a few tests asked few questions; a test that ran and recorded nothing is no such one.
    asked = recorded.asked | {row["answer"]["query_id"] for row in recorded.rows.values()}
    shared = len(of_baseline & asked)
    if shared < _MINIMUM_SHARE * len(of_baseline):
        return _leave_out(recorded, f"{shared:,} of the baseline's {len(of_baseline):,} questions were asked")
    # The command gates, by the whole policy, and what it prints is kept.
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        try:
            main(["gate", judged], prog_name="rageval")
        except SystemExit as ended:
            code = ended.code
    recorded.lines += [*out.getvalue().splitlines(), *err.getvalue().splitlines()]
    if code == INCONCLUSIVE:
        return inconclusive_counts_as(recorded.config) == "fail"
    return code != 0


def _judge(recorded: RecordedAnswers, policy: Policy) -> str:
    """Judge all answers at once, by the policy's judge, and return the file of the judgements."""
    settings = policy.gate_settings()
    if "judge" not in settings:
        raise UsageError(
            'the policy names no judge; write judge = "short" (offline) or judge = "openai:MODEL" into'
            " rageval.toml, under [gate]"
        )
    judges = settings["judge"] if isinstance(settings["judge"], list) else [settings["judge"]]
    rows = [recorded.rows[key] for key in sorted(recorded.rows)]
    gold = {row["gold"]["query_id"]: row["gold"] for row in rows if row["gold"]}
    judgements = verbs.judge(
        settings.get("rubric", "crag"),
        [row["answer"] for row in rows],
        judges,
        questions=list(gold.values()) or None,
        quiet=True,
    )
    cache = getattr(recorded.config, "cache", None)  # pytest may run without one
    folder = str(cache.mkdir("rageval")) if cache is not None else tempfile.mkdtemp(prefix="rageval-")
    path = os.path.join(folder, "judged.jsonl")
    judgements.save(path)
    recorded.lines.append(f"{len(rows):,} answers judged: {from_here(path)}")
    return from_here(path)
