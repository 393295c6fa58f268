"""What the compiled reader should find in a file, said slowly; files of many shapes; and its fuzzer.

python tests/kernel_files.py 60         # seconds: bytes of files changed, and both must find the same
"""

from __future__ import annotations

import random
import re
import sys
import time
from array import array
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

SCORE = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
GRADE = re.compile(rb"[+-]?\d{1,7}")
RANK = re.compile(rb"\d{1,8}")
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
ODD, APART, CONTRADICTED, TWICE = 1, 2, 3, 4


class Asked(NamedTuple):
    """The settings of a reading."""

    floor: int = 1
    deepest: int = -1
    cutoffs: tuple[int, ...] = ()
    id_limit: int = 1024
    line_limit: int = 2**20
    grade_limit: int = 10**6


# ------------------------------------------------------------------------------------------- what is right


def rows_of(text: bytes, width: int, tabbed: bool, asked: Asked, number: Any) -> tuple[list[Any], bool]:
    """Return the fields of every row that is in order, and whether any is not."""
    rows, odd = [], False
    lines = text.split(b"\n")
    for index, line in enumerate(lines):
        content = line.removesuffix(b"\r") if index < len(lines) - 1 else line
        if content.strip(b" \t"):
            fields = fields_of(content, width, tabbed, asked)
            ids = fields and (fields[:1] + fields[2:3] if width == 6 else fields[:3])
            if fields and max(map(len, ids or ())) <= asked.id_limit and number(fields) is not None:
                rows.append((*fields, number(fields)))
            else:
                odd = True
    return rows, odd


def fields_of(content: bytes, width: int, tabbed: bool, asked: Asked) -> list[bytes] | None:
    """Return the fields of a line, or None if it is odd."""
    if (
        len(content) > asked.line_limit
        or content.startswith((b"#", b"\xef\xbb\xbf"))
        or CONTROL.search(content)
    ):
        return None
    try:
        content.decode()
    except UnicodeDecodeError:
        return None
    fields = re.findall(rb"[^ \t]+", content)
    if content.count(b"\t") == width - 1 and (tabbed or len(fields) != width):
        fields = [part.strip(b" ") for part in content.split(b"\t")]
    return fields if len(fields) == width and all(fields) else None


def score_of(fields: list[bytes]) -> float | None:
    score = float(fields[4]) if SCORE.fullmatch(fields[4]) else float("inf")
    return score if abs(score) != float("inf") else None


def queries_of(rows: list[Any]) -> list[tuple[bytes, list[Any]]]:
    """Return the rows a query, in the order of the queries."""
    stretches: list[tuple[bytes, list[Any]]] = []
    for row in rows:
        if not stretches or row[0] != stretches[-1][0]:
            stretches.append((row[0], []))
        stretches[-1][1].append(row)
    return stretches


def places(counts: Any) -> list[int]:
    return [0, *accumulate(counts)]


def qrels_of(text: bytes, tabbed: bool, asked: Asked) -> tuple[Any, dict[bytes, Any]]:
    """Return what `qrels_end` should, or a set of codes; and the documents of each query, all and kept."""

    def grade_of(fields: list[bytes]) -> int | None:
        grade = int(fields[3]) if GRADE.fullmatch(fields[3]) else asked.grade_limit + 1
        return grade if abs(grade) <= asked.grade_limit else None

    rows, odd = rows_of(text, 4, tabbed, asked, grade_of)
    queries = queries_of(rows)
    codes = {ODD} if odd else set()
    if len({query for query, _ in queries}) < len(queries):
        codes.add(APART)
    topics: dict[bytes, Any] = {}
    for query, stretch in queries:
        judged: dict[tuple[bytes, bytes], int] = {}
        for _, nugget, document, _, grade in stretch:
            if judged.setdefault((document, nugget), grade) != grade:
                codes.add(CONTRADICTED)
        topics[query] = judged
    if codes:
        return codes, {}
    columns: Any = [
        sum(map(len, topics.values())),
        True,
        list(topics),
        [],
        [],
        [],
        [],
        [],
        [],
        [],
        [],
        [],
        [],
    ]
    for query, judged in topics.items():
        documents, kept = (
            {d for d, _ in judged},
            list(dict.fromkeys(d for (d, _), g in judged.items() if g >= asked.floor)),
        )
        nuggets = list(dict.fromkeys(nugget for _, nugget in judged))
        columns[1] &= len(documents) == len(judged)
        columns[3].append(len(nuggets))
        columns[4].append(len(documents) - len(kept))
        columns[5].append(len(kept))
        for document in kept:
            pairs = [(index, judged.get((document, n), asked.floor - 1)) for index, n in enumerate(nuggets)]
            pairs = [pair for pair in pairs if pair[1] >= asked.floor]
            columns[6].append(len(pairs))
            columns[7] += [nugget for nugget, _ in pairs]
            columns[8] += [grade for _, grade in pairs]
        columns[9] += kept
        columns[11] += nuggets
        topics[query] = (documents, kept)
    for index in (9, 11):
        columns[index], columns[index + 1] = list(b"".join(columns[index])), places(map(len, columns[index]))
    columns[5], columns[6] = places(columns[5]), places(columns[6])
    return tuple(columns), topics


