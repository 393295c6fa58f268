"""Words of citations: the text for a paper, the signatures and the references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rageval import hooks
from rageval.comparison.citations import Citation
from rageval.comparison.estimates import estimate_signature, estimate_value
from rageval.comparison.results import BEST, Comparison
from rageval.core.basis import Basis
from rageval.core.signature import split_version
from rageval.errors import UsageError
from rageval.measures.papers import bibliography, entries
from rageval.scoring.scores import Score, Scores
from rageval.table import latex_text, latex_typeset
from rageval.text import count_noun, visible
from rageval.version import __version__
from rageval.views.bases import IF_DRAWN, NO_WINNER, name_judges, name_labels
from rageval.views.comparisons import (
    by_basis,
    family_of,
    over_measures,
    tests_of,
    untested,
    without_mean,
)

if TYPE_CHECKING:
    from rageval.measures.parsing import AnyMeasure


_YEAR = 2026  # of the version, as in CITATION.cff
_TESTS = {
    "auto": "tests that fit the values",
    "randomization": "two-sided sign-flip randomization (all patterns of signs, or at least {draws:,} drawn;"
    " mid-$p$ if queries tie)",
    "studentized": "two-sided studentized bootstraps, with which two-sided sign flips have to agree unless"
    " the differences of a single pair are skewed",
    "t": "two-sided paired $t$-tests",
    "bootstrap": "two-sided paired bootstraps of values that all queries have together",
}
_ADJUSTED = {
    "holm": "$p$ adjusted by Holm's method",
    "max_t": "$p$ adjusted by the maximum of $|t|$ (max-T)",
}
_BY_LABELS = "angelopoulos2023ppi"  # its estimator corrects a judge by human labels


def citation_text(citation: Citation) -> str:
    """Return a citation as one block of text."""
    signed = "\n".join(f"% {visible(signature)}" for signature in citation.signatures)
    parts = [
        f"% For the text, in LaTeX:\n{citation.text}",
        f"% Signatures, with which others can repeat the numbers:\n{signed}",
        "% For the list of references, in BibTeX:",
        *citation.bibtex,
    ]
    return "\n\n".join(parts)


def citation_of(
    results: Comparison | Scores | Mapping[str, Scores] | Iterable[Scores], datasets: Iterable[str] = ()
) -> Citation:
    """Return how to cite numbers (`rageval.comparison.cite`)."""
    cited = _cited_scores(results)
    measures = {score.name: score.measure for score in cited}
    papers, sets = {"rageval": software()}, []
    for measure in measures.values():
        papers |= entries(measure.about.papers if measure is not None else ())
    for dataset in dict.fromkeys(datasets):
        cited_papers = entries(hooks.papers_of(dataset))
        # A paper may propose both measures and data.
        papers |= {key: entry for key, entry in cited_papers.items() if key not in papers}
        sets.append(rf"\texttt{{{latex_text(dataset)}}}{_cited(cited_papers)}")
    most = max(score.queries + score.undefined for score in cited)
    named = [_typeset_measure(name, measure, cited, most) for name, measure in measures.items()]
    datasets_clause = f" of {_join_words(sets)}" if sets else ""
    sentences = [
        f"We report {_join_words(named)} over {_query_counts([most])}{datasets_clause}, computed with"
        rf" rageval~{latex_text(__version__)}~\cite{{rageval}}."
    ]
    sentences += _judge_sentences({score.name: score.basis for score in cited if not score.is_corrected})
    signed = [score.signature for score in cited]
    if any(score.is_corrected for score in cited):
        papers |= {_BY_LABELS: bibliography()[_BY_LABELS]}
    if isinstance(results, Comparison):
        sentences += _test_sentences(results)
        sentences += [latex_text(f"{remark}.") for remark in without_mean(results)]
        signed = [results.signature, *signed]
    else:
        sentences += _label_sentences(cited)
    # One sentence a line, so that versions of a text can be compared.
    return Citation("\n".join(sentences), tuple(dict.fromkeys(signed)), tuple(papers.values()))


class _CitedScore(NamedTuple):
    """What a citation says of the score of a run by a measure: all but the value."""

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
        """Whether labels correct the values of a judge."""
        return self.labels is not None


def _cited_scores(
    results: Comparison | Scores | Mapping[str, Scores] | Iterable[Scores],
) -> list[_CitedScore]:
    if isinstance(results, Comparison):
        definitions = results.definitions
        return [
            _CitedScore(
                name=cell.measure,
                measure=definitions.get(cell.measure),
                queries=cell.queries,
                undefined=cell.undefined,
                signature=cell.signature,
                basis=cell.basis,
                labels=cell.labels,
            )
            for cell in results.cells
        ]
    several: list[Any]
    if isinstance(results, Scores):
        several = [results]
    else:
        several = list(results.values() if isinstance(results, Mapping) else results)
        wrong_item = next((item for item in several if not isinstance(item, Scores)), None)
        if wrong_item is not None or not several:
            raise UsageError(
                f"expected a Comparison or Scores of some runs, found {wrong_item or several!r:.80}"
            )
    return [_cited_score(score) for scores in several for score in scores.scores]


def _cited_score(score: Score) -> _CitedScore:
    estimate, signature = estimate_value(score), score.signature
    if score.people is not None:
        rules, version = split_version(signature)
        signature = f"{rules}|{estimate_signature(score.people.draw, str(estimate.labels))}{version}"
    return _CitedScore(
        name=str(score.measure),
        measure=score.measure,
        queries=estimate.queries,
        undefined=estimate.undefined,
        signature=signature,
        basis=estimate.basis,
        labels=estimate.labels,
        is_defined=estimate.is_defined,
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


def _typeset_measure(name: str, measure: AnyMeasure | None, scores: Sequence[_CitedScore], most: int) -> str:
    """Return a measure in LaTeX with its papers, and its number of queries if some are missing."""
    if measure is None:
        typeset = latex_text(name)
    else:
        typeset = latex_typeset(measure.typeset_whole) + _cited(entries(measure.about.papers))
    queries = [score.queries for score in scores if score.name == name]
    least, largest = min(queries), max(queries)
    return typeset + (f" (n={f'{least:,} to ' * (least < largest)}{largest:,})" if least < most else "")


def _cited(papers: Mapping[str, str]) -> str:
    return rf"~\cite{{{','.join(papers)}}}" if papers else ""


def _join_words(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _query_counts(queries: Sequence[int]) -> str:
    least, most = min(queries), max(queries)
    return f"{f'{least:,} to ' * (least < most)}{count_noun(most, 'query')}"


def _judge_sentences(bases: Mapping[str, Basis]) -> Iterator[str]:
    """Say which values are by an automatic judge, and which are computed from texts alone."""
    for basis in dict.fromkeys(basis for basis in bases.values() if basis.is_judge):
        names = [latex_text(name) for name, other in bases.items() if other == basis]
        what = "All values" if len(names) == len(bases) else f"Values by {_join_words(names)}"
        judges = f"{latex_text(name_judges(basis))}, an automatic judge"
        yield f"{what} are by {judges}; intervals do not include its error."
    words = [latex_text(name) for name, basis in bases.items() if basis.is_of_texts]
    if words:
        yield f"Values by {_join_words(words)} are {NO_WINNER}."


def _label_sentences(scores: Sequence[_CitedScore]) -> Iterator[str]:
    """Say which means labels correct, and which they do not allow."""
    corrected = [score for score in scores if score.is_corrected]
    for basis in dict.fromkeys(score.basis for score in corrected):
        own = [score for score in corrected if score.basis == basis]
        if defined := [score for score in own if score.is_defined]:
            names = _join_words(list(dict.fromkeys(latex_text(score.name) for score in defined)))
            labels = _query_counts([score.labels or 0 for score in defined])
            labelers, judge = latex_text(name_labels(basis)), latex_text(name_judges(basis.source))
            corrected_by = f"corrected by {labelers} of {labels}~\\cite{{{_BY_LABELS}}}"
            yield f"Means by {names} are by {judge}, {corrected_by}."
        lost: dict[str, int] = {}
        for score in own:
            lost[score.name] = lost.get(score.name, 0) + (not score.is_defined)
        for name, count in lost.items():
            if count:
                runs = f"{count:,} run{'s' * (count > 1)}"
                yield f"By {latex_text(name)} no mean of {runs} is reported: the labels do not allow one."


def _test_sentences(comparison: Comparison) -> Iterator[str]:
    """Say how intervals and tests were made, or that nothing was tested."""
    settings, groups = comparison.settings, by_basis(comparison)
    if reason := untested(comparison):
        yield latex_text(reason)
        return
    if settings.all_pairs:
        against = "between all pairs of runs"
    else:
        against = "from the best run by each measure"
        if settings.baseline != BEST:
            against = f"from {latex_text(settings.baseline)}"
    level = f"at the level {1 - settings.level:.3g}"
    if any(not basis.corrected for basis in comparison.bases.values()):
        test = " and ".join(_TESTS[name] for name in tests_of(comparison)).format(draws=settings.draws)
        adjusted = f"{_adjusted(comparison)}, {level}"
        if settings.units:
            adjusted += f", with clusters of queries ({latex_text(settings.clustered_by)}) as units"
        yield f"Differences {against} were tested by {test}{adjusted}."
        yield (
            rf"The {100 * settings.level:.4g}\% intervals are bootstrap intervals: BCa, of graded differences"
            " studentized; of measures with two values, Wilson's."
        )
    for basis, measures in groups.items():
        if not basis.corrected:
            continue
        names = _join_words(list(map(latex_text, measures)))
        labels = _query_counts([cell.labels or 0 for cell in comparison.cells if cell.measure in measures])
        labelers = latex_text(name_labels(basis))
        judge = latex_text(name_judges(basis.source))
        yield (
            f"Differences by {names} {against} are by {judge}, corrected by {labelers} of {labels}"
            rf"~\cite{{{_BY_LABELS}}}, and tested by Student's $t${_adjusted(comparison)},"
            f" {level}{f'; this holds {IF_DRAWN}' if basis.is_draw_unstated else ''}."
        )


def _adjusted(comparison: Comparison) -> str:
    """Say how p is adjusted, and for which comparisons; of one pair there is nothing to adjust for."""
    if len(comparison.runs) == 2:
        return over_measures(len(comparison.measures))
    family = family_of(comparison.settings, len(comparison.runs), len(comparison.measures))
    return f", {_ADJUSTED[comparison.settings.adjust]} over {latex_text(family)}"
