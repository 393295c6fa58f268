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

from rageval import hooks

if TYPE_CHECKING:
    from rageval.comparison import GateReport
    from rageval.records import Question

_INI = (
    ("rageval_inconclusive", "string", "skip", "How an inconclusive gate counts: skip, fail or pass."),
    ("rageval_required", "bool", False, "Fail if the recorded answers could not be gated."),
)
_RUN = "pytest"  # what recorded answers are called
_Row = dict[str, Any]


class GateBlocked(AssertionError):
    """A gate in a test blocked; the message is its table."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare what pytest.ini or pyproject.toml may settle."""
    for name, kind, default, description in _INI:
        parser.addini(name, description, type=kind, default=default)  # type: ignore[arg-type]


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and begin with nothing recorded."""
    config.addinivalue_line(
        "markers", "rageval(questions, repeats=1): run once for each question of a file, as `question`"
    )
    config.stash[_SESSION] = RecordedAnswers(config)


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
    questions = hooks.questions_of_mark(os.fspath(metafunc.config.rootpath / mark.kwargs["questions"]))
    runs = [
        (question, str(repeat) if repeats > 1 else "")
        for question in questions
        for repeat in range(1, repeats + 1)
    ]
    ids = [question.query_id + (f"-{repeat}" if repeat else "") for question, repeat in runs]
    if "rageval" in metafunc.fixturenames:
        metafunc.parametrize(
            ("question", "rageval"), [(run[0], run) for run in runs], ids=ids, indirect=["rageval"]
        )
    else:
        metafunc.parametrize("question", [question for question, _ in runs], ids=ids)


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
        __tracebackhide__ = True
        config = self._request.config
        report: GateReport = hooks.gate_in_test(config, candidate, qrels, measures, options)
        config.stash[_SESSION].tables.append([self._request.node.nodeid, str(report)])
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
            {"id": str(number), "text": passage}
            if isinstance(passage, str)
            else {"id": str(passage["id"]), "text": str(passage["text"])}
            for number, passage in enumerate(passages, 1)
        ]
        row: _Row = {"query_id": asked.query_id, "run_id": _RUN, "question": asked.text, "answer": answer}
        row |= {"passages": texts} if texts else {}
        row |= {"repeat": self._repeat} if self._repeat else {}
        gold = (
            {"query_id": asked.query_id, "question": asked.text, "answer": asked.gold[0]}
            if asked.gold
            else None
        )
        record = {"test": self._request.node.nodeid, "answer": row, "gold": gold}
        self._request.config.stash[_SESSION].keep({f"{asked.query_id} {self._repeat}": record})


def _inconclusive(config: pytest.Config, table: str) -> None:
    # Not in `gate`, whose frame is hidden: all tests that are skipped for this are listed as one place.
    how = inconclusive_counts_as(config)
    if how == "skip":
        pytest.skip(f"inconclusive\n{table}")
    if how == "fail":
        pytest.fail(table, pytrace=False)


# --- after the last test


def inconclusive_counts_as(config: pytest.Config) -> str:
    """Return the setting for gates that are inconclusive, checked."""
    setting = str(config.getini("rageval_inconclusive"))
    if setting not in ("skip", "fail", "pass"):
        raise pytest.UsageError(f"rageval_inconclusive = {setting}: expected skip, fail or pass")
    return setting


class RecordedAnswers:
    """What tests recorded and gates printed, of this process or, in xdist's controller, of all workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.rows: dict[str, _Row] = {}  # by question and repeat: the test, its answer, and what is right
        self.tables: list[list[str]] = []  # of gates: test, table
        self.lines: list[str] = []  # of the summary
        self.crashed = 0
        self.repeated: list[str] = []  # questions that two tests answered
        self.asked: set[str] = set()  # questions of the tests that were to run

    def keep(self, rows: dict[str, _Row]) -> None:
        """Keep answers; those of a test that is run again take the place of those before."""
        for key, row in rows.items():
            other = self.rows.get(key, row)["test"]
            if other != row["test"]:
                self.repeated.append(f"{key.strip()} was answered in {other} and in {row['test']}")
            self.rows[key] = row

    def handed_over(self) -> dict[str, Any]:
        """Return everything as xdist can send it."""
        return {
            "rows": self.rows,
            "tables": self.tables,
            "repeated": self.repeated,
            "asked": sorted(self.asked),
        }

    def take(self, sent: dict[str, Any] | None) -> None:
        """Take what a worker hands over; one that crashed hands over nothing."""
        if sent is None:
            self.crashed += 1
            return
        self.keep(sent["rows"])
        self.tables += sent["tables"]
        self.repeated += sent["repeated"]
        self.asked |= set(sent["asked"])


_SESSION = pytest.StashKey[RecordedAnswers]()


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
    elif recorded.rows and hooks.gate_recorded(recorded, int(exitstatus)) and int(exitstatus) == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    """Take what a worker of xdist hands over."""
    output = getattr(node, "workeroutput", None)
    node.config.stash[_SESSION].take(None if output is None else output.get("rageval"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print every table, whatever became of the tests."""
    recorded = config.stash[_SESSION]
    from_tests = dict(recorded.tables)  # one that is run again replaces
    tables = [line for test, table in sorted(from_tests.items()) for line in (test, *table.splitlines())]
    lines = [*tables, *recorded.lines]
    if lines:
        terminalreporter.section("rageval")
        for line in lines:
            terminalreporter.write_line(line)
