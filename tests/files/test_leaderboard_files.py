"""Leaderboards: three forms, told apart; what is written is read back bit for bit; bad lines are named."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval.errors import InputError, UsageError
from rageval.files.scores import FORMS, Form, LeaderboardRow, read_leaderboard, write_leaderboard

GOLDEN = Path(__file__).parents[1] / "golden" / "leaderboards"
names = st.one_of(st.sampled_from(["runid", "all", "{", "#", "\ufeffx", "a\x85", "1"]), st.text(max_size=4))


def given_as(text: str, name: str = "board") -> io.BytesIO:
    stream = io.BytesIO(text.encode())
    stream.name = name
    return stream


@pytest.mark.slow
@given(
    st.dictionaries(st.tuples(names, names), st.floats(), min_size=1, max_size=4),
    st.sampled_from(FORMS),
)
@settings(max_examples=150)
def test_what_is_written_is_read_back_bit_for_bit(values: dict[tuple[str, str], float], form: Form) -> None:
    """Whatever the ids: those that a form has no room for are refused when it is written."""
    rows = [LeaderboardRow(run, "all", name, value) for (run, name), value in values.items()]
    rows = list({row[:3]: row for row in rows}.values())
    try:
        text = "\n".join(write_leaderboard(rows, form))
    except (InputError, UsageError):
        return
    back = read_leaderboard(given_as(text), form)
    assert list(map(bits, back)) == list(map(bits, rows))


def bits(row: LeaderboardRow) -> tuple[str, ...]:
    return (*row[:3], "nan" if math.isnan(row.value) else row.value.hex())


def test_headers_say_which_form_it_is() -> None:
    text = "run_id\trequest_id\tmetric\tvalue\nr 1\tq1\targue_f1\t0.5\n"
    assert read_leaderboard(given_as(text)) == [LeaderboardRow("r 1", "q1", "argue_f1", 0.5)]
    text = "\ufeffrun measure topic score\r\nr ndcg q1 1e-3\r\n"
    assert read_leaderboard(given_as(text)) == [LeaderboardRow("r", "q1", "ndcg", 0.001)]
    with pytest.raises(InputError, match="header is run topic measure value, which is not the form tot"):
        read_leaderboard(GOLDEN / "kiddie.truth.txt", "tot")
    with pytest.raises(InputError, match=r"cannot tell which column holds the topics"):
        read_leaderboard(given_as("topic measure run score\nq1 ndcg r 1e-3\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("# nothing\n", "holds comments only"),
        ("run topic measure value\n", "holds no value"),
        ("ndcg all 0.5\n", "board:1: expected 4 columns of a leaderboard, found 3"),
        ("r all ndcg 0.5\nr all ndcg 0.5\n", "board:2: a second value for r, all, ndcg, .* line 1"),
        ("r all ndcg 0.5\nr all map\n", "board:2: expected 4 columns of a leaderboard, found 3"),
        ("r all ndcg much\n", "board:1: expected a number, True or False, found 'much'"),
        ("r all ndcg 1e999\n", "board:1: expected a number"),
        ("r all ndcg 1_0\n", "board:1: expected a number"),
        ("r all ndcg inf\n", "board:1: expected a number"),
        ("a b\n", "board:1: expected 4 columns"),
        ("r all nd\x00cg 1\n", "board:1: byte 9 is the control byte 0x00"),
        (f"r all {'x' * 2000} 1\n", "board:1: expected an id of up to 1,024 bytes"),
        ('{"run_id": "r", "measure": "m", "value": 1}\n', "board:1: .*expected a topic_id .*found neither"),
        ('{"run_id": "r", "topic_id": 1, "query_id": 2, "measure": "m", "value": 1}\n', "two that differ"),
        ('{"run_id": "r", "topic_id": "q", "measure": "m", "value": "1"}\n', "board:1: .*in value"),
        ('{"run_id": "r", "topic_id": "q", "measure": "m", "value": 1e999}\n', "board:1: expected"),
        ("[" * 100_000, "board:1: expected 4 columns"),
        ('{"a":' * 100_000, "board:1: .*nested too deeply|board:1: expected"),
    ],
)
def test_bad_lines_are_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_leaderboard(given_as(text))


def test_a_topic_called_all_would_be_taken_for_the_mean() -> None:
    rows = [LeaderboardRow("r", "all", "m", 0.1), LeaderboardRow("r", "all", "m", 0.2)]
    for form in FORMS:
        with pytest.raises(InputError, match="one value for r, all, m; a topic cannot be called 'all'"):
            list(write_leaderboard(rows, form))
