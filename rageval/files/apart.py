"""Lines of queries whose rows lie apart, put together: in memory, or by way of temporary files.

Lines keep their content, their order within a query and their numbers, so that what is computed and what is
complained of are what they would be if the rows had lain together. Nothing is checked here.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain, compress
from typing import TYPE_CHECKING

from rageval.files.trec import RunRows, Text

if TYPE_CHECKING:
    from pathlib import Path


def together(texts: Iterable[Text], width: int, tabbed: bool, shares: int = 1) -> Generator[Text, None, None]:
    """Yield the lines of each query together, in as many texts as there are shares of the queries.

    A line has `width` fields, and `tabbed` says whether tabs part them where it can be read both ways.
    """
    if shares == 1:
        yield _sorted(texts, width, tabbed)
        return
    from pathlib import Path
    from tempfile import TemporaryDirectory
    from zlib import crc32

    with TemporaryDirectory(prefix="rageval-") as name:
        paths = [Path(name, str(share)) for share in range(shares)]
        for text in texts:
            numbers, lines, queries = _rows(text, width, tabbed)
            parted: list[list[int]] = [[] for _ in paths]
            share = {query: parted[crc32(query) % shares] for query in set(queries)}
            for at, query in enumerate(queries):
                share[query].append(at)
            for path, places in zip(paths, parted, strict=True):
                _append(path, [numbers[at] for at in places], [lines[at] for at in places])
        for path in paths:
            if path.exists():
                yield _sorted([_read(path)], width, tabbed)


def _sorted(texts: Iterable[Text], width: int, tabbed: bool) -> Text:
    of_query: defaultdict[bytes, list[int]] = defaultdict(list)
    lines: list[bytes] = []
    numbers = array("q")
    for text in texts:
        some, found, queries = _rows(text, width, tabbed)
        for at, query in enumerate(queries, len(lines)):
            of_query[query].append(at)
        numbers.extend(some)
        lines += found
    order = list(chain.from_iterable(of_query.values()))
    return Text(b"\n".join([lines[at] for at in order]), array("q", [numbers[at] for at in order]))


def _rows(text: Text, width: int, tabbed: bool) -> tuple[Sequence[int], list[bytes], list[bytes]]:
    """Cut a text into lines, without those of blanks; return their numbers, themselves, and their queries."""
    content, first = text
    lines = content.removesuffix(b"\n").split(b"\n")
    numbers = range(first, first + len(lines)) if isinstance(first, int) else first
    part = b"\t" if tabbed else b" "
    queries = [line.partition(part)[0] for line in lines]
    if tabbed or b"\t" in content or b"" in queries:
        held = [line.strip(b" \t") not in (b"", b"\r") for line in lines]
        numbers, lines = list(compress(numbers, held)), list(compress(lines, held))
        queries = [_query(line, width, tabbed) for line in lines]
    return numbers, lines, queries


def _query(line: bytes, width: int, tabbed: bool) -> bytes:
    """Return the first field of a line, parted as the readers part it."""
    if line.count(b"\t") == width - 1 and (tabbed or len(line.split()) != width):
        return line.split(b"\t", 1)[0].strip(b" ")
    return (line.split(None, 1) or [b""])[0]


def _append(path: Path, numbers: Sequence[int], lines: list[bytes]) -> None:
    if lines:
        with path.open("ab") as file:
            file.write(b"\n".join([*lines, b""]))
        with path.with_suffix(".lines").open("ab") as file:
            array("q", numbers).tofile(file)


def _read(path: Path) -> Text:
    numbers = array("q")
    numbers.frombytes(path.with_suffix(".lines").read_bytes())
    content = path.read_bytes()
    path.unlink()
    return Text(content, numbers)


def as_text(stretches: Iterable[RunRows]) -> Iterator[Text]:
    """Write rows as lines whose fields tabs part; their numbers are those of the rows."""
    for rows in stretches:
        columns = zip(rows.queries, rows.docs, rows.scores, strict=True)
        lines = [
            b"%s\tQ0\t%s\t0\t%s\t0" % (query, doc, repr(score).encode()) for query, doc, score in columns
        ]
        yield Text(b"\n".join(lines), rows.lines)
