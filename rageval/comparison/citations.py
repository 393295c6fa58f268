"""How to cite numbers: the text for a paper, the signatures that let others repeat them, the papers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rageval import hooks
from rageval.comparison.results import Comparison
from rageval.scoring.scores import Scores


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
        return hooks.citation_text(self)


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
    >>> citation = cite(rageval.evaluate("alpha_ndcg@10, rr", {"q": {"a": 1.0}}, {"q": {"n1": {"a": 1}}}))
    >>> print(citation.text.partition(" over ")[0])
    We report $\alpha$-nDCG@10 ($\alpha=0.5$, rel=1, ideal=greedy)~\cite{clarke2008novelty} and RR (rel=1)
    >>> [entry.partition(",")[0] for entry in citation.bibtex]
    ['@software{rageval', '@inproceedings{clarke2008novelty']
    """
    citation: Citation = hooks.citation_of(found, datasets)
    return citation
