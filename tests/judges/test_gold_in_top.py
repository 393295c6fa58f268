"""In how many questions a gold answer stands in the first k search results."""

from __future__ import annotations

import math

import pytest

from rageval.judges import gold_in_top
from rageval.records import Question

ASKED = [
    Question("q1", "Where?", ("Oslo",)),
    Question("q2", "When?", ("nineteen-five", "1905")),
    Question("q3", "Why not?", ("Invalid question",)),
    Question("q4", "Who?", ("him",)),
]
RESULTS = {
    "q1": [
        "Bergen",
        "<html><script>var x = 'Oslo'</script><body>nothing</body></html>",
        "It is <b>OSLO</b>.",
    ],
    "q2": ["&#49;905 &amp; later <br>", "1905"],
    "q3": ["an invalid question"],
}


def test_shares_by_hand() -> None:
    shares = gold_in_top(ASKED, RESULTS, (1, 2, 3, 50))
    assert [(top.k, top.found, top.questions) for top in shares] == [
        (1, 1, 3),
        (2, 1, 3),
        (3, 2, 3),
        (50, 2, 3),
    ]
    assert [top.share for top in shares] == [1 / 3, 1 / 3, 2 / 3, 2 / 3]


def test_it_grows_with_k() -> None:
    shares = [top.share for top in gold_in_top(ASKED, RESULTS, range(1, 9))]
    assert shares == sorted(shares)


@pytest.mark.parametrize("text", ["Oslofjord", "Osl o", "", "<Oslo>"])
def test_a_part_of_a_word_is_not_found(text: str) -> None:
    assert gold_in_top(ASKED[:1], {"q1": [text]}, (1,))[0].found == 0


def test_of_nothing_there_is_no_share() -> None:
    (top,) = gold_in_top([ASKED[2]], RESULTS, (1,))
    assert (top.questions, math.isnan(top.share)) == (0, True)
