"""The words for the basis of a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rageval.core.basis import Basis, BasisKind
from rageval.core.ruling import Ruling
from rageval.text import visible

NO_JUDGE_ERROR = "this ignores judge errors"
NO_WINNER = "computed from the texts alone, so no winner is named"
IF_DRAWN = "if these labels are a random draw"


def name_judges(basis: Basis) -> str:
    """Return what the judges of a basis are called in a sentence.

    >>> [name_judges(Basis.of([judge])) for judge in ("openai:gpt@3f2a", "", "people")]
    ['openai:gpt', 'an unnamed judge', 'human labels']
    >>> name_judges(Basis.of(["short,10%:openai:m"])), name_judges(Basis.of(["short,rest:person:ann"]))
    ('short, 10 % by openai:m', 'short, the rest by person:ann')
    """
    if basis.is_judge:
        return visible("+".join(basis.names)) or "an unnamed judge"
    return {BasisKind.PEOPLE: "human labels", BasisKind.WORDS: "words"}.get(basis.kind, "")


def name_labels(basis: Basis) -> str:
    """Return what labels of a basis are called in a sentence.

    >>> name_labels(Basis.of_labels([""])), name_labels(Basis.of_labels(["openai:big"]))
    ('human labels', 'labels of openai:big')
    """
    return ("labels of " if basis.is_judge else "") + name_judges(basis)


def attribution(basis: Basis) -> str:
    """Return what a claim has to say of its basis; nothing if it depends on human labels, or nobody says.

    Where nobody states how labels were drawn, a claim says its condition.

    >>> attribution(Basis.of_labels(["people"], Basis.of(["m"]))), attribution(Basis.of(["m"]))
    ('', 'by m')
    >>> attribution(Basis.parse("people", corrected_from="judge:m", drawn="unstated"))
    'if these labels are a random draw'
    >>> attribution(Basis.of(["majority:contains+exact,tiebreak:number"]))
    'by majority:contains+exact,tiebreak:number, not checked against people'
    >>> attribution(Basis.of_labels(["big"], Basis.of(["small"]))), attribution(Basis(is_of_texts=True))
    ('by big, corrected from small', '')
    """
    if not basis.is_judge:
        return IF_DRAWN if basis.is_draw_unstated else ""
    unchecked = ", not checked against people" if basis.is_unchecked else ""
    return f"by {name_judges(basis)}{_corrections(basis)}{unchecked}"


def _corrections(basis: Basis) -> str:
    """Return whose values are corrected, and the condition if nobody states how the labels were drawn."""
    corrected = f", corrected from {name_judges(basis.source)}" if basis.corrected else ""
    return corrected + (f", {IF_DRAWN}" if basis.is_draw_unstated else "")


def describe_basis(basis: Basis) -> str:
    """Return what a number depends on; nothing where nobody says who judged.

    >>> describe_basis(Basis.of_labels(["people"], Basis.of(["m"]))), describe_basis(Basis.of(["m"]))
    ('by human labels, corrected from m', 'by m')
    """
    if basis.kind is BasisKind.PEOPLE:
        return f"by human labels{_corrections(basis)}"
    if basis.kind is BasisKind.WORDS:
        return "by words: no winner is named"
    return attribution(basis)


def single_values_note(basis: Basis) -> str:
    """Return whose the values of single queries are where labels correct their mean; nothing elsewhere.

    >>> single_values_note(Basis.of_labels(["people"], Basis.of(["m"]))), single_values_note(Basis.of(["m"]))
    ('values of single queries are by m, uncorrected', '')
    """
    if not basis.corrected:
        return ""
    return f"values of single queries are by {name_judges(basis.source)}, uncorrected"


def claim_text(ruling: Ruling, basis: Basis) -> str:
    """Return a ruling as a claim, which names its basis unless that is human labels of a stated draw.

    >>> claim_text(Ruling.WORSE, Basis.of(["m"])), claim_text(Ruling.REFUSED, Basis.of(["m"]))
    ('worse by m', 'refused')
    >>> claim_text(Ruling.HIGHER, Basis.of_labels(["big"], Basis.of(["m"])))
    'higher by big, corrected from m'
    """
    if ruling is Ruling.IDENTICAL:  # what is the same needs no labels
        basis = replace(basis, drawn=None)
    whose = attribution(basis)
    return f"{ruling} {whose}" if whose and ruling.is_claim else str(ruling)


def uncorrected_notes(bases: Mapping[str, Basis], are_labels_passed: bool = False) -> list[str]:
    """Return which measures depend on judges alone, and which on words, from {measure: basis}.

    Where labels are passed, and cannot correct a measure, nobody is told to pass them.

    >>> uncorrected_notes({"crag_score": Basis.of(["m"]), "length": Basis(is_of_texts=True), "rr": Basis()})
    ['by m: crag_score (this ignores judge errors; pass human labels with --gold to account for them)', \
'length: computed from the texts alone, so no winner is named']
    """
    alone = {name: basis for name, basis in bases.items() if not basis.corrected}
    notes = []
    for basis in dict.fromkeys(basis for basis in alone.values() if basis.is_judge):
        names = ", ".join(name for name, other in alone.items() if other == basis)
        remedy = "" if are_labels_passed else "; pass human labels with --gold to account for them"
        notes.append(f"{attribution(basis)}: {names} ({NO_JUDGE_ERROR}{remedy})")
    if names := ", ".join(name for name, basis in alone.items() if basis.is_of_texts):
        notes.append(f"{names}: {NO_WINNER}")
    return notes


def correction_notes(bases: Mapping[str, Basis]) -> list[str]:
    """Return which measures are corrected by whose labels, from {measure: basis}.

    >>> correction_notes({"crag_score": Basis.of_labels(["people"], Basis.of(["m"])), "rr": Basis()})
    ['corrected by human labels: crag_score']
    """
    notes = []
    for basis in dict.fromkeys(basis for basis in bases.values() if basis.corrected):
        names = ", ".join(name for name, other in bases.items() if other == basis)
        condition = f", {IF_DRAWN}" if basis.is_draw_unstated else ""
        notes.append(f"corrected by {name_labels(basis)}{condition}: {names}")
    return notes


def conditions_of(basis: Basis) -> str:
    """Return on what condition labels show an error rate, and that they are not people's."""
    condition = f", {IF_DRAWN}" if basis.is_draw_unstated else ""
    return condition + (f"; by {name_labels(basis)}, not checked against people" if basis.is_judge else "")