def conflict_in(rows: list[Any]) -> bool:
    """Whether the ranks of two neighbours say the opposite of their scores."""
    for (*_, rank, _, _, score), (*_, next_rank, _, _, next_score) in pairwise(rows):
        if RANK.fullmatch(rank) and RANK.fullmatch(next_rank):
            rise = (int(next_rank) > int(rank)) - (int(next_rank) < int(rank))
            if rise and rise == (next_score > score) - (next_score < score):
                return True
    return False


def join_of(text: bytes, tabbed: bool, asked: Asked, topics: dict[bytes, Any]) -> Any:
    """Return what `join_end` should, or a set of codes, any of which may come first."""
    rows, odd = rows_of(text, 6, tabbed, asked, score_of)
    queries = queries_of(rows)
    codes = {ODD} if odd else set()
    if len({query for query, _ in queries}) < len(queries):
        codes.add(APART)
    if any(len({row[2] for row in stretch}) < len(stretch) for _, stretch in queries):
        codes.add(TWICE)
    if codes:
        return codes
    largest = max(asked.cutoffs, default=0)
    length, judged, hits, ranks, numbers, shown_judged = [], [], [0], [], [], 0
    for query, stretch in queries:
        stretch = sorted(stretch, key=lambda row: (row[-1], row[2]), reverse=True)
        if query in topics:
            documents, kept = topics[query]
            judged_ranks = [rank for rank, row in enumerate(stretch, 1) if row[2] in documents]
            kept_ranks = [
                rank
                for rank in judged_ranks
                if stretch[rank - 1][2] in kept and (asked.deepest < 0 or rank <= asked.deepest)
            ]
            length.append(len(stretch))
            judged.append(len(judged_ranks))
            shown_judged += sum(rank <= largest for rank in judged_ranks)
            ranks += kept_ranks
            numbers += [kept.index(stretch[rank - 1][2]) for rank in kept_ranks]
            hits.append(len(ranks))
    tied = [sum(is_tied(stretch, cutoff) for _, stretch in queries) for cutoff in asked.cutoffs]
    return (
        [query for query, _ in queries],
        [list(topics).index(query) for query, _ in queries if query in topics],
        *(length, judged, hits, ranks, numbers, len(rows)),
        sum(conflict_in(stretch) for _, stretch in queries),
        *(sum(min(count, largest) for count in length), shown_judged, tied),
    )


def is_tied(rows: list[Any], cutoff: int) -> bool:
    scores = sorted((row[-1] for row in rows), reverse=True)
    return len(scores) > cutoff and scores[cutoff - 1] == scores[cutoff]


# ------------------------------------------------------------------------------------- what is found


def chunks_of(rng: random.Random, text: bytes) -> Iterator[bytes]:
    """Yield the text in chunks of whole lines: one, or many small ones."""
    lines = text.splitlines(keepends=True) if b"\r" not in text else re.findall(rb"[^\n]*\n|[^\n]+$", text)
    most = rng.choice((1, 2, 7, len(lines) or 1))
    while lines:
        count = rng.randint(0, most)
        yield b"".join(lines[:count])
        lines = lines[count:]


