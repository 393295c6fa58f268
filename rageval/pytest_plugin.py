"""The plug-in for pytest: a gate within a suite, and answers that tests record, judged once and gated.

    def test_retrieval(rageval):                       # per suite: one statistical test
        rageval.gate("out/run.trec", "gold/qrels.nugget", "alpha_ndcg@10",
                     baseline="gold/base.jsonl", margin=0.03)

    @pytest.mark.rageval(questions="gold/questions.jsonl", repeats=3)   # per question
    def test_answer(question, rageval):
        answer, passages = my_rag(question.text)
        rageval.record(answer, passages)

What is not said in a test is the policy's, [gate] in rageval.toml. Nothing is imported before a test asks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rageval.comparison import GateReport
    from rageval.policy import Policy
    from rageval.records import Question

_INI = (
    ("rageval_inconclusive", "string", "skip", "How an inconclusive gate counts: skip, fail or pass."),
    ("rageval_required", "bool", False, "Fail if the recorded answers could not be gated."),
)
_RUN = "pytest"  # what recorded answers are called
_LEAST = 0.9  # of the baseline's questions
_ELSEWHERE = {"first-run", "inconclusive", "judge", "rubric"}  # of the command
_Row = dict[str, Any]


class GateBlocked(AssertionError):
    """A gate in a test blocked; the message is its table."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare what pytest.ini or pyproject.toml may settle."""
    for name, kind, default, said in _INI:
        parser.addini(name, said, type=kind, default=default)  # type: ignore[arg-type]


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and begin with nothing recorded."""
    config.addinivalue_line(
        "markers", "rageval(questions, repeats=1): run once for each question of a file, as `question`"
    )
    config.stash[_SESSION] = _Recorded(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that bears the mark once for each question, or as often as `repeats` says."""
    mark = metafunc.definition.get_closest_marker("rageval")
    if mark is None or "question" not in metafunc.fixturenames:
        return
    if set(mark.kwargs) - {"questions", "repeats"} or mark.args or "questions" not in mark.kwargs:
        raise pytest.UsageError("@pytest.mark.rageval: expected questions=FILE, and perhaps repeats=N")
    repeats = mark.kwargs.get("repeats", 1)
    if type(repeats) is not int or repeats < 1:
        raise pytest.UsageError(f"@pytest.mark.rageval: repeats={repeats!r}: expected a whole number from 1")
    from rageval.errors import RagevalError
    from rageval.files.questions import read_questions

    try:
        found = list(read_questions(os.fspath(metafunc.config.rootpath / mark.kwargs["questions"])))
    except (RagevalError, OSError) as error:
        raise pytest.UsageError(f"@pytest.mark.rageval: {error}") from None
    each = [
        (question, str(time) if repeats > 1 else "") for question in found for time in range(1, repeats + 1)
    ]
    ids = [question.query_id + (f"-{time}" if time else "") for question, time in each]
    if "rageval" in metafunc.fixturenames:
        metafunc.parametrize(
            ("question", "rageval"), [(one[0], one) for one in each], ids=ids, indirect=["rageval"]
        )
    else:
        metafunc.parametrize("question", [one[0] for one in each], ids=ids)


@pytest.fixture
def rageval(request: pytest.FixtureRequest) -> Rageval:
    """Gate a candidate, or record an answer."""
    return Rageval(request)


