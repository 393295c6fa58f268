"""`rageval collection next`: which documents of runs to judge next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import click

from rageval import options as opt
from rageval.cli._options import Claiming, Command, takes_options
from rageval.cli._output import print_lines, say
from rageval.errors import UsageError

if TYPE_CHECKING:
    from rageval.measures.base import Measure


class NextOptions(Claiming):
    """The options of `rageval collection next`."""

    judged: Annotated[Any, opt.Option("The existing judgements.", reads="qrels")]
    measures: Annotated[
        str,
        opt.measured(
            "Measure for comparing runs, such as ap or p@10.",
            ("-m", "--measure"),
            metavar="MEASURES",
            completes="measures",
        ),
    ]
    number: Annotated[int, opt.Option("Number of documents to list.", ("-n", "--number"), least=1)] = 100
    depth: Annotated[opt.Depth | None, "Only documents above this rank (default: the measure's cut-off)."] = (
        None
    )
    seed: Annotated[opt.Seed, "Seed for the order of questions, with --until."] = 0
    store: Annotated[opt.Store | None, "Where to keep the claim of --until (default: the user's cache)."] = (
        None
    )
    output: Annotated[opt.Output | None, "Write the documents as a pool (default: standard output)."] = None


@click.command("next", cls=Command)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@takes_options
def collection_next(runs: tuple[str, ...], options: NextOptions) -> None:
    """Show which unjudged documents can still change which RUN is better, most important first.

    Prints bounds on the difference of each pair of runs, for every possible judgement of the unjudged
    documents. A pair whose bounds exclude 0 is decided. Judge the listed documents, add them to the
    judgements, and run the command again, until every pair is decided or no remaining document matters.

    With --until, a claim about these questions, or questions of this kind, is decided from some of them, as
    in rageval judge: in an order drawn beforehand, looking only at planned points.

    The listed documents are recorded beside the judgements, in FILE.adaptive.jsonl. Documents chosen this way
    are no random sample, so a mean over them is no estimate: rageval then prints bounds with every number,
    adds pool:adaptive to the signature, and decides between runs by bounds alone. If you copy the judgements,
    copy this file too.

    \b
    rageval collection next a.trec b.trec --judged qrels.txt -m ap -n 100 -o more.jsonl
    rageval collection next a.trec b.trec --judged qrels.txt -m ndcg@10 --until 'a.trec>b.trec' -o more.jsonl
    rageval collection support more.jsonl --questions … --nuggets … --corpus … --judge … -o judged.jsonl
    rageval collection qrels judged.jsonl >> qrels.txt
    """
    from rageval.files.writing import write_lines
    from rageval.measures.base import Measure
    from rageval.measures.parsing import parse_measures

    found = parse_measures(options.measures)
    if len(found) != 1 or not isinstance(found[0], Measure):
        raise UsageError(f"-m {options.measures}: expected one rageval measure, such as ap")
    make = _by_bounds if options.until is None else _by_claim
    documents, said = make(found[0], runs, options.judged, options)
    if options.output is not None:
        write_lines(options.output, documents)
        print_lines(said)
        return
    say(*said)
    print_lines(documents)


_Listed = tuple[Iterable[str], list[str]]  # documents as lines of a pool, and what is said of them


def _by_bounds(measure: Measure, runs: tuple[str, ...], judged: Any, options: NextOptions) -> _Listed:
    """Return what can turn a pair round, whatever all others are."""
    from rageval.building.next_batch import next_batch
    from rageval.files.plans import note_asked
    from rageval.scoring.evaluation import Evaluator
    from rageval.scoring.sources import run_name, run_source

    evaluator = Evaluator([measure], judged, nothing_judged="zero", bounds=True)
    sources = list(map(run_source, runs))
    batch = next_batch(measure, sources, evaluator, options.number, options.depth)
    asked = {(query, doc): ranks for query, docs in batch.pool.items() for doc, ranks in docs.items()}
    note_asked(judged, asked, f"{measure} of {', '.join(map(run_name, runs))}")
    return batch.pool_lines(), list(batch.lines())


def _by_claim(measure: Measure, runs: tuple[str, ...], judged: Any, options: NextOptions) -> _Listed:
    """Return what is to be judged until the next look at a claim."""
    from rageval.building import pool_lines
    from rageval.cli._inputs import pools_of
    from rageval.comparison.until import next_until, until_of
    from rageval.files.plans import note_asked, note_claim
    from rageval.scoring.sources import as_qrels

    depth = options.depth or measure.k
    if depth is None:
        raise UsageError(f"-m {measure}: uses whole rankings; add --depth, the rank to judge down to")
    claim = options.claim, options.looks, options.alpha, options.seed
    until = until_of(options.until or "", [measure], *claim)
    pools = pools_of(runs, depth)
    found = next_until(until, pools, as_qrels(judged), options.store)
    places = [(query, doc) for query, docs in found.documents.items() for doc in docs][: options.number]
    asked = {}
    for query, doc in places:
        rankings = {run: ranked.get(query, ()) for run, ranked in pools.items()}
        ranks = {run: docs.index(doc) + 1 for run, docs in rankings.items() if doc in docs}
        asked[query, doc] = ranks
    what = f"{measure} until {options.until}, claim {found.ledger.plan.key}"
    note_asked(judged, asked, what)
    if not found.documents:
        note_claim(judged, what, found.ledger.sentence())
    pool: dict[str, dict[str, dict[str, int]]] = {}
    for (query, doc), ranks in asked.items():
        pool.setdefault(query, {})[doc] = ranks
    return pool_lines(pool), list(found.lines(len(asked)))
