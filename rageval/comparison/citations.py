"""How to cite numbers: the words for a paper, the signatures that let others repeat them, the papers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval import hooks
from rageval.comparison.estimates import estimate_signature, estimate_value
from rageval.comparison.results import BEST, Comparison
from rageval.comparison.tables import by_basis, family_of, over_measures, untested, without_mean
from rageval.core.basis import Basis
from rageval.errors import UsageError
from rageval.measures.papers import bibliography, entries
from rageval.scoring.scores import Score, Scores
from rageval.table import latex_text, latex_typeset
from rageval.text import visible
from rageval.version import __version__
from rageval.views.bases import IF_DRAWN, NO_WINNER, name_judges, name_labels

if TYPE_CHECKING:
    from rageval.measures.parsing import AnyMeasure


_YEAR = 2026  # of the version, as in CITATION.cff
_TESTS = {
    "randomization": "two-sided sign-flip randomization (all patterns of signs, or at least {draws:,} drawn;"
    " mid-$p$ if queries tie)",
    "t": "two-sided paired $t$-tests",
}
_ADJUSTED = {
    "holm": "$p$ adjusted by Holm's method",
    "max_t": "$p$ adjusted by the maximum of $|t|$ (max-T)",
}
_BY_LABELS = "angelopoulos2023ppi"  # whose estimator corrects a judge by people's labels


@dataclass(frozen=True, slots=True)
class Citation:
    """How a paper should report numbers.

    `text` is LaTeX that cites the entries of `bibtex` by their keys; `signatures` hold every rule that the
    numbers depend on. Printed, it is one block of all three.
    """

    text: str
    signatures: tuple[str, ...]
    bibtex: tuple[str, ...]

    def __str__(self) -> str:
        signed = "\n".join(f"% {visible(signature)}" for signature in self.signatures)
        parts = [
            f"% For the text, in LaTeX:\n{self.text}",
            f"% Signatures, with which others can repeat the numbers:\n{signed}",
            "% For the list of references, in BibTeX:",
            *self.bibtex,
        ]
        return "\n\n".join(parts)


def cite(
    found: Comparison | Scores | Mapping[str, Scores] | Iterable[Scores], datasets: Iterable[str] = ()
) -> Citation:
    r"""Return how to cite numbers: the text, their signatures, and the papers behind them.

    Parameters
    ----------
    found
        A comparison, or the scores of one or of several runs.
    datasets
        The ids of the datasets that were scored on, whose papers are cited too.

    Returns
    -------
    Citation
        The words, the signatures and the entries of BibTeX; printed, one block.

    Examples
    --------
    >>> import rageval
    >>> found = cite(rageval.evaluate("alpha_ndcg@10, rr", {"q": {"a": 1.0}}, {"q": {"n1": {"a": 1}}}))
    >>> print(found.text.partition(" over ")[0])
    We report $\alpha$-nDCG@10 ($\alpha=0.5$, rel=1, ideal=greedy)~\cite{clarke2008novelty} and RR (rel=1)
    >>> [entry.partition(",")[0] for entry in found.bibtex]
    ['@software{rageval', '@inproceedings{clarke2008novelty']
    """
    numbers = _numbers_of(found)
    measures = {number.name: number.measure for number in numbers}
    papers, sets = {"rageval": software()}, []
    for measure in measures.values():
        papers |= entries(measure.about.papers if measure is not None else ())
    for dataset in dict.fromkeys(datasets):
        told = entries(hooks.papers_of(dataset))
        # A paper that proposes both measures and data is there already.
        papers |= {key: entry for key, entry in told.items() if key not in papers}
        sets.append(rf"\texttt{{{latex_text(dataset)}}}{_cited(told)}")
    most = max(number.queries + number.undefined for number in numbers)
    named = [_named(name, measure, numbers, most) for name, measure in measures.items()]
    on = f" of {_listed(sets)}" if sets else ""
    said = [
        f"We report {_listed(named)} over {_counted([most])}{on}, computed with"
        rf" rageval~{latex_text(__version__)}~\cite{{rageval}}."
    ]
    said += _said_of_judges({number.name: number.basis for number in numbers if not number.is_corrected})
    signed = [number.signature for number in numbers]
    if any(number.is_corrected for number in numbers):
        papers |= {_BY_LABELS: bibliography()[_BY_LABELS]}
    if isinstance(found, Comparison):
        said += _said_of_tests(found)
        said += [latex_text(f"{remark}.") for remark in without_mean(found)]
        signed = [found.signature, *signed]
    else:
        said += _said_of_labels(numbers)
    # A sentence a line, as texts are kept whose versions are compared.
    return Citation("\n".join(said), tuple(dict.fromkeys(signed)), tuple(papers.values()))


class _Number(NamedTuple):
    """What is reported of a run by a measure, but for its value."""

    name: str
    measure: AnyMeasure | None
    queries: int
    undefined: int
    signature: str
    basis: Basis
    labels: int | None = None
    is_defined: bool = True

    @property
    def is_corrected(self) -> bool:
        """Whether it is what labels make of a judge's values."""
        return self.labels is not None