def plain(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(part.tolist() if isinstance(part, memoryview) else part for part in values)


def fed(feed: Any, reader: Any, chunks: Iterator[bytes]) -> int:
    """Feed until there is a code other than 0; return it."""
    return next((code for chunk in chunks if (code := feed(reader, chunk))), 0)


def read_qrels(kernel: Any, rng: random.Random, text: bytes, tabbed: bool, asked: Asked) -> Any:
    """Return the reader and what it found, or the code."""
    limits = asked.id_limit, asked.line_limit
    qrels = kernel.qrels_new(asked.floor, rng.randbytes(16), *limits, asked.grade_limit, tabbed)
    code = fed(kernel.qrels_feed, qrels, chunks_of(rng, text))
    return code or (qrels, plain(kernel.qrels_end(qrels)))


def read_run(kernel: Any, rng: random.Random, qrels: Any, text: bytes, tabbed: bool, asked: Asked) -> Any:
    """Return what was found, or the code."""
    limits = asked.id_limit, asked.line_limit
    join = kernel.join_new(qrels, asked.deepest, array("i", asked.cutoffs), *limits, tabbed)
    return fed(kernel.join_feed, join, chunks_of(rng, text)) or plain(kernel.join_end(join))


def compare(
    kernel: Any, rng: random.Random, files: tuple[bytes, bytes], tabbed: tuple[bool, bool], asked: Asked
) -> int:
    """Read judgements and a run both ways, they must find the same; return the code, 0 if there was none."""
    outcome = read_qrels(kernel, rng, files[0], tabbed[0], asked)
    expected, topics = qrels_of(files[0], tabbed[0], asked)
    if agreed(outcome if isinstance(outcome, int) else outcome[1], expected):
        return int(outcome)
    for query, (documents, kept) in enumerate(topics.values()):
        names = [*documents, b"", b"nobody", b"d" * 40]
        expected = [kept.index(name) if name in kept else -1 if name in documents else -2 for name in names]
        assert memoryview(kernel.qrels_numbers(outcome[0], query, names)).cast("i").tolist() == expected
    joined = read_run(kernel, rng, outcome[0], files[1], tabbed[1], asked)
    return int(joined) if agreed(joined, join_of(files[1], tabbed[1], asked, topics)) else 0


def agreed(outcome: Any, expected: Any) -> bool:
    """Whether both refuse."""
    refused = isinstance(outcome, int)
    assert outcome in expected if refused and isinstance(expected, set) else outcome == expected
    return refused


# ------------------------------------------------------------------------------------- files of all shapes

IDS = [
    "a",
    "ab",
    "abc",
    "d1",
    "d2",
    "d10",
    "é",
    "￿",
    "\U0001f600",
    "#1",
    "x" * 9,
    "x" * 8,
    "x" * 40,
    "d" * 17 + "é",
]
SPACED = ["a b", "a  b", "\u3000", "d 1 2"]


def drawn_score(rng: random.Random) -> str:
    """Draw a score: mostly as people print them."""
    kind = rng.randrange(12)
    if kind < 3:
        return f"{rng.uniform(-20, 50):.{rng.choice((0, 1, 5, 9))}f}"
    if kind < 6:
        return repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-14, 17))
    if kind < 7:
        return f"{rng.gauss(0, 1):{rng.choice(('+.3e', '.17e', 'E', '.20f'))}}"
    if kind < 8:
        return rng.choice(
            ("-0", "0.0", "+0e9", "-.0", "0" * 30, "1e-400", "4.9e-324", "." + "0" * 30 + "1", "1e308")
        )
    return rng.choice(("1", "1.0", "1.", "+1", "10e-1", ".5", "0.5", "5e-1", "2", "-3"))


def drawn_ids(rng: random.Random, count: int, tabs: bool) -> list[str]:
    pool = IDS + SPACED * tabs + [f"doc-{rng.randrange(99)}" for _ in range(count)]
    return rng.sample(sorted(set(pool)), min(count, len(set(pool))))


def rendered(rng: random.Random, rows: list[list[str]], tabs: bool) -> bytes:
    """Return the rows as a file of some shape."""
    end = rng.choice(("\n", "\n", "\r\n"))
    separator = rng.choice(("\t", " \t", "\t ") if tabs else (" ", " ", "  ", "\t", " \t "))
    around = rng.choice(("", "", " "))
    lines = [around + separator.join(row) + around + end for row in rows]
    for _ in range(rng.choice((0, 0, 2))):
        lines.insert(rng.randint(min(1, len(lines)), len(lines)), rng.choice((" ", "", "  \t")) + end)
    text = "".join(lines).encode()
    return text.removesuffix(end.encode()) if rng.random() < 0.2 else text


def drawn_qrels(rng: random.Random, queries: list[str], tabs: bool) -> list[list[str]]:
    rows = []
    for query in queries:
        nuggets = drawn_ids(rng, rng.randint(1, 5), tabs)
        grades = rng.choice((("1",), ("0", "1"), ("-1", "0", "1", "2", "+1", "007")))
        documents = drawn_ids(rng, rng.randint(1, 14), tabs)
        share = rng.choice((0.2, 0.6, 1.0))
        own = [[query, n, d, rng.choice(grades)] for n in nuggets for d in documents if rng.random() < share]
        own += [list(rng.choice(own)) for _ in range(rng.choice((0, 0, 3))) if own]
        order = rng.randrange(3)
        rows += (
            own
            if order == 0
            else sorted(own, key=lambda row: row[2])
            if order == 1
            else rng.sample(own, len(own))
        )
    return rows


