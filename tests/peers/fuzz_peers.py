"""A differential fuzzer: random inputs to rageval and to its peers, until time is up.

    python tests/peers/fuzz_peers.py SECONDS [TOOL …] [--seed SEED]    (make fuzz-tools: all installed tools)

Inputs are such that a peer ought to give our numbers, plainly or by its own rules (`--compat`). What
disagrees is made as small as it goes and printed as a golden vector.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

import msgspec

from peer_process import PeerProcess
from peer_tools import OF_ANSWERS, Peer, installed, peer_named, reasons_of, topics_in
from peer_verdicts import FAILS, WRONG, ToolVerdict, has, topics_of, verdict_of
from rageval.measures import measures_taking
from rageval.measures.parsing import parse_measure
from rageval.testing._inputs import run_and_qrels
from vectors import QrelsRow, RunRow, RunVector

_QUERIES = 12  # cases a vector, so that a question is worth its way
_CUTOFFS = (1, 2, 3, 5, 10, 20, None)
_ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)  # with others, rounding decides which documents are tied in the ideal
_MEASURES = 4  # asked of each vector


class _Difference(NamedTuple):
    """What somebody has to look at: the smallest input found, and what the peer says of it."""

    verdict: ToolVerdict
    vector: RunVector


class _Fuzzed(NamedTuple):
    """One vector's worth of work: how many values were compared, and what disagreed."""

    values: int
    differences: list[_Difference]


def fuzz(name: str, seconds: float, seed: int = 0) -> Iterator[_Fuzzed]:
    """Compare with a peer for so long, or a little longer. The same seed draws the same inputs."""
    peer, until = peer_named(name), time.monotonic() + seconds
    with PeerProcess(name) as process:
        for number in count():
            if time.monotonic() > until:
                return
            vector = _drawn(random.Random(f"{seed}/{number}"), peer)
            wrong = _wrong(process, peer, name, vector)
            differences = [_smallest(process, peer, name, vector, measure) for measure in wrong]
            yield _Fuzzed(len(vector.expected) * _QUERIES, differences)


def _drawn(rng: random.Random, peer: Peer) -> RunVector:
    """Draw queries that the run has, with something relevant, tied or not, and some measures of the peer."""
    run: list[RunRow] = []
    qrels: list[QrelsRow] = []
    single, tied, spam = (rng.random() < share for share in (0.2, 0.5, 0.2))
    for number in range(_QUERIES):
        query, (scores, judged) = f"{number}.q", _relevant(rng)
        # Half of the inputs without ties: there no rule for ties can excuse a difference.
        scores = scores if tied else dict(zip(scores, rng.sample(range(999), len(scores)), strict=True))
        for doc, score in scores.items():
            # With `single`, one that differs from another in bits that not every tool looks at.
            run.append((query, doc, 1000 + score + rng.random() / 1e5 if single else float(score)))
        qrels += [
            (query, nugget, doc, grade if spam else max(0, grade))
            for nugget, docs in judged.items()
            for doc, grade in docs.items()
        ]
    topics = [*(["single"] if single else []), *topics_in(run, qrels)]
    measures = [measure for measure in _measures(rng) if has(peer, measure)][:_MEASURES]
    vector = RunVector("fuzzed", "drawn at random", run, qrels, {}, topics)
    return _with_values(vector, measures)


def _relevant(rng: random.Random) -> tuple[dict[str, float], dict[str, dict[str, int]]]:
    """Draw the run and the judgements of a query that the run has, with something relevant."""
    while True:
        run, qrels = run_and_qrels(rng)
        for query, judged in qrels.items():
            relevant = any(grade > 0 for docs in judged.values() for grade in docs.values())
            # Queries without either are the golden vectors' business; there most tools differ on purpose.
            if relevant and query in run:
                return run[query], judged


def _measures(rng: random.Random) -> list[str]:
    measures = []
    for measure in measures_taking("Ranking").values():
        chosen = measure(normalize="independent") if "normalize" in measure.declared else measure
        if "alpha" in measure.declared:
            chosen = chosen(alpha=rng.choice(_ALPHAS))
        k = rng.choice(_CUTOFFS) if measure.takes_k else None
        measures.append(str(chosen if k is None else chosen @ k))
    rng.shuffle(measures)  # the caller takes some, and every measure shall have its turn
    return measures


def _with_values(vector: RunVector, measures: Sequence[str]) -> RunVector:
    """Return the vector with what rageval says; a refusal would be a difference, too."""
    outcomes = vector.compute(measures) if measures else {}
    values = {
        name: value if not isinstance(value, Exception) else str(value) for name, value in outcomes.items()
    }
    return msgspec.structs.replace(vector, expected=values)


def _wrong(process: PeerProcess, peer: Peer, name: str, vector: RunVector) -> list[str]:
    """Return the measures on which the peer disagrees, or fails and nobody knows why."""
    wrong = []
    for measure in vector.expected:
        reply = process.ask([measure], vector)
        if reply.lacks:
            continue
        verdict = verdict_of(name, peer, vector, measure, reply).verdict
        reasons = reasons_of(name, parse_measure(measure).name, topics_of(vector, measure))
        if verdict == WRONG or (verdict == FAILS and not reasons):
            wrong.append(measure)
    return wrong


def _smallest(process: PeerProcess, peer: Peer, name: str, vector: RunVector, measure: str) -> _Difference:
    """Return the same difference with fewer queries, then with fewer rows."""

    def still_wrong(smaller: RunVector) -> bool:
        return bool(
            smaller.run and smaller.qrels and _wrong(process, peer, name, _with_values(smaller, [measure]))
        )

    # A difference is mostly that of one query: alone it is found fast, then rows are left out one by one.
    for query in {row[0] for row in vector.qrels}:
        alone = msgspec.structs.replace(
            vector,
            run=[row for row in vector.run if row[0] == query],
            qrels=[row for row in vector.qrels if row[0] == query],
        )
        if still_wrong(alone):
            vector = alone
            break
    for field in ("run", "qrels"):
        for row in list(getattr(vector, field)):
            rows = [other for other in getattr(vector, field) if other != row]
            smaller = msgspec.structs.replace(vector, **{field: rows})
            if still_wrong(smaller):
                vector = smaller
    # What is left has other right values than the whole had.
    vector = _with_values(vector, [measure])
    return _Difference(verdict_of(name, peer, vector, measure, process.ask([measure], vector)), vector)


def main(words: Sequence[str] | None = None) -> int:
    """Print every difference that is found, as a vector; return 1 if there are any, else 0."""
    versions = {name: version for name, version in installed().items() if name not in OF_ANSWERS}
    parser = argparse.ArgumentParser(description="Compare rageval with other tools on random inputs.")
    parser.add_argument("seconds", type=float, help="for how long, over all tools")
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=f"installed: {', '.join(versions)}")
    parser.add_argument("--seed", type=int, default=0, help="the same seed draws the same inputs")
    given = parser.parse_args(words)
    if unknown := set(given.tools) - versions.keys():
        parser.error(f"not installed: {', '.join(sorted(unknown))}")
    tools, total = given.tools or list(versions), 0
    for name in tools:
        values = differ = 0
        for fuzzed in fuzz(name, given.seconds / len(tools), given.seed):
            values += fuzzed.values
            for verdict, vector in fuzzed.differences:
                differ += 1
                print(f"{name}: {verdict.measure}: {verdict.why or verdict.values}", file=sys.stderr)
                print(msgspec.json.encode(vector).decode())
        print(f"{name} {versions[name]}: {values:,} values compared, {differ:,} differ", file=sys.stderr)
        total += differ
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