def _numbers_of(found: Comparison | Scores | Mapping[str, Scores] | Iterable[Scores]) -> list[_Number]:
    if isinstance(found, Comparison):
        known = found.definitions
        return [
            _Number(
                each.measure,
                known.get(each.measure),
                each.queries,
                each.undefined,
                each.signature,
                each.basis,
                each.labels,
            )
            for each in found.cells
        ]
    several: list[Any]
    if isinstance(found, Scores):
        several = [found]
    else:
        several = list(found.values() if isinstance(found, Mapping) else found)
        strange = next((each for each in several if not isinstance(each, Scores)), None)
        if strange is not None or not several:
            raise UsageError(
                f"expected a Comparison or Scores of some runs, found {strange or several!r:.80}"
            )
    return [_number_of(score) for scores in several for score in scores.scores]


def _number_of(score: Score) -> _Number:
    estimate, signature = estimate_value(score), score.signature
    if score.people is not None:
        # Seed and version stand last in every signature.
        rules, mark, version = signature.partition("|v:")
        signature = f"{rules}|{estimate_signature(score.people.draw, str(estimate.labels))}{mark}{version}"
    return _Number(
        str(score.measure),
        score.measure,
        estimate.queries,
        estimate.undefined,
        signature,
        estimate.basis,
        estimate.labels,
        estimate.is_defined,
    )


def software() -> str:
    """Return the entry of this software, of this version."""
    fields = {
        "title": "{rageval: evaluation of retrieval and RAG with nuggets}",
        "author": "{The rageval authors}",
        "version": __version__,
        "year": str(_YEAR),
        "note": "Apache-2.0 licence",
    }
    lines = ",\n".join(f"  {name:<8}= {{{value}}}" for name, value in fields.items())
    return f"@software{{rageval,\n{lines}\n}}"


def _named(name: str, measure: AnyMeasure | None, numbers: Sequence[_Number], most: int) -> str:
    """Return a measure as it is typeset, with its papers, and its queries where these are not all."""
    if measure is None:
        typeset = latex_text(name)
    else:
        typeset = latex_typeset(measure.typeset_whole) + _cited(entries(measure.about.papers))
    queries = [number.queries for number in numbers if number.name == name]
    least, largest = min(queries), max(queries)
    return typeset + (f" (n={f'{least:,} to ' * (least < largest)}{largest:,})" if least < most else "")


def _cited(papers: Mapping[str, str]) -> str:
    return rf"~\cite{{{','.join(papers)}}}" if papers else ""


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _counted(queries: Sequence[int]) -> str:
    least, most = min(queries), max(queries)
    return f"{f'{least:,} to ' * (least < most)}{most:,} quer{'y' if most == 1 else 'ies'}"