class Rageval:
    """What a test asks: `gate` a candidate, or `record` an answer."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        """Know which test asks, and with which question."""
        self._request = request
        asked: tuple[Question | None, str] = getattr(request, "param", (None, ""))
        self._question, self._repeat = asked

    def gate(self, candidate: Any, qrels: Any = None, measures: Any = None, **options: Any) -> GateReport:
        """Hold a candidate against a baseline, as `rageval.gate`; what is not said is the policy's.

        `GateBlocked` where it blocks; inconclusive is what `rageval_inconclusive` says.
        """
        from rageval.errors import RagevalError
        from rageval.verbs import gate

        __tracebackhide__ = True
        config = self._request.config
        try:
            settled = _with_policy(config, measures, options)
            _require_baseline(settled["baseline"])
            settled = _judging(config, candidate) | settled
            report = gate(candidate, qrels, **settled)
        except (RagevalError, pytest.UsageError) as error:
            # What is wrong with files and settings is said in a line: a traceback leads into rageval.
            pytest.fail(str(error), pytrace=False)
        config.stash[_SESSION].told.append([self._request.node.nodeid, report.verdict, str(report)])
        table = "\n".join([str(report), *map(str, report.floors)])
        if report.verdict == "block":
            raise GateBlocked(table)
        if report.verdict == "inconclusive":
            _inconclusive(config, table)
        return report

    def record(self, answer: str, passages: Sequence[Any] = (), question: Question | None = None) -> None:
        """Keep an answer to the test's question, to be judged with all others after the last test.

        `passages` are what it was made from: texts, or dicts with id and text. A test that is run again
        replaces what it recorded.
        """
        asked = question or self._question
        if asked is None:
            raise pytest.UsageError("rageval.record: no question; mark the test, or pass question=…")
        if not isinstance(answer, str):
            raise pytest.UsageError(f"rageval.record: expected an answer as text, found {answer!r:.80}")
        texts = [
            {"id": str(number), "text": each}
            if isinstance(each, str)
            else {"id": str(each["id"]), "text": str(each["text"])}
            for number, each in enumerate(passages, 1)
        ]
        row: _Row = {"query_id": asked.query_id, "run_id": _RUN, "question": asked.text, "answer": answer}
        row |= {"passages": texts} if texts else {}
        row |= {"repeat": self._repeat} if self._repeat else {}
        gold = (
            {"query_id": asked.query_id, "question": asked.text, "answer": asked.gold[0]}
            if asked.gold
            else None
        )
        kept = {"test": self._request.node.nodeid, "answer": row, "gold": gold}
        self._request.config.stash[_SESSION].keep({f"{asked.query_id} {self._repeat}": kept})


def _with_policy(config: pytest.Config, measures: Any, said: dict[str, Any]) -> dict[str, Any]:
    """Return the options of `rageval.gate` with the policy's for what is not said."""
    from rageval.policy import find_policy
    from rageval.typing import GateOptions

    policy = find_policy(config.rootpath)
    found = {key: value for key, value in policy.gate_settings().items() if key not in _ELSEWHERE}
    known = {*GateOptions.__annotations__, "anchor", "baseline", "margin", "system"}
    known |= {"measures", "judge", "rubric"}
    settled = {
        "measures" if key == "measure" else key.replace("-", "_"): value for key, value in found.items()
    }
    for key in settled.keys() - known:
        raise pytest.UsageError(f"{policy.path}: [gate]: {key}: is for the command, not for a test in Python")
    if "fail_under" in settled:
        floors = settled["fail_under"]  # texts MEASURE=VALUE
        pairs = [str(text).rpartition("=") for text in (floors if isinstance(floors, list) else [floors])]
        try:
            settled["fail_under"] = {name: float(value) for name, _, value in pairs}
        except ValueError:
            raise pytest.UsageError(
                f"{policy.path}: [gate]: fail-under: expected MEASURE=VALUE, found {floors!r:.80}"
            ) from None
    options = {**settled, **said, **({} if measures is None else {"measures": measures})}
    for name in ("measures", "baseline", "margin"):
        if name not in options:
            raise pytest.UsageError(
                f"rageval.gate: expected {name}, in the test or in rageval.toml under [gate]"
            )
    return options


def _judging(config: pytest.Config, candidate: Any) -> dict[str, Any]:
    """Return who judges, and by what, as the policy says, where the candidate is a table of answers."""
    from rageval.files.kinds import is_answer_table
    from rageval.policy import find_policy

    if not isinstance(candidate, str | os.PathLike) or not is_answer_table(candidate):
        return {}
    said = find_policy(config.rootpath).gate_settings()
    return {name: said[name] for name in ("judge", "rubric") if name in said}


def _require_baseline(baseline: Any) -> None:
    """Refuse a baseline that nobody saved yet, and say how it is saved."""
    from rageval.errors import InputError, Place

    if isinstance(baseline, str | os.PathLike) and not os.path.isfile(baseline):
        name = os.fspath(baseline)
        raise InputError(
            at=Place(name),
            problem="there is no baseline yet",
            remedy=f"save one: rageval gate CANDIDATE [QRELS] -m MEASURES --save-baseline {name}",
        )


def _inconclusive(config: pytest.Config, table: str) -> None:
    # Not in `gate`, whose frame is hidden: all tests that are skipped for this are listed as one place.
    how = _how(config)
    if how == "skip":
        pytest.skip(f"inconclusive\n{table}")
    if how == "fail":
        pytest.fail(table, pytrace=False)


def _how(config: pytest.Config) -> str:
    how = str(config.getini("rageval_inconclusive"))
    if how not in ("skip", "fail", "pass"):
        raise pytest.UsageError(f"rageval_inconclusive = {how}: expected skip, fail or pass")
    return how


# --- after the last test