def drawn_run(rng: random.Random, queries: list[str], tabs: bool) -> list[list[str]]:
    rows = []
    for query in queries:
        documents = drawn_ids(rng, rng.choice((1, 5, 14, 40)), tabs)
        scores = [drawn_score(rng) for _ in documents]
        if rng.random() < 0.5:
            scores.sort(key=float, reverse=True)
        ranks = [str(rank) for rank in range(1, len(documents) + 1)]
        if rng.random() < 0.3:
            ranks = rng.choices([*ranks, "0", "x", "123456789", "00000001", "-1", "é"], k=len(ranks))
        rows += [[query, "Q0", d, r, s, "tag"] for d, r, s in zip(documents, ranks, scores, strict=True)]
    return rows


def spoilt(rng: random.Random, rows: list[list[str]], run: bool) -> list[list[str]]:
    """Return the rows, mostly as they are, else with something wrong."""
    if not rows or rng.random() < 0.85:
        return rows
    rows = [list(row) for row in rows]
    row = rng.choice(rows)
    how = rng.randrange(6)
    if how == 0:
        row[rng.choice((0, 2))] = rng.choice(
            ("x" * 1025, "#", "\ufeffq", "a\x7f", "a\0", "a\x1f", "a\rb", "\x0b")
        )
    elif how == 1:
        row[4 if run else 3] = rng.choice(
            (
                *("nan", "inf", "1e400", "1_0", "0x1", "1e", ".", "-", "+", "e5", "--1", "12345678"),
                *("1000001", "-1000001", "٣"),
            )
        )
    elif how == 2:
        row.append("more")
    elif how == 3:
        del row[0]
    elif how == 4:
        rows.append(list(row))
    else:
        row[3] = "9"
    return rows


def drawn_files(rng: random.Random) -> tuple[tuple[bytes, bytes], tuple[bool, bool]]:
    """Draw judgements and a run, and whether they are `tabbed`."""
    tabs = rng.random() < 0.3, rng.random() < 0.3
    queries = rng.sample(["q1", "q2", "q10", "é", "10000001", "a", "b" * 30], rng.randint(0, 5))
    others = rng.sample(["q1", "q2", "q10", "é", "10000001", "z"], rng.randint(0, 5))
    qrels = spoilt(rng, drawn_qrels(rng, queries, tabs[0]), False)
    run = spoilt(rng, drawn_run(rng, others, tabs[1]), True)
    return (rendered(rng, qrels, tabs[0]), rendered(rng, run, tabs[1])), tabs


def drawn_asked(rng: random.Random) -> Asked:
    cutoffs = tuple(sorted(rng.sample(range(1, 20), rng.randint(0, 4))))
    limits = (8, 30) if rng.random() < 0.1 else (1024, 2**20)
    return Asked(
        rng.choice((1, 1, 0, -1, 2)),
        rng.choice((-1, 1, 5, 100)),
        cutoffs,
        *limits,
        rng.choice((10**6,) * 9 + (1,)),
    )


BYTES = b"   \t\t\n\n#+-..01199eEqx" + b"\0\r\x7f\x80\xbf\xc3\xe2\xed\xef\xf0\xf4\xff"


def mutated(rng: random.Random, text: bytes) -> bytes:
    """Change, drop, double or move some bytes."""
    changed = bytearray(text)
    for _ in range(rng.choice((1, 1, 2, 8))):
        start, length = rng.randint(0, len(changed)), rng.choice((1, 1, 2, 5, 40))
        how = rng.randrange(4)
        if how == 0:
            changed[start : start + 1] = bytes([rng.choice(BYTES)])
        elif how == 1:
            del changed[start : start + length]
        elif how == 2:
            changed[start:start] = changed[start : start + length]
        else:
            there = rng.randint(0, len(changed))
            changed[there:there] = changed[start : start + length]
    return bytes(changed)


def fuzz_files(kernel: Any, seed: int, rounds: int) -> list[int]:
    """Compare on changed files; return how often each code was given."""
    rng, codes = random.Random(f"files {seed}"), [0] * 5
    for _ in range(rounds):
        files, tabbed = drawn_files(rng)
        which = rng.randrange(3)
        files = tuple(mutated(rng, file) if index == which else file for index, file in enumerate(files))
        codes[compare(kernel, rng, files, tabbed, drawn_asked(rng))] += 1
    return codes


def main(seconds: float) -> None:
    """Fuzz so long."""
    from rageval.kernel import kernel

    if kernel is None:
        sys.exit("the compiled part is not there")
    until, seed, codes = time.monotonic() + seconds, 0, [0] * 5
    while time.monotonic() < until:
        codes = [sum(pair) for pair in zip(codes, fuzz_files(kernel, seed, 500), strict=True)]
        seed += 1
    print(f"{sum(codes):,} pairs of files, {seed} seeds; codes 0 to 4: {codes}")


if __name__ == "__main__":
    main(float(sys.argv[1]))
