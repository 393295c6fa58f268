"""What is known of a run met with judgements."""

from __future__ import annotations

import pytest

from rageval.scoring.sources import Notes


@pytest.mark.parametrize(
    ("without", "judged", "expected"),
    [(0, [], False), (0, [3], False), (1, [3], True), (1, [3, 2], False), (2, [3, 2], True)],
)
def test_nothing_is_relevant_where_no_judged_query_has_anything(
    without: int, judged: list[int], expected: bool
) -> None:
    """One query is enough to say so, and none is not."""
    assert Notes(queries_without_relevant=without, judged=judged).nothing_relevant is expected
