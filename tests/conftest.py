"""What every test finds: how hard Hypothesis looks, which files are read at all, servers and folders."""

from __future__ import annotations

import atexit
import gc
import inspect
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, settings

from circles import LACKING, SCORING

if TYPE_CHECKING:
    from llm_server import LlmServer

collect_ignore = [
    "downstream",  # a project of its own, which type checkers read and nobody runs
    "faults",  # what runs in processes of their own
]

# The same examples every time: a test that fails does so because of a change. `nightly` looks elsewhere.
_QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("usual", max_examples=20, derandomize=True, **_QUIET)
settings.register_profile("nightly", max_examples=200, **_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))

# pytest rewrites the asserts of a plug-in's whole package, which has none.
for _finder in sys.meta_path:
    getattr(_finder, "_must_rewrite", set()).discard("rageval")

# Where no bytecode may be kept, each of the processes that tests start would compile the package anew.
if sys.dont_write_bytecode and "PYTHONPYCACHEPREFIX" not in os.environ:
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(prefix="rageval-tests-")
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    atexit.register(shutil.rmtree, sys.pycache_prefix, ignore_errors=True)

# No test pulls the plug, and a disk that is waited for three thousand times takes seconds. Those that fail
# on purpose put their own in its place.
os.fsync = lambda descriptor: None

# Tables are as wide as they are, unless a test sets a width. xdist sets one; so does readline, which pytest
# imports, and which writes it where only processes that are started see it.
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")

if "mix_stderr" in inspect.signature(CliRunner.__init__).parameters:  # click before 8.2 puts both into one
    CliRunner.__init__.__defaults__ = tuple(  # type: ignore[misc]
        False if default is True else default for default in CliRunner.__init__.__defaults__ or ()
    )

_ended = subprocess.Popen.__exit__


def _ended_for_good(process: subprocess.Popen[bytes], kind: object, *more: object) -> None:
    """End a process where its test has failed: it would be waited for, perhaps for ever."""
    if kind is not None:
        process.kill()
    _ended(process, kind, *more)  # type: ignore[arg-type]


subprocess.Popen.__exit__ = _ended_for_good  # type: ignore[method-assign, assignment]


def _leaves_out(circle: str, config: pytest.Config) -> bool:
    """Tell whether tests of a circle are not asked for."""
    asked = config.option.markexpr.split()
    return f"not {circle}" in " ".join(asked) and "or" not in asked


SLOW_FILE = re.compile(r"(?m)^pytestmark = \[?pytest\.mark\.(?:slow|nightly)\b")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file of which all is slow where nothing slow is asked for."""
    if not collection_path.name.startswith("test_") or not _leaves_out("slow", config):
        return None
    return True if SLOW_FILE.search(collection_path.read_text(encoding="utf-8")) else None


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> list[pytest.Item] | None:
    """Make no cases of a test that is left out as a whole: most would be, and that takes seconds."""
    config = collector.config
    # Who names a test should hear that it is left out, not that there is none.
    if not name.startswith(("test", "Test")) or any("::" in word for word in config.args):
        return None
    marks = {mark.name for mark in getattr(obj, "pytestmark", ())}
    left_out = {circle for circle in ("slow", "nightly") if _leaves_out(circle, config)}
    return [] if marks & left_out else None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Let every second process read the tests from the end: pytest compiles each file once, and not twice.

    The first time, that takes longer than anything else here, and all processes would be at the same file.
    """
    report = yield
    if isinstance(collector, pytest.Dir) and os.environ.get("PYTEST_XDIST_WORKER", "0")[-1] in "13579":
        report.result.reverse()
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process tests that follow one another: what a file builds is then built once."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


MANY = 4  # cases of a test


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path)  # for all processes the same, whichever way they read them
    cases: dict[str, int] = {}
    for item in items:
        # A law has many cases that are alike: one in so many stays, the others are in the next circle.
        if few := item.get_closest_marker("some"):
            test = item.nodeid.partition("[")[0]
            cases[test] = cases.get(test, -1) + 1
            if cases[test] % few.args[0]:
                item.add_marker("nightly" if item.get_closest_marker("slow") else "slow")
        if item.path.stem in SCORING:
            item.add_marker("scoring")
        # A browser takes seconds to start, and a computer need not have one.
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
        if AGAIN & {item.nodeid, item.nodeid.partition("::")[0]}:
            item.add_marker("again")
    _keep_some_of_many(items)


def _keep_some_of_many(items: list[pytest.Item]) -> None:
    """Leave all but one of MANY cases of a slow test to the nightly circle; not what pages show."""
    of_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("nightly"):
            of_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for test, cases in of_test.items():
        if len(cases) >= MANY and not test.startswith("tests/docs/"):
            for index, item in enumerate(cases):
                if index % MANY:
                    item.add_marker("nightly")


def pytest_collection_finish() -> None:
    """Take what was collected out of what is looked at for garbage, over and over, while tests run."""
    gc.collect()
    gc.freeze()


# With the packages of `dev` alone, what needs another is skipped. CI notes what, and runs it when it has all.
SKIPPED = Path(os.environ["SKIPPED_TESTS"]) if "SKIPPED_TESTS" in os.environ else None
AGAIN = set(SKIPPED.read_text(encoding="utf-8").splitlines()) if SKIPPED and SKIPPED.exists() else set()


def pytest_runtest_logreport(report: pytest.TestReport | pytest.CollectReport) -> None:
    # By the process that gathers what others run; not while these are run again.
    if SKIPPED and report.skipped and not AGAIN and "PYTEST_XDIST_WORKER" not in os.environ:
        with SKIPPED.open("a", encoding="utf-8") as stream:
            stream.write(f"{report.nodeid}\n")


pytest_collectreport = pytest_runtest_logreport  # of a file that is skipped as a whole


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if sys.platform == "win32" and isinstance(error, AttributeError) and error.obj in (os, signal):
            pytest.skip(f"Windows has no {error.name}")
        is_absent = isinstance(error, ModuleNotFoundError) and error.name in LACKING
        if is_absent or (LACKING and "needs the package" in str(error)):
            pytest.skip(str(error)[:200])
        raise


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to judge in, with a store of its own, and keys that are none."""
    from fair_judge import SENTINEL

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("OPENAI_API_KEY", SENTINEL)
    monkeypatch.setenv("ANTHROPIC_API_KEY", SENTINEL)
    return tmp_path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    """A provider on this machine who judges fairly, and whom both SDKs are pointed at."""
    pytest.importorskip("openai")
    pytest.importorskip("anthropic")
    from fair_judge import fair
    from llm_server import LlmServer

    with LlmServer(fair) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.openai)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.anthropic)
        yield running