def _said_of_judges(bases: Mapping[str, Basis]) -> Iterator[str]:
    """Say of which measures all rests on a judge that is no person, or on words alone."""
    for basis in dict.fromkeys(basis for basis in bases.values() if basis.is_judge):
        names = [latex_text(name) for name, each in bases.items() if each == basis]
        what = "All values" if len(names) == len(bases) else f"Values by {_listed(names)}"
        who = f"{latex_text(name_judges(basis))}, an automatic judge"
        yield f"{what} are by {who}; intervals do not include its error."
    words = [latex_text(name) for name, basis in bases.items() if basis.is_of_texts]
    if words:
        yield f"Values by {_listed(words)} are {NO_WINNER}."


def _said_of_labels(numbers: Sequence[_Number]) -> Iterator[str]:
    """Say of which measures labels correct the means, and where they are no reason for a mean."""
    corrected = [number for number in numbers if number.is_corrected]
    for basis in dict.fromkeys(number.basis for number in corrected):
        own = [number for number in corrected if number.basis == basis]
        if known := [number for number in own if number.is_defined]:
            names = _listed(list(dict.fromkeys(latex_text(number.name) for number in known)))
            labels = _counted([number.labels or 0 for number in known])
            by, judge = latex_text(name_labels(basis)), latex_text(name_judges(basis.source))
            yield f"Means by {names} are by {judge}, corrected by {by} of {labels}~\\cite{{{_BY_LABELS}}}."
        lost: dict[str, int] = {}
        for number in own:
            lost[number.name] = lost.get(number.name, 0) + (not number.is_defined)
        for name, count in lost.items():
            if count:
                runs = f"{count:,} run{'s' * (count > 1)}"
                yield f"By {latex_text(name)} no mean of {runs} is reported: the labels do not allow one."


def _said_of_tests(found: Comparison) -> Iterator[str]:
    """Say how intervals and tests were made, or that nothing was tested."""
    settings, groups = found.settings, by_basis(found)
    if said := untested(found):
        yield latex_text(said)
        return
    if settings.all_pairs:
        against = "between all pairs of runs"
    else:
        against = "from the best run by each measure"
        if settings.baseline != BEST:
            against = f"from {latex_text(settings.baseline)}"
    level = f"at the level {1 - settings.level:.3g}"
    if any(not basis.corrected for basis in found.bases.values()):
        test = _TESTS[settings.test].format(draws=settings.draws)
        adjusted = f"{_ADJUSTED[settings.adjust]}{_family(found)}, {level}"
        if settings.clusters:
            adjusted += f", with clusters of queries ({latex_text(settings.clustered_by)}) as units"
        yield f"Differences {against} were tested by {test}, {adjusted}."
        way = "BCa" if settings.interval == "bca" else settings.interval
        yield (
            rf"The {100 * settings.level:.4g}\% intervals are {way} bootstrap intervals"
            " (of measures with two values, Wilson's)."
        )
    for basis, measures in groups.items():
        if not basis.corrected:
            continue
        names = _listed(list(map(latex_text, measures)))
        labels = _counted([cell.labels or 0 for cell in found.cells if cell.measure in measures])
        by = latex_text(name_labels(basis))
        judge = latex_text(name_judges(basis.source))
        yield (
            f"Differences by {names} {against} are by {judge}, corrected by {by} of {labels}"
            rf"~\cite{{{_BY_LABELS}}}, and tested by Student's $t$, {_ADJUSTED[settings.adjust]}"
            f"{_family(found)}, {level}{f'; this holds {IF_DRAWN}' if basis.is_draw_unstated else ''}."
        )


def _family(found: Comparison) -> str:
    """Say for which comparisons p is adjusted, where there are several."""
    if len(found.runs) == 2:
        return over_measures(len(found.measures))
    family = family_of(found.settings, len(found.runs), len(found.measures))
    return f" over {latex_text(family)}"
