"""No name, of whatever characters, forges a part of a signature, and different names have different ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rageval
from rageval.comparison.gate import GateSettings
from rageval.comparison.results import Settings
from rageval.core.signature import join_signature, split_version

NAMES = st.lists(st.sampled_from([*"|:=,+%ab", "%7C", "%25", "v:0", "|v:9", "judge:x"]), min_size=1).map(
    lambda parts: "a" + "".join(parts)
)
CLUSTERS = {"q1": "one", "q2": "two"}


def _of_answers(name: str) -> str:
    row = {"run_id": "r", "rubric": "crag", "aspect": "correctness", "label": "accurate", "judge": name}
    rows = [{**row, "query_id": query} for query in ("q1", "q2")]
    return rageval.evaluate_answers("accuracy", rows)["r"]["accuracy"].signature


# Where names that users choose stand in signatures.
SIGNED: dict[str, Callable[[str], str]] = {
    "judge": _of_answers,
    "baseline": lambda name: Settings(baseline=name).signature,
    "clusters": lambda name: Settings(clusters=CLUSTERS, clustered_by=name).signature,
    "clusters of a gate": lambda name: GateSettings(0.1, clusters=CLUSTERS, clustered_by=name).signed(False),
    "part": lambda name: join_signature("measure", {"judge": name, "v": "1"}),
}


def _keys(signature: str) -> list[str]:
    return [part.partition(":")[0] for part in signature.split("|")]


@pytest.mark.slow
@pytest.mark.parametrize("place", SIGNED)
@given(name=NAMES, other=NAMES)
def test_a_name_is_no_part_of_a_signature(place: str, name: str, other: str) -> None:
    sign = SIGNED[place]
    assert _keys(sign(name)) == _keys(sign("a")), name
    assert (sign(name) == sign(other)) == (name == other)


@given(name=NAMES)
def test_the_version_is_split_off_whatever_the_names(name: str) -> None:
    parts = {"judge": name}
    whole = join_signature(name, {**parts, "v": "1.0"})
    assert split_version(whole) == (join_signature(name, parts), "|v:1.0")
    assert split_version(join_signature(name, parts)) == (join_signature(name, parts), "")
