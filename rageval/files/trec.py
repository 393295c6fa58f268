"""TREC runs and (nugget) qrels: files in, columns of rows out, everything checked on the way.

This is the plain reader: whatever the compiled one does not understand comes here, and all messages are made
here. An ordinary stretch of lines is cut and checked as a whole; one that is unusual or wrong is read line by
line, by functions that are the specification of TREC's lines.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from rageval.errors import InputError, Place
from rageval.files.opening import (
    BOM,
    DEFAULT,
    Complaints,
    Limits,
    Source,
    _bad_bytes,
    _refuse_bom,
    _without_bom,
    chunks,
    limits_of,
    long_line,
    name_of,
    quoted,
)
from rageval.kernel import SEED, kernel

if TYPE_CHECKING:
    from pathlib import Path

    from rageval.records import Qrel


_SOME = 2**20  # bytes of lines that lay apart, in order again
_SCORE = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_GRADE = re.compile(rb"[+-]?\d{1,7}", re.ASCII)


class LineForm(NamedTuple):
    """A format of lines and columns: its name, its columns, which of them are ids, where the number is."""

    name: str
    columns: tuple[str, ...]
    ids: tuple[int, ...]
    number: int

    @property
    def width(self) -> int:
        """How many columns a line has."""
        return len(self.columns)

    def empty(self, name: str) -> InputError:
        """Return the error for a file without rows."""
        expected = f"lines of {self.width} columns ({' '.join(self.columns)})"
        return InputError(at=Place(name), problem="is empty", expected=expected)

    def is_tabbed(self, content: bytes) -> bool:
        """Return whether tabs part the fields of this line, so that ids may hold spaces."""
        return content.count(b"\t") == self.width - 1 and all(
            part.strip(b" ") for part in content.split(b"\t")
        )

    def first_is_tabbed(self, text: bytes, comments: str) -> bool | None:
        """Return whether tabs part the fields of the first row, which decides for all; None without a row."""
        begin = 0
        while begin < len(text):  # line by line, as the first mostly tells
            end = text.find(b"\n", begin)
            end = len(text) if end < 0 else end
            content = text[begin:end].removesuffix(b"\r")
            if not _holds_nothing(content, comments):
                return self.is_tabbed(content)
            begin = end + 1
        return None

    def detect_tabs(self, given: Iterable[Text], reading: Reading) -> tuple[Iterator[Text], Reading]:
        """Return the same texts, and how to read them: whether tabs part fields, as the first row says."""
        if reading.tabbed is not None:
            return iter(given), reading
        seen: list[Text] = []
        rest = iter(given)
        tabbed = None
        for text in rest:
            seen.append(text)
            tabbed = self.first_is_tabbed(text.content, reading.comments)
            if tabbed is not None:
                break
        # A stream is read once: what was looked at is handed on, too.
        return chain(seen, rest), reading._replace(tabbed=bool(tabbed))

    def spans(self, content: bytes, tabbed: bool) -> list[tuple[int, int]]:
        """Return start and end of every field of a line, in a file whose fields tabs part, or blanks."""
        spans = [match.span() for match in re.finditer(rb"[^ \t]+", content)]
        # A line that reads both ways goes by how the file's first row reads; only one that has no other
        # reading, or the wrong number of blanks, goes by its own tabs.
        if content.count(b"\t") == self.width - 1 and (tabbed or len(spans) != self.width):
            spans = []
            start = 0
            for part in content.split(b"\t"):
                left = start + len(part) - len(part.lstrip(b" "))
                spans.append((left, max(left, start + len(part.rstrip(b" ")))))
                start += len(part) + 1
            return spans
        return spans

    def problem(
        self, content: bytes, spans: list[tuple[int, int]], comments: str, limits: Limits
    ) -> InputError | None:
        """Return what is wrong with a line, or None."""
        problem = _bad_bytes(content, limits)
        if problem is None and content.startswith(b"#") and comments != "data":
            return InputError(
                "begins with '#'",
                remedy="use --comments skip if this is a comment, or --comments data if ids begin with '#'",
            )
        return (
            problem
            or _bad_shape(content, spans, self)
            or _bad_value([content[left:right] for left, right in spans], self, limits)
        )

    def with_numbers(self, columns: Columns, limits: Limits) -> Columns | None:
        """Return the columns, that of scores or grades as numbers; None if one is none."""
        words = columns[self.number]
        numbers = _parse_scores(words) if self is RUN else _parse_grades(words, limits.grade)
        if numbers is None:
            return None
        return [*columns[: self.number], numbers, *columns[self.number + 1 :]]

    def stretch(self, text: Text, source: Source, reading: Reading) -> tuple[Sequence[int], Columns]:
        """Return the number of each line with a row, and the rows' columns; `InputError` if one is wrong.

        The `source` has a name and limits.
        """
        (content, first), name, limits = text, name_of(source), limits_of(source)
        if isinstance(first, int):
            _refuse_bom(content, name, first)
        if not content.strip(b" \t\n"):
            return [], []
        # The fast way takes a chunk whole, or not at all; then the slow way reads line by line and names the
        # line.
        columns = self.ordinary(content, reading, limits)
        if columns is not None:
            return text.numbers(len(columns[0])), columns
        lines = content.split(b"\n")
        numbers = text.numbers(len(lines))
        row_numbers, rows = _read_lines(
            zip(numbers, lines, strict=False), self, name, reading.comments, limits, bool(reading.tabbed)
        )
        columns = list(zip(*rows, strict=True))
        return row_numbers, self.with_numbers(columns, limits) or [] if columns else []

    def ordinary(self, content: bytes, reading: Reading, limits: Limits) -> Columns | None:
        """Return the columns of lines that are all as most are, or None if that is not plain to see."""
        if kernel is not None:
            scores = self.number if self is RUN else -1
            parsed = kernel.columns(content, self.width, scores, limits.id, limits.line, bool(reading.tabbed))
            if parsed is not None:
                return parsed if self is RUN else self.with_numbers(parsed, limits)
        if b"\r" in content:
            content = content.replace(b"\r\n", b"\n")
        content = content.removesuffix(b"\n")
        ends = content.count(b"\n")
        # Each field takes a byte and each but the last a separator: 2·width − 1 bytes a line, and its end.
        if (ends + 1) * 2 * self.width > len(content) + 2:
            return None  # some lines are too short to hold all fields
        # translate with bytes to delete leaves what no line may hold: one pass in C over all bytes.
        if content.translate(None, _TEXT) or not (content.isascii() or _is_utf8(content)):
            return None
        if b"#" in content and reading.comments != "data" and (content.startswith(b"#") or b"\n#" in content):
            return None
        columns = _evenly_parted(content, ends, self.width) or _parted(
            content, self.width, bool(reading.tabbed)
        )
        if columns is None or _too_long(content, columns, self, limits):
            return None
        return self.with_numbers(columns, limits)

    def together(self, texts: Iterable[Text], tabbed: bool, shares: int = 1) -> Generator[Text, None, None]:
        """Yield the lines of each query together, a share of the queries in memory at a time.

        A line has `width` fields, and `tabbed` says whether tabs part them where it can be read both ways.
        """
        in_order = _sorted if kernel is None else _compiled_sorted
        if shares == 1:
            yield from in_order(texts, self.width, tabbed)
            return
        from pathlib import Path
        from tempfile import TemporaryDirectory

        with TemporaryDirectory(prefix="rageval-") as name:
            paths = [Path(name, str(share)) for share in range(shares)]
            for text in texts:
                # A query's rows all go to the file that the checksum of its id names, so each file can be
                # sorted alone.
                numbers, lines, queries = _split_rows(text, self.width, tabbed)
                parted: list[list[int]] = [[] for _ in paths]
                share = {query: parted[crc32(query) % shares] for query in set(queries)}
                for index, query in enumerate(queries):
                    share[query].append(index)
                for path, places in zip(paths, parted, strict=True):
                    if places:
                        with path.open("ab") as file:
                            file.write(b"\n".join([*[lines[index] for index in places], b""]))
                        with path.with_suffix(".lines").open("ab") as file:
                            array("q", [numbers[index] for index in places]).tofile(file)
            for path in paths:
                if path.exists():
                    yield from in_order(_read_share(path), self.width, tabbed)


RUN = LineForm("run", ("qid", "Q0", "docid", "rank", "score", "tag"), (0, 2), 4)
QRELS = LineForm("qrels", ("qid", "nugget", "docid", "grade"), (0, 1, 2), 3)


def _read_lines(
    lines: Iterable[tuple[int, bytes]],
    kind: LineForm,
    source: str,
    comments: str = "error",
    limits: Limits = DEFAULT,
    tabbed: bool = False,
) -> tuple[list[int], list[list[bytes]]]:
    """Return number and fields of every line, given each with its number; `InputError` if one is wrong."""
    numbers: list[int] = []
    rows: list[list[bytes]] = []
    findings = Complaints()
    for number, ended in lines:
        content = ended.removesuffix(b"\r")
        if _holds_nothing(content, comments):
            continue
        spans = kind.spans(content, tabbed)
        problem = kind.problem(content, spans, comments, limits)
        if problem:
            findings.add(problem.located(Place(source, number)))
        else:
            numbers.append(number)
            rows.append([content[left:right] for left, right in spans])
    findings.raise_if_any()
    return numbers, rows


def _parse_score(text: bytes) -> float | None:
    """Return one score, or None if it is no finite decimal number in ASCII."""
    if not _SCORE.fullmatch(text):
        return None
    number = float(text)
    # 1e400 is a number to the pattern, and infinite to float.
    return number if abs(number) != float("inf") else None


def is_number(text: bytes) -> bool:
    """Return whether this is a finite decimal number, as scores and grades are."""
    return _parse_score(text) is not None


def grade_of(text: bytes, largest: int) -> int | float | None:
    """Return one grade, whole where it is (1.0 is 1); None if it is no decimal number within the limit."""
    if _GRADE.fullmatch(text):
        number: int | float | None = int(text)
    else:
        number = _parse_score(text)
    if number is None or abs(number) > largest:
        return None
    return int(number) if number == int(number) else number


def _holds_nothing(content: bytes, comments: str) -> bool:
    return not content.strip(b" \t") or (comments == "skip" and content.startswith(b"#"))


def kind_of_line(content: bytes) -> LineForm | None:
    """Return the format with as many columns as this line; tabs first, as ids between them hold spaces."""
    tabbed = (kind for kind in (RUN, QRELS) if kind.is_tabbed(content))
    width = len(content.split())
    return next(tabbed, None) or next((kind for kind in (RUN, QRELS) if len(kind.columns) == width), None)


def _bad_shape(content: bytes, spans: list[tuple[int, int]], kind: LineForm) -> InputError | None:
    expected = " ".join(kind.columns)
    if len(spans) != kind.width:
        return InputError(
            expected=f"{kind.width} columns ({expected})",
            found=f"{len(spans)}: {quoted(content)}",
            remedy="ids with spaces need a tab-separated file" if len(spans) > kind.width else "",
        )
    empty = [kind.columns[index] for index, (left, right) in enumerate(spans) if left == right]
    if not empty:
        return None
    shown = f"nothing in {empty[0]}: {quoted(content)}"
    return InputError(expected=f"{kind.width} columns ({expected})", found=shown)


def _bad_value(values: list[bytes], kind: LineForm, limits: Limits) -> InputError | None:
    for index in kind.ids:
        if len(values[index]) > limits.id:
            column = kind.columns[index]
            return InputError(
                f"a {column} of {len(values[index]):,} bytes",
                expected=f"at most {limits.id:,}",
                remedy="see --limit id=…",
            )
    text = values[kind.number]
    if kind.columns[kind.number] == "score":
        if _parse_score(text) is None:
            return InputError(expected="a finite decimal number as score", found=quoted(text))
    elif grade_of(text, limits.grade) is None:
        largest = f"{limits.grade:,}"
        return InputError(expected=f"a number from -{largest} to {largest} as grade", found=quoted(text))
    return None


COMMENTS = ("error", "skip", "data")
_TEXT = bytes({9, 10, *range(32, 127), *range(128, 256)})  # bytes that a line may hold, or end with
Columns = Sequence[Sequence[Any]]


class Reading(NamedTuple):
    """How to read: what a line that begins with `#` is.

    `tabbed`: whether tabs separate the fields in lines that can be read both ways; unless it is known, the
    first row of the file says so.
    """

    comments: str = "error"
    tabbed: bool | None = None


PLAIN = Reading()


class RunRows(NamedTuple):
    """Rows of a run, a list a column, and the number of the line of each; no ranks in what has none."""

    source: str
    lines: Sequence[int]
    queries: Sequence[bytes]
    docs: Sequence[bytes]
    scores: Sequence[float]
    ranks: Sequence[bytes] | None = None


class QrelsRows(NamedTuple):
    """Rows of judgements, a list a column, and the number of the line of each."""

    source: str
    lines: Sequence[int]
    queries: Sequence[bytes]
    docs: Sequence[bytes]
    nuggets: Sequence[bytes]
    grades: Sequence[int | float]


class Text(NamedTuple):
    """Whole lines, with the number of the first, or of each where they were put in another order."""

    content: bytes
    lines: Sequence[int] | int = 1

    def numbers(self, count: int) -> Sequence[int]:
        """Return the numbers of the first so many lines."""
        return range(self.lines, self.lines + count) if isinstance(self.lines, int) else self.lines[:count]


def run_rows(source: Source, reading: Reading = PLAIN) -> Iterator[RunRows]:
    """Read the rows of a run, a stretch a chunk."""
    return run_rows_of(texts(source), source, reading)


def qrels_rows(source: Source, reading: Reading = PLAIN) -> Iterator[QrelsRows]:
    """Read the rows of a judgement file, a stretch a chunk."""
    name = name_of(source)
    for lines, (query, nugget, doc, grades) in _stretches(texts(source), QRELS, source, reading):
        yield QrelsRows(name, lines, query, doc, nugget, grades)


def run_rows_of(given: Iterable[Text], source: Source, reading: Reading) -> Iterator[RunRows]:
    """Read the rows of a run out of its text; `source` has its name and limits."""
    name = name_of(source)
    for lines, (query, _, doc, rank, scores, _) in _stretches(given, RUN, source, reading):
        yield RunRows(name, lines, query, doc, scores, rank)


def texts(source: Source, numbered: bool = True) -> Iterator[Text]:
    """Read whole lines, a chunk at a time; nothing that is no text of lines.

    Whoever counts lines while reading them, as the compiled reader does, needs no numbers.
    """
    name, line = name_of(source), 1
    for number, content in enumerate(chunks(source)):
        yield Text(content if number else _without_bom(content, name), line)
        if numbered:
            line += content.count(b"\n")


def _stretches(
    given: Iterable[Text], kind: LineForm, source: Source, reading: Reading
) -> Iterator[tuple[Sequence[int], Columns]]:
    """Read line numbers and columns, a stretch a text that holds rows."""
    rows = 0
    given, reading = kind.detect_tabs(given, reading)
    for text in given:
        lines, columns = kind.stretch(text, source, reading)
        if lines:
            rows += len(lines)
            yield lines, columns
    if not rows:
        raise kind.empty(name_of(source))


def _evenly_parted(content: bytes, ends: int, width: int) -> Columns | None:
    """Return the columns if single blanks, or single tabs, part all fields; None where it is otherwise.

    The whole text is cut at once: then every seventh piece of a run has to be the end of a line.
    """
    if b"\t" in content:
        if b" " in content:
            return None
        # Tabs or blanks, not both: with both, ids may hold blanks.
        content = content.replace(b"\t", b" ")
    # Line ends become pieces of their own, so that a line that is too short or too long shows by its place.
    pieces = content.replace(b"\n", b" \n ").split(b" ")
    if pieces[width :: width + 1].count(b"\n") < ends or len(pieces) != (ends + 1) * (width + 1) - 1:
        return None
    # Two blanks in a row, or one at an end: the slower way parts those.
    if b"" in pieces:
        return None
    return [pieces[index :: width + 1] for index in range(width)]


def _parted(content: bytes, width: int, tabbed: bool) -> Columns | None:
    """Return the columns of lines that all have as many fields as they should; None where one has not."""
    lines = content.split(b"\n")
    by_tabs = tabbed and b" " in content
    rows: Iterable[list[bytes]] = map(bytes.split, lines)
    if by_tabs:
        # Between tabs an id may hold blanks; those around it are no part of it.
        rows = ([part.strip(b" ") for part in line.split(b"\t")] for line in lines)
    try:
        # zip turns rows into columns, and strict refuses rows of different lengths.
        columns = list(zip(*rows, strict=True))
    except ValueError:
        return None
    return columns if len(columns) == width and (not by_tabs or all(map(all, columns))) else None


def _too_long(content: bytes, columns: Columns, kind: LineForm, limits: Limits) -> bool:
    if len(content) > limits.line and len(max(content.split(b"\n"), key=len)) > limits.line:
        return True
    # Cheaper than measuring every id: where a blank is in each stretch of so many bytes no field is twice as
    # long.
    width = limits.id // 2
    starts = range(0, len(content) - width + 1, width or 1)
    if (
        width
        and b"\t" not in content
        and all(content.find(b" ", start, start + width) >= 0 for start in starts)
    ):
        return False
    return any(max(map(len, columns[column])) > limits.id for column in kind.ids)


def _parse_scores(words: Sequence[bytes]) -> list[float] | None:
    """Return finite decimal numbers: `float` takes nothing else of these characters."""
    # float also takes nan, inf, blanks and underscores; none of them is left after this.
    if b"".join(words).translate(None, b"0123456789+-.eE"):
        return None
    try:
        scores = list(map(float, words))
    except ValueError:
        return None
    # An overflow such as 1e400 becomes infinite.
    return scores if max(scores) < float("inf") and min(scores) > -float("inf") else None


def _parse_grades(words: Sequence[bytes], largest: int) -> list[int | float] | None:
    # Grades are few and repeat: check each word once, not each row.
    number = {}
    for word in set(words):
        value = grade_of(word, largest)
        if value is None:
            return None
        number[word] = value
    return [number[word] for word in words]


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _compiled_sorted(texts: Iterable[Text], width: int, tabbed: bool) -> Iterator[Text]:
    sorter = kernel.apart_new(SEED, width, tabbed)
    for text in texts:
        lines = text.lines if isinstance(text.lines, int) else array("q", text.lines)
        kernel.apart_feed(sorter, text.content, lines)
    # Some queries at a time: all of them together would be in memory twice.
    while (batch := kernel.apart_next(sorter, _SOME))[0]:
        yield Text(batch[0], array("q", batch[1]))


def _sorted(texts: Iterable[Text], width: int, tabbed: bool) -> Iterator[Text]:
    of_query: defaultdict[bytes, list[int]] = defaultdict(list)
    lines: list[bytes] = []
    numbers = array("q")
    for text in texts:
        some, contents, queries = _split_rows(text, width, tabbed)
        for index, query in enumerate(queries, len(lines)):
            of_query[query].append(index)
        numbers.extend(some)
        lines += contents
    # Lines of a query keep their order among themselves.
    order = list(chain.from_iterable(of_query.values()))
    yield Text(b"\n".join([lines[index] for index in order]), array("q", [numbers[index] for index in order]))


def _split_rows(text: Text, width: int, tabbed: bool) -> tuple[Sequence[int], list[bytes], list[bytes]]:
    """Cut a text into lines, without those of blanks; return their numbers, themselves, and their queries."""
    content = text.content
    lines = content.removesuffix(b"\n").split(b"\n")
    numbers = text.numbers(len(lines))
    part = b"\t" if tabbed else b" "
    queries = [line.partition(part)[0] for line in lines]
    if tabbed or b"\t" in content or b"\r" in content or b"" in queries:
        is_row = [line.strip(b" \t") not in (b"", b"\r") for line in lines]
        numbers, lines = list(compress(numbers, is_row)), list(compress(lines, is_row))
        # The first field of a line, parted as the readers part it.
        queries = [
            line.split(b"\t", 1)[0].strip(b" ")
            if line.count(b"\t") == width - 1 and (tabbed or len(line.split()) != width)
            else (line.split(None, 1) or [b""])[0]
            for line in lines
        ]
    return numbers, lines, queries


def _read_share(path: Path) -> Iterator[Text]:
    with path.open("rb") as file, path.with_suffix(".lines").open("rb") as numbers:
        while lines := file.readlines(_SOME):
            yield Text(b"".join(lines), array("q", numbers.read(8 * len(lines))))
    path.unlink()


def as_text(stretches: Iterable[RunRows]) -> Iterator[Text]:
    """Write rows as lines whose fields tabs part; their numbers are those of the rows."""
    for rows in stretches:
        columns = zip(rows.queries, rows.docs, rows.scores, strict=True)
        lines = [
            b"%s\tQ0\t%s\t0\t%s\t0" % (query, doc, repr(score).encode()) for query, doc, score in columns
        ]
        yield Text(b"\n".join(lines), rows.lines)


def qrel_lines(qrels: Iterable[Qrel]) -> Iterator[str]:
    """Return lines `query nugget document grade`; tabs part them where an id holds a space."""
    rows = list(qrels)
    spaced = any(" " in name for row in rows for name in (row.query_id, row.iteration, row.doc_id))
    separator = "\t" if spaced else " "
    for row in rows:
        yield separator.join((row.query_id, row.iteration, row.doc_id, str(row.relevance)))


def read_columns(source: Source, columns: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, words) of a table of a few columns, separated by tabs or spaces."""
    width = len(columns.split())
    name, limits = name_of(source), limits_of(source)
    line = 0
    for text in chunks(source):
        text = text.removeprefix(BOM) if not line else text
        _refuse_bom(text, name, line + 1)
        for content in text.splitlines():
            line += 1
            if len(content) > limits.line:
                raise long_line(limits).located(Place(name, line))
            try:
                shown = content.decode()
            except UnicodeDecodeError:
                raise InputError(at=Place(name, line), expected="UTF-8", found=quoted(content)) from None
            # With a tab, words may hold blanks.
            words = shown.split("\t") if "\t" in shown else shown.split()
            if not words:
                continue
            if len(words) != width:
                raise InputError(
                    at=Place(name, line),
                    expected=f"{width} columns ({columns})",
                    found=f"{len(words)}: {quoted(content)}",
                )
            yield line, [word.strip() for word in words]
