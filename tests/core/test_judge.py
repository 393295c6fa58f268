"""A judge has one written form, whatever it is called; what files of earlier versions name is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval.core.basis import Basis
from rageval.core.judge import AnyJudge, Cascade, Judge, Panel, join_judges, parse_judge, split_judges

_TOKENS = [
    *"ab+,:@%1 .é",
    "majority",
    "median:",
    "mixed:",
    "unfenced",
    ",tiebreak:",
    "rest",
    "short",
    "person:",
]
_NAMES = st.lists(
    st.sampled_from([*_TOKENS, ",10%:", ",rest:", ",rest[", "]:", "@3f2a", "%2B"]), max_size=6
).map("".join)


def _judges(*, is_asked: bool = True) -> st.SearchStrategy[AnyJudge]:
    plain = st.builds(Judge, _NAMES)
    marks = st.lists(_NAMES.filter(bool), max_size=2).map(tuple)
    plain |= st.builds(Judge, _NAMES, st.just(""), st.just(("unfenced",)))
    asked = st.builds(Judge, _NAMES, st.sampled_from(["3f2a", "1a2b3c4d"]), marks)

    def several(judges: st.SearchStrategy[AnyJudge]) -> st.SearchStrategy[AnyJudge]:
        members = st.lists(judges, min_size=1, max_size=3).map(tuple)
        panels = st.builds(
            Panel, st.sampled_from(["majority", "median", "mixed"]), members, st.none() | judges
        )
        shares = st.builds(Cascade, judges, judges, st.sampled_from([None, "10", "2.5"]))
        return panels | shares | st.builds(Cascade, judges, judges, st.none(), judges)

    return st.recursive(plain | asked if is_asked else plain, several, max_leaves=5)


@given(_judges())
def test_the_written_form_of_a_judge_is_read_as_the_same_judge(judge: AnyJudge) -> None:
    assert parse_judge(str(judge)) == judge


@pytest.mark.slow
@given(st.lists(_judges(is_asked=False).filter(lambda judge: judge != Judge()), min_size=1, max_size=3))
def test_the_text_for_programs_names_the_same_judges(judges: list[AnyJudge]) -> None:
    assert split_judges(join_judges(judges)) == tuple(judges)


@pytest.mark.parametrize(
    "text", ["short,10%:exact", "short,rest[people]:openai:m", "majority:a+b,tiebreak:c", "openai:m+unfenced"]
)
def test_a_basis_has_the_written_form_of_its_judge(text: str) -> None:
    basis = Basis.of([text])
    assert str(basis) == f"judge:{text}"
    assert Basis.parse(str(basis)) == basis


@pytest.mark.parametrize(
    "text",
    [
        *("", "openai:gpt-4o@3f2a91bc", "openai:@cf/meta/llama@3f2a91bc+unfenced+umbrela"),
        *("openai:m@http://localhost:8000/v1", "Smith, J. (R+D), 50 %"),
        *("majority:contains+exact,tiebreak:number", "median:openai:a@3f2a91bc+person:ann"),
        *("short@11232537,10%:openai:m@3f2a91bc", "majority:a+b,tiebreak:c,rest:person:ann"),
        "short@11232537,rest[people]:openai:m@3f2a91bc",
    ],
)
def test_ordinary_names_are_written_as_they_are(text: str) -> None:
    assert str(parse_judge(text)) == text


def test_a_mark_in_a_vote_of_an_earlier_version_is_no_voter() -> None:
    vote = parse_judge("majority:openai:a@1a2b3c4d+unfenced+openai:b@1a2b3c4d+unfenced")
    assert vote == Panel(
        "majority",
        (Judge("openai:a", "1a2b3c4d", ("unfenced",)), Judge("openai:b", "1a2b3c4d", ("unfenced",))),
    )
    assert vote.is_unfenced


@pytest.mark.parametrize(
    ("text", "is_person", "is_text_rule", "is_unchecked"),
    [
        ("person:ann", True, False, False),
        ("majority:person:ann+person:bob", True, False, False),
        ("mixed:person:ann+openai:m", False, False, False),
        ("short@11232537", False, True, True),
        ("majority:contains+exact,tiebreak:openai:m", False, False, False),
        ("short,10%:openai:m", False, False, True),
        ("short,rest:openai:m", False, False, True),
        ("short,rest[people]:openai:m", False, False, False),
        ("short,rest[openai:n]:openai:m", False, False, True),
        ("short,rest[people]:contains", False, True, True),
        ("", False, False, False),
    ],
)
def test_whose_word_it_is_follows_from_who_spoke(
    text: str, is_person: bool, is_text_rule: bool, is_unchecked: bool
) -> None:
    judge = parse_judge(text)
    assert (judge.is_person, judge.is_text_rule, judge.is_unchecked) == (
        is_person,
        is_text_rule,
        is_unchecked,
    )
