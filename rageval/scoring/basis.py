"""What a number depends on: human labels, a judge by name, or words alone.

A basis is a short text for programs: `people`, `judge:NAME` (`judge`, if the judge has no name), `words`, or
nothing where nobody says who judged, as in plain qrels. Whatever is written of a basis is written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rageval.text import visible

PEOPLE, JUDGE, WORDS = "people", "judge", "words"
NOT_IN_IT = "this ignores judge errors"
# What compares texts without a model: a right answer in other words is wrong to it.
OFFLINE = ("short", "exact", "contains", "number")
NO_WINNER = "computed from the texts alone, so no winner is named"
_PEOPLE = ("person", "people", "human", "annotator", "assessor")  # what names of people begin with
_DIGEST = re.compile(r"@[0-9a-f]{4,}(?=[+,]|$)")  # of a judge's prompt
# Between a judge and who decides what it is unsure of: which part that is.
_HANDED_ON = re.compile(r",(?:(?P<share>[\d.]+)%|rest):")
_UNNAMED = "an unnamed judge"


def is_person(judge: str) -> bool:
    """Return whether a judge's name says that this is a person, or a vote of persons.

    >>> is_person("person:ann"), is_person("majority:person:ann+person:bob"), is_person("openai:m@3f2a")
    (True, True, False)
    """
    return all(re.split("[:@]", name)[0].lower() in _PEOPLE for name in voters_in(judge))


def is_offline(judge: str) -> bool:
    """Return whether a judge's name says that it compares texts, without a model.

    >>> is_offline("short@11232537"), is_offline("contains"), is_offline("openai:m@3f2a")
    (True, True, False)
    """
    return _DIGEST.sub("", judge) in OFFLINE


def has_digest(judge: str) -> bool:
    """Return whether a judge's name holds the digest of what it was asked.

    >>> has_digest("openai:m@3f2a"), has_digest("openai:m")
    (True, False)
    """
    return _DIGEST.search(judge) is not None


def handed_on(first: str, then: str, share: float | None = None) -> str:
    """Return the name of a judge of which another decides a share, or the rest.

    >>> handed_on("short", "openai:m", 0.1), handed_on("short", "person:ann")
    ('short,10%:openai:m', 'short,rest:person:ann')
    """
    return f"{first},{'rest' if share is None else f'{100 * share:.3g}%'}:{then}"


def voters_in(judge: str) -> list[str]:
    """Return who voted, or decided a part, if a judge's name says so; else the judge.

    >>> voters_in("majority:a+b,tiebreak:c"), voters_in("short,10%:openai:m"), voters_in("a")
    (['a', 'b', 'c'], ['short', 'openai:m'], ['a'])
    """
    handing = _HANDED_ON.search(judge)
    if handing is not None:
        return [*voters_in(judge[: handing.start()]), *voters_in(judge[handing.end() :])]
    voters = judge.removeprefix("majority:").removeprefix("median:")
    return [judge] if voters == judge else voters.replace(",tiebreak:", "+").split("+")


def basis_of(judges: Iterable[str]) -> str:
    """Return the basis of what these judges said; a judge without a name is no person.

    >>> basis_of(["person:ann"]), basis_of(["person:ann", "exact"]), basis_of([""]), basis_of([])
    ('people', 'judge:person:ann+exact', 'judge', '')
    """
    names = list(judges)
    if not names:
        return ""
    if all(map(is_person, names)):
        return PEOPLE
    known = dict.fromkeys(_DIGEST.sub("", name) for name in names if name)
    return f"{JUDGE}:{'+'.join(known)}" if known else JUDGE


def basis_of_gold(labellers: Iterable[str]) -> str:
    """Return the basis of what is corrected by labels: people's, unless a name says that it is another's.

    Who gives labels as gold says what they are, so labels without a name are people's. A name that does not
    say that it is a person's (`person:NAME`) stands for itself.

    >>> basis_of_gold([""]), basis_of_gold(["person:ann", ""]), basis_of_gold(["openai:gpt@3f2a"])
    ('people', 'people', 'judge:openai:gpt')
    """
    return basis_of([name or PEOPLE for name in labellers] or [PEOPLE])


def judges_in(basis: str) -> str:
    """Return the name of the judge of a basis; nothing where there is no judge, or none with a name."""
    return basis.removeprefix(f"{JUDGE}:") if basis.startswith(f"{JUDGE}:") else ""


def is_judge(basis: str) -> bool:
    """Return whether all depends on what a judge says that is no person."""
    return basis == JUDGE or bool(judges_in(basis))


def named(basis: str) -> str:
    """Return what a basis is called in a sentence.

    >>> named("judge:openai:gpt"), named("judge"), named("words"), named("people")
    ('openai:gpt', 'an unnamed judge', 'words', 'human labels')
    >>> named("judge:short,10%:openai:m"), named("judge:short,rest:person:ann")
    ('short, 10 % by openai:m', 'short, the rest by person:ann')
    """
    if is_judge(basis):
        who = _HANDED_ON.sub(lambda part: f", {_said_of(part['share'])} by ", judges_in(basis))
        return visible(who) or _UNNAMED
    return {PEOPLE: "human labels", WORDS: "words"}.get(basis, "")


def _said_of(share: str | None) -> str:
    return "the rest" if share is None else f"{share} %"


def by_whom(basis: str, corrected_from: str = "") -> str:
    """Return what a claim has to say of its basis; nothing if it depends on human labels, or nobody says.

    >>> by_whom("people", "judge:m"), by_whom("judge:m"), by_whom("judge:contains")
    ('', 'by m', 'by contains, not checked against people')
    >>> by_whom("judge:majority:contains+exact,tiebreak:number")
    'by majority:contains+exact,tiebreak:number, not checked against people'
    >>> by_whom("judge:big", "judge:small"), by_whom("words")
    ('by big, corrected from small', '')
    """
    if not is_judge(basis):
        return ""
    if corrected_from:
        return f"by {named(basis)}, corrected from {named(corrected_from)}"
    return f"by {named(basis)}" + (", not checked against people" if is_unchecked(basis) else "")


def is_unchecked(basis: str) -> bool:
    """Return whether only judges said it, or most of it, that compare texts, and that nobody checked.

    Of what is kept with a bound, human labels showed the bound.

    >>> is_unchecked("judge:short"), is_unchecked("judge:short,10%:openai:m"), is_unchecked("people")
    (True, True, False)
    >>> is_unchecked("judge:short,rest:openai:m")
    False
    """
    handing = _HANDED_ON.search(basis)
    if handing is not None:
        rest = f"{JUDGE}:{basis[handing.end() :]}"
        return is_unchecked(rest if handing["share"] is None else basis[: handing.start()])
    return is_judge(basis) and all(name in OFFLINE for name in voters_in(judges_in(basis)))


def in_words(basis: str, corrected_from: str = "") -> str:
    """Return what a number depends on, in words; nothing where nobody says who judged.

    >>> in_words("people", "judge:m"), in_words("people"), in_words("judge:m")
    ('by human labels, corrected from m', 'by human labels', 'by m')
    """
    if basis == PEOPLE:
        return "by human labels" + (f", corrected from {named(corrected_from)}" if corrected_from else "")
    if basis == WORDS:
        return "by words: no winner is named"
    return by_whom(basis, corrected_from)


def said_of_bases(bases: Mapping[str, str]) -> list[str]:
    """Say which measures depend on judges alone, and which on words, from {measure: basis}.

    >>> said_of_bases({"crag_score": "judge:m", "length": "words", "rr": ""})
    ['by m: crag_score (this ignores judge errors; pass human labels with --gold to account for them)', \
'length: computed from the texts alone, so no winner is named']
    """
    said = []
    for basis in dict.fromkeys(filter(is_judge, bases.values())):
        names = ", ".join(name for name, each in bases.items() if each == basis)
        said.append(
            f"{by_whom(basis)}: {names} ({NOT_IN_IT}; pass human labels with --gold to account for them)"
        )
    if names := ", ".join(name for name, each in bases.items() if each == WORDS):
        said.append(f"{names}: {NO_WINNER}")
    return said


def said_of_corrected(bases: Mapping[str, tuple[str, str]]) -> list[str]:
    """Say which measures are corrected by whose labels, from {measure: (basis, corrected from)}.

    >>> said_of_corrected({"crag_score": ("people", "judge:m"), "rr": ("", "")})
    ['corrected by human labels: crag_score']
    """
    said = []
    for basis, source in dict.fromkeys(each for each in bases.values() if each[1]):
        names = ", ".join(name for name, each in bases.items() if each == (basis, source))
        whose = "" if basis == PEOPLE else "labels of "
        said.append(f"corrected by {whose}{named(basis)}: {names}")
    return said