class _Recorded:
    """What tests recorded and gates said, of this process or, in the controller of xdist, of all workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.rows: dict[str, _Row] = {}  # by question and repeat: the test, its answer, and what is right
        self.told: list[list[str]] = []  # test, verdict, table
        self.lines: list[str] = []  # of the summary
        self.crashed = 0
        self.twice: list[str] = []  # questions that two tests answered
        self.asked: set[str] = set()  # questions of the tests that were to run

    def keep(self, rows: dict[str, _Row]) -> None:
        """Keep answers; those of a test that is run again take the place of those before."""
        for key, row in rows.items():
            other = self.rows.get(key, row)["test"]
            if other != row["test"]:
                self.twice.append(f"{key.strip()} was answered in {other} and in {row['test']}")
            self.rows[key] = row

    def handed_over(self) -> dict[str, Any]:
        """Return everything as xdist can send it."""
        return {"rows": self.rows, "told": self.told, "twice": self.twice, "asked": sorted(self.asked)}

    def take(self, sent: dict[str, Any] | None) -> None:
        """Take what a worker hands over; one that crashed hands over nothing."""
        if sent is None:
            self.crashed += 1
            return
        self.keep(sent["rows"])
        self.told += sent["told"]
        self.twice += sent["twice"]
        self.asked |= set(sent["asked"])

    def finish(self, exit_status: int) -> bool:
        """Judge what was recorded, and gate it; return whether that fails the session."""
        if not self.rows:
            return False
        if self.crashed or exit_status not in (0, 1):
            return self._not_gated("a worker crashed" if self.crashed else "the tests did not end in order")
        if self.twice:
            self.lines.append(f"error, nothing was gated: {self.twice[0]}; expected one test a question")
            return True
        from contextlib import chdir

        from rageval.errors import RagevalError

        with chdir(self.config.rootpath):
            try:
                return self._gated()
            except RagevalError as error:
                self.lines.append(f"error, nothing was gated: {error}")
                return True

    def _not_gated(self, why: str) -> bool:
        self.lines.append(f"not gated: {why} ({len(self.rows):,} answers were recorded)")
        return bool(self.config.getini("rageval_required"))

    def _gated(self) -> bool:
        from rageval.policy import find_policy

        policy = find_policy(self.config.rootpath)
        place = self._judged(policy)
        baseline = policy.gate_settings().get("baseline")
        if not isinstance(baseline, str):
            return self._not_gated("the policy names no baseline")
        if not os.path.isfile(baseline):
            return self._not_gated(
                f"{baseline} is not there; rageval gate {place} --save-baseline {baseline}"
            )
        from rageval.files.scores import read_baseline

        known = {line.query_id for line in read_baseline(baseline).lines}
        # Whoever runs a few tests asked few questions; a test that ran and recorded nothing is no such one.
        there = len(known & (self.asked | {each["answer"]["query_id"] for each in self.rows.values()}))
        if there < _LEAST * len(known):
            return self._not_gated(f"{there:,} of the baseline's {len(known):,} questions were asked")
        return self._told(place)

    def _judged(self, policy: Policy) -> str:
        """Judge all answers at once, by the policy's judge, and return where that is written."""
        from rageval.verbs import judge

        said = policy.gate_settings()
        if "judge" not in said:
            from rageval.errors import UsageError

            raise UsageError(
                'the policy names no judge; write judge = "short" (offline) or judge = "openai:MODEL" into'
                " rageval.toml, under [gate]"
            )
        by = said["judge"]
        rows = [self.rows[key] for key in sorted(self.rows)]
        gold = {row["gold"]["query_id"]: row["gold"] for row in rows if row["gold"]}
        answers = [row["answer"] for row in rows]
        judges = by if isinstance(by, list) else [by]
        judged = judge(
            said.get("rubric", "crag"), answers, judges, questions=list(gold.values()) or None, quiet=True
        )
        from rageval.policy import from_here

        cache = getattr(self.config, "cache", None)  # pytest may run without one
        if cache is not None:
            folder = str(cache.mkdir("rageval"))
        else:
            import tempfile

            folder = tempfile.mkdtemp(prefix="rageval-")
        place = os.path.join(folder, "judged.jsonl")
        judged.save(place)
        self.lines.append(f"{len(answers):,} answers judged: {from_here(place)}")
        return from_here(place)

    def _told(self, place: str) -> bool:
        """Let the command gate, by the whole policy, and keep what it says."""
        from contextlib import redirect_stderr, redirect_stdout
        from io import StringIO

        from rageval.cli import main
        from rageval.errors import INCONCLUSIVE

        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
            try:
                main(["gate", place], prog_name="rageval")
            except SystemExit as ended:
                code = ended.code
        self.lines += [*out.getvalue().splitlines(), *err.getvalue().splitlines()]
        return (code == INCONCLUSIVE and _how(self.config) == "fail") or code not in (0, INCONCLUSIVE)


_SESSION = pytest.StashKey[_Recorded]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which questions are asked, once it is known which tests run."""
    for item in session.items:
        asked = getattr(getattr(item, "callspec", None), "params", {}).get("rageval")
        if isinstance(asked, tuple):
            session.config.stash[_SESSION].asked.add(asked[0].query_id)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Hand over what a worker of xdist recorded, or judge and gate it."""
    recorded = session.config.stash[_SESSION]
    sent = getattr(session.config, "workeroutput", None)
    if sent is not None:
        sent["rageval"] = recorded.handed_over()
    elif recorded.finish(int(exitstatus)) and int(exitstatus) == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    """Take what a worker of xdist hands over."""
    output = getattr(node, "workeroutput", None)
    node.config.stash[_SESSION].take(None if output is None else output.get("rageval"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print every table, whatever became of the tests."""
    recorded = config.stash[_SESSION]
    from_tests = {test: table for test, _, table in recorded.told}  # one that is run again replaces
    tables = [line for test, table in sorted(from_tests.items()) for line in (test, *table.splitlines())]
    lines = [*tables, *recorded.lines]
    if lines:
        terminalreporter.section("rageval")
        for line in lines:
            terminalreporter.write_line(line)
