"""How far a job is, as it is shown on a terminal, in a log, and not at all."""

from __future__ import annotations

import io
import os
from collections import Counter
from pathlib import Path

import pytest

from rageval.judges.asking import JobProgress, JobTally, Patience, ask_all, line
from rageval.judges.base import Reply, Request, Transient, Usage
from rageval.judges.store import Store
from rageval.testing import ScriptedModel


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def shown(stream: io.StringIO, steps: int, seconds: float, quiet: bool = False) -> str:
    now = [0.0]
    progress, tally = JobProgress(stream=stream, quiet=quiet, clock=lambda: now[0]), JobTally(total=steps)
    for _ in range(steps):
        now[0] += seconds
        tally.answered += 1
        tally.calls += 1
        progress.update(tally)
    progress.close(tally)
    return "" if isinstance(stream, Closed) else stream.getvalue()


def test_elsewhere_than_on_a_terminal_there_is_a_line_every_half_minute() -> None:
    lines = shown(io.StringIO(), steps=100, seconds=1.0).splitlines()
    assert [line.split()[0] for line in lines] == ["30/100", "60/100", "90/100", "100/100"]
    assert "1.0/s" in lines[0]
    assert "1:10 left" in lines[0]


def test_on_a_terminal_one_line_moves() -> None:
    output = shown(Terminal(), steps=100, seconds=0.1)
    assert output.count("\n") == 1
    assert output.endswith("\n")
    drawn = output.split("\r")[1:]  # each line is covered with blanks before the next, which any terminal can
    assert 20 <= len(drawn) / 2 <= 51
    assert [len(blank) for blank in drawn[2::2]] == [len(line) for line in drawn[1:-2:2]]
    assert not "".join(drawn[::2]).strip()


def test_quiet_is_quiet_and_nobody_reading_stops_no_job() -> None:
    assert shown(io.StringIO(), 100, 1.0, quiet=True) == shown(Terminal(), 100, 1.0, quiet=True) == ""
    shown(Closed(), 100, 1.0)


def test_a_line_holds_rate_failures_spend_and_the_time_left() -> None:
    tally = JobTally(
        1000, 100, 300, Counter(refused=2, error=1), 310, 0.5, 7, Counter({"503": 9, "\x1b[31m": 1})
    )
    text = line(tally, 60.0)
    assert text == (
        "400/1,000 answered, 100 from the store, 5.0/s, $0.50 and 7 calls without a price,"
        r" without a verdict: 2 refused, 1 error, tried again: 9 503, 1 \x1b[31m, 2:00 left"
    )
    assert line(JobTally(total=None), 0.0) == "0/? answered"
    assert line(JobTally(total=100_000, answered=1), 1.0).endswith("27:46:39 left")


def test_a_job_tells_what_it_comes_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models]\n"paid:m" = { input = 0, output = 1000 }')
    monkeypatch.setenv("RAGEVAL_PRICES", str(prices))
    monkeypatch.setitem(os.environ, "COLUMNS", "200")

    def say(request: Request) -> Reply | Transient:
        if request.user == "3":
            return Transient("paid:m: 503: later")
        return Reply("refused" if request.user == "4" else "ok", "yes", usage=Usage(1, 10))

    requests = [(number, Request("s", str(number), {}, max_tokens=10)) for number in range(10)]
    stream = io.StringIO()
    patience = Patience(tries=3, first_pause=0.001)
    with Store(tmp_path / "store.sqlite") as store:
        model = ScriptedModel(say, "paid:m")
        list(ask_all(requests[:2], model, store))
        list(ask_all(requests, model, store, progress=JobProgress(stream=stream), patience=patience))
        (last,) = stream.getvalue().splitlines()
        assert last.startswith("10/10 answered, 2 from the store, ")
        guessed = "$0.10 (at most: the usage of 3 calls is not known), "
        assert guessed in last, "seven replies, and three calls that may have been paid for"
        assert "without a verdict: 1 " in last
        assert last.endswith("tried again: 3 503, 0:00 left")
        list(ask_all(requests[5:], model, store, progress=JobProgress(stream=stream)))
    assert stream.getvalue().splitlines() == [last], "nothing was asked, so there is nothing to say"


def test_a_notebook_shows_one_line_that_moves() -> None:
    class Notebook(io.StringIO):
        """As ipykernel's stream, which is no terminal."""

    Notebook.__module__ = "ipykernel.iostream"
    stream, now = Notebook(), [0.0]
    progress, tally = JobProgress(stream=stream, clock=lambda: now[0]), JobTally(total=3)
    for tally.answered in (1, 2):
        now[0] += 5
        progress.update(tally)
    progress.close(tally)
    first, second, last = stream.getvalue().split("\r")[2::2]
    assert first.startswith("1/3")
    assert second.startswith("2/3")
    assert "\n" not in first + second
    assert last.endswith("\n")
