"""Files that are odd but fine give the same numbers, to the last bit, as the plain ones."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import math
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import rageval
from our_measures import OF_RUNS

pytestmark = pytest.mark.slow

Text = Callable[[bytes], bytes]
Values = dict[str, dict[str, float]]

MEASURES = [*(f"{name}@5" for name in OF_RUNS), *OF_RUNS]
QUERIES = 25


def plain_run(rng: random.Random) -> bytes:
    """Sorted by score, a third of the scores tied; one topic is easy, so that even all_gold is above 0."""
    lines = ["q-easy Q0 d1000 1 1 t"]
    for query in range(QUERIES):
        for rank, doc in enumerate(rng.sample(range(1000, 1090), 60), 1):
            lines.append(f"q{query} Q0 d{doc} {rank} {40 - rank * 2 // 3} t")
    return "\n".join(lines).encode() + b"\n"


def plain_qrels(rng: random.Random) -> bytes:
    """Sorted by query and nugget; grades from -1 to 3."""
    lines = ["q-easy n0 d1000 1"]
    for query in range(QUERIES + 2):  # two of them are not in the run
        for nugget in range(rng.randint(1, 6)):
            for doc in sorted(rng.sample(range(1000, 1090), 30)):
                lines.append(f"q{query} n{nugget} d{doc} {rng.choice((-1, 0, 0, 0, 1, 1, 2, 3))}")
    return "\n".join(lines).encode() + b"\n"


RNG = random.Random(2013)
RUN = plain_run(RNG)
QRELS = plain_qrels(RNG)


def values(run: object, qrels: object) -> Values:
    scores = rageval.evaluate(MEASURES, run, qrels)
    return {name: {"mean": score.value, **score.by_query} for name, score in scores.items()}


def written(folder: Path, run: bytes, qrels: bytes, suffix: str = "") -> tuple[Path, Path]:
    paths = folder / f"run{suffix}", folder / f"qrels{suffix}"
    for path, text in zip(paths, (run, qrels), strict=True):
        path.write_bytes(text)
    return paths


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Values:
    plain = values(*written(tmp_path_factory.mktemp("plain"), RUN, QRELS))
    assert all(by_query["mean"] > 0 for by_query in plain.values())
    return plain


def fields(text: bytes) -> list[list[bytes]]:
    return [line.split(b" ") for line in text.splitlines()]


def joined(rows: list[list[bytes]], separator: bytes = b" ", end: bytes = b"\n") -> bytes:
    return b"".join(separator.join(row) + end for row in rows)


def shuffled(text: bytes) -> bytes:
    lines = text.splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    return b"".join(lines)


def by_column(column: int) -> Text:
    """Rows sorted by one column, so that a query's rows lie apart."""
    return lambda text: joined(sorted(fields(text), key=lambda row: row[column]))


def blanks_of_all_kinds(text: bytes) -> bytes:
    rng = random.Random(2)
    blanks = (b" ", b"  ", b"\t", b" \t ", b"      ")
    lines = []
    for row in fields(text):
        line = b"".join(field + rng.choice(blanks) for field in row)
        lines.append(rng.choice((b"", b" ", b"\t ")) + line)
    return b"\n".join(lines)


def blank_lines(text: bytes) -> bytes:
    return b"\n \n" + text.replace(b"\n", b"\n\n \t\n\n", 99) + b"\n\n"


def some_lines_with_tabs(text: bytes) -> bytes:
    lines = text.splitlines(keepends=True)
    return b"".join(line.replace(b" ", b"\t") if index % 3 else line for index, line in enumerate(lines))


LAYOUTS: dict[str, Text] = {
    "shuffled": shuffled,
    "sorted by document": by_column(2),
    "sorted by the last column but one": by_column(-2),
    "tabs": lambda text: text.replace(b" ", b"\t"),
    "tabs in some lines": some_lines_with_tabs,
    "two blanks": lambda text: text.replace(b" ", b"  "),
    "columns of equal width": lambda text: joined([[f.ljust(9) for f in row] for row in fields(text)]),
    "numbers to the right": lambda text: joined([[f.rjust(9) for f in row] for row in fields(text)]),
    "blanks of all kinds": blanks_of_all_kinds,
    "blanks at line ends": lambda text: text.replace(b"\n", b" \n"),
    "a tab at line ends": lambda text: text.replace(b" ", b"\t").replace(b"\n", b"\t\n"),
    "CRLF": lambda text: text.replace(b"\n", b"\r\n"),
    "CRLF in some lines": lambda text: text.replace(b"\n", b"\r\n", 100),
    "CRLF and tabs": lambda text: text.replace(b"\n", b"\r\n").replace(b" ", b"\t"),
    "CRLF and blanks at line ends": lambda text: text.replace(b"\n", b" \r\n"),
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "a byte order mark and CRLF": lambda text: b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"),
    "a byte order mark and a blank line": lambda text: b"\xef\xbb\xbf\n" + text,
    "no newline at the end": lambda text: text.rstrip(b"\n"),
    "CRLF but none at the end": lambda text: text.replace(b"\n", b"\r\n")[:-2],
    "a carriage return at the end": lambda text: text[:-1] + b"\r",
    "blank lines": blank_lines,
}
PACKERS: dict[str, Text] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "gz in two members": lambda text: gzip.compress(text[:9999]) + gzip.compress(text[9999:]),
    "bz2 in two streams": lambda text: bz2.compress(text[:9999]) + bz2.compress(text[9999:]),
    "xz in two streams": lambda text: lzma.compress(text[:9999]) + lzma.compress(text[9999:]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
class TestLayouts:
    def test_of_the_run(self, layout: str, tmp_path: Path, expected: Values) -> None:
        assert values(*written(tmp_path, LAYOUTS[layout](RUN), QRELS)) == expected

    def test_of_the_judgements(self, layout: str, tmp_path: Path, expected: Values) -> None:
        assert values(*written(tmp_path, RUN, LAYOUTS[layout](QRELS))) == expected

    def test_compressed_files_have_the_same_values(
        self, layout: str, tmp_path: Path, expected: Values
    ) -> None:
        change = LAYOUTS[layout]
        assert values(*written(tmp_path, gzip.compress(change(RUN)), bz2.compress(change(QRELS)))) == expected


@pytest.mark.parametrize("suffix", ["", ".gz", ".txt"])
@pytest.mark.parametrize("packer", PACKERS)
def test_compressed_whatever_the_name(packer: str, suffix: str, tmp_path: Path, expected: Values) -> None:
    pack = PACKERS[packer]
    assert values(*written(tmp_path, pack(RUN), pack(QRELS), suffix)) == expected


def test_files_compressed_by_zstd_have_the_same_values(tmp_path: Path, expected: Values) -> None:
    zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    assert values(*written(tmp_path, zstd.compress(RUN), zstd.compress(QRELS))) == expected


def test_judgements_that_say_everything_twice(tmp_path: Path, expected: Values) -> None:
    assert values(*written(tmp_path, RUN, QRELS + shuffled(QRELS))) == expected


def test_binary_files_that_are_open(tmp_path: Path, expected: Values) -> None:
    run, qrels = written(tmp_path, RUN, gzip.compress(QRELS))
    with run.open("rb") as open_run, qrels.open("rb") as open_qrels:
        assert values(rageval.read_run(open_run), rageval.read_qrels(open_qrels)) == expected


class TestColumns:
    """Columns that do not count, and numbers in other spellings."""

    @pytest.mark.parametrize("rank", [b"0", b"-1", b"x", b"1e9", "九".encode(), b"99999999999999999999"])
    def test_ranks_in_a_run_change_nothing(self, rank: bytes, tmp_path: Path, expected: Values) -> None:
        rows = [[*row[:3], rank, *row[4:]] for row in fields(RUN)]
        assert values(*written(tmp_path, joined(rows), QRELS)) == expected

    def test_any_second_column_and_tag(self, tmp_path: Path, expected: Values) -> None:
        rows = [[row[0], b"#0", *row[2:5], b"%d#" % index] for index, row in enumerate(fields(RUN))]
        assert values(*written(tmp_path, joined(rows), QRELS)) == expected

    @pytest.mark.parametrize(
        "spelling", ["{:+d}", "{}.", "{}.000", "{}e0", "{}.0E+00", "00{}", "{}0e-1", "0.{:03d}e3"]
    )
    def test_scores_in_other_spellings(self, spelling: str, tmp_path: Path, expected: Values) -> None:
        rows = [[*row[:4], spelling.format(int(row[4])).encode(), row[5]] for row in fields(RUN)]
        assert values(*written(tmp_path, joined(rows), QRELS)) == expected

    def test_scores_with_more_digits_than_a_float(self, tmp_path: Path, expected: Values) -> None:
        rows = [[*row[:4], b"1." + b"%02d" % int(row[4]) + b"3" * 300, row[5]] for row in fields(RUN)]
        assert values(*written(tmp_path, joined(rows), QRELS)) == expected

    def test_negative_and_tiny_scores(self, tmp_path: Path, expected: Values) -> None:
        rows = [[*row[:4], b"%de-320" % (int(row[4]) - 41), row[5]] for row in fields(RUN)]
        assert values(*written(tmp_path, joined(rows), QRELS)) == expected

    def test_grades_in_other_spellings(self, tmp_path: Path, expected: Values) -> None:
        rows = [[*row[:3], b"%+04d" % int(row[3])] for row in fields(QRELS)]
        assert values(*written(tmp_path, RUN, joined(rows))) == expected


RENAMERS: dict[str, Callable[[str], str]] = {
    "1,024 bytes": lambda name: "x" * (1024 - len(name)) + name,
    "1,024 bytes of three each": lambda name: "文" * ((1024 - len(name)) // 3) + name,
    "borders of words": lambda name: "x" * 3 + name,
    "numbers": lambda name: name[1:],
    "numbers with zeros": lambda name: "000" + name[1:],
    "floats": lambda name: "1." + name[1:],
    "larger than 64 bits": lambda name: "98765432109876543210" + name[1:],
    "Arabic": lambda name: "نص-" + name,
    "Chinese": lambda name: "文書" + name,
    "emoji": lambda name: "🦜" + name,
    "decomposed": lambda name: "e\u0301" + name,
    "private use": lambda name: "\U00100000" + name,
    "no-break space": lambda name: "a\u00a0b\u3000" + name,
    "line separator": lambda name: "\u2028\x85" + name,
    "hash inside": lambda name: "msmarco_v2.1_doc_" + name + "#0",
    "quotes and backslashes": lambda name: "\"'\\n" + name,
    "URLs": lambda name: "<https://example.org/?q=" + name + "&x=%20>",
}


@pytest.mark.parametrize("kind", RENAMERS)
def test_ids_may_be_any_text_that_keeps_their_order(kind: str, tmp_path: Path, expected: Values) -> None:
    """Names that keep their order may be anything."""
    rename = RENAMERS[kind]

    def renamed(text: bytes, columns: tuple[int, ...]) -> bytes:
        rows = [[field.decode() for field in row] for row in fields(text)]
        return joined(
            [
                [(rename(f) if column in columns else f).encode() for column, f in enumerate(row)]
                for row in rows
            ]
        )

    renamed_values = values(*written(tmp_path, renamed(RUN, (0, 2)), renamed(QRELS, (0, 1, 2))))
    names = {rename(query): query for query in next(iter(expected.values())) if query != "mean"} | {
        "mean": "mean"
    }
    assert {
        name: {names[q]: value for q, value in by_query.items()} for name, by_query in renamed_values.items()
    } == expected


def test_ids_that_only_look_alike_are_different(tmp_path: Path) -> None:
    alike = [
        "7",
        "07",
        "7.0",
        "+7",
        "7e0",
        "٧",
        "é",
        "e\u0301",
        "E",
        "e",
        "%65",
        "\u200be",
        "x" * 8,
        "x" * 16,
    ]
    run = "".join(f"{query} Q0 {doc} 1 {score} t\n" for query in alike for score, doc in enumerate(alike))
    qrels = "".join(f"{name} {name} {name} 1\n" for name in alike)
    scores = rageval.evaluate("recall,rr", *written(tmp_path, run.encode(), qrels.encode()))
    assert scores["recall"].by_query == dict.fromkeys(alike, 1.0)
    assert scores["rr"].by_query == {name: 1 / (len(alike) - index) for index, name in enumerate(alike)}


@pytest.mark.parametrize("columns", [(0,), (0, 1), (0, 1, 2)])
@pytest.mark.parametrize("spaces", [1, 2, 5])
def test_tabs_keep_ids_with_spaces_together(
    spaces: int, columns: tuple[int, ...], tmp_path: Path, expected: Values
) -> None:
    """Also where the words of a line of judgements are as many as the columns of a run."""
    words = b"a" + b" b" * spaces + b"-"
    in_run = {column for column in columns if column != 1}
    run, qrels = (
        joined(
            [[words + f if column in named else f for column, f in enumerate(row)] for row in fields(text)],
            b"\t",
        )
        for text, named in ((RUN, in_run), (QRELS, columns))
    )
    result = command(*written(tmp_path, run, qrels))
    assert result == {name: by_query["mean"] for name, by_query in expected.items()}


def test_tabs_in_a_run_whose_tag_has_words(tmp_path: Path, expected: Values) -> None:
    run = joined([[*row[:5], b"my best run"] for row in fields(RUN)], b"\t")
    assert values(*written(tmp_path, run, QRELS)) == expected


def test_lines_that_begin_with_a_hash(tmp_path: Path, expected: Values) -> None:
    run, qrels = written(tmp_path, b"# run\n" + RUN, b"#\n" + QRELS + b"# the end")
    read_values = values(rageval.read_run(run, comments="skip"), rageval.read_qrels(qrels, comments="skip"))
    assert read_values == expected
    run, qrels = written(tmp_path, RUN.replace(b"q0 ", b"#0 "), QRELS.replace(b"q0 ", b"#0 "))
    read_values = values(rageval.read_run(run, comments="data"), rageval.read_qrels(qrels, comments="data"))
    assert read_values["ndcg"]["#0"] == expected["ndcg"]["q0"]


class TestCommandLine:
    """The same through files, pipes and pseudo-files."""

    def test_the_order_of_files_changes_nothing(self, tmp_path: Path, expected: Values) -> None:
        run, qrels = written(tmp_path, RUN, QRELS)
        means = {name: by_query["mean"] for name, by_query in expected.items()}
        assert command(run, qrels) == command(qrels, run) == means

    @pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
    def test_a_run_on_standard_input(self, pack: Text, tmp_path: Path, expected: Values) -> None:
        _, qrels = written(tmp_path, RUN, QRELS)
        assert command("-", qrels, stdin=pack(shuffled(RUN)))["rr"] == expected["rr"]["mean"]

    @pytest.mark.parametrize("pack", [bytes, bz2.compress])
    def test_judgements_on_standard_input(self, pack: Text, tmp_path: Path, expected: Values) -> None:
        run, _ = written(tmp_path, RUN, QRELS)
        assert command(run, "-", stdin=pack(shuffled(QRELS)))["rr"] == expected["rr"]["mean"]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
    def test_named_pipes_are_read_as_files(self, tmp_path: Path, expected: Values) -> None:
        """As a shell's <(zcat run.gz) makes them."""
        pipes = [tmp_path / "run", tmp_path / "qrels"]
        for pipe in pipes:
            os.mkfifo(pipe)
        texts = (LAYOUTS["shuffled"](RUN), QRELS)
        writers = [
            threading.Thread(target=pipe.write_bytes, args=(text,))
            for pipe, text in zip(pipes, texts, strict=True)
        ]
        for writer in writers:
            writer.start()
        assert command(*pipes)["rr"] == expected["rr"]["mean"]
        for writer in writers:
            writer.join()


def command(*words: object, stdin: bytes = b"") -> dict[str, float]:
    """The means that `rageval` prints as JSON."""
    options = [word for name in MEASURES for word in ("-m", name)]
    program = [sys.executable, "-m", "rageval", *map(str, words), *options, "--format", "json"]
    process = subprocess.run(program, input=stdin, stdout=subprocess.PIPE, check=True)
    return {result["measure"]: result["value"] for result in json.loads(process.stdout)["results"]}


class TestSizes:
    def test_100_000_rows_of_one_query(self, tmp_path: Path) -> None:
        rows, every = 100_000, 250
        run = b"".join(b"q Q0 doc%d %d %d t\n" % (row, row, -row) for row in range(1, rows + 1))
        qrels = b"".join(b"q n%d doc%d 1\n" % (row % 7, row) for row in range(every, rows + 1, every))
        names = ["ap", "rr", "recall@1000", "ndcg", "coverage@2000", "p"]
        scores = rageval.evaluate(names, *written(tmp_path, shuffled(run), qrels))
        relevant = rows // every
        gain = math.fsum(1 / math.log2(1 + rank) for rank in range(every, rows + 1, every))
        ideal = math.fsum(1 / math.log2(1 + rank) for rank in range(1, relevant + 1))
        assert [scores[name].value for name in names] == pytest.approx(
            [1 / every, 1 / every, 4 / relevant, gain / ideal, 1.0, 1 / every], rel=1e-12
        )

    @pytest.mark.nightly
    def test_one_row_for_each_of_100_000_queries(self, tmp_path: Path) -> None:
        queries = 100_000
        run = b"".join(b"q%d Q0 d%d 1 1 t\n" % (number, number % 10) for number in range(queries))
        qrels = b"".join(b"q%d n d%d 1\n" % (number, number % 5) for number in range(queries))
        for order in (bytes, shuffled):
            scores = rageval.evaluate("p@1,coverage,alpha_ndcg@5", *written(tmp_path, run, order(qrels)))
            assert [score.value for score in scores.values()] == [0.5, 0.5, 0.5]
            assert scores["p@1"].by_query["q99995"] == 0.0
            assert scores["p@1"].by_query["q99990"] == 1.0

    @pytest.mark.nightly
    @pytest.mark.parametrize("end", [b"\n", b"\r\n"])
    def test_queries_interleaved_over_many_chunks(self, end: bytes, tmp_path: Path) -> None:
        """12 MB by rank: every query's rows lie everywhere in the file."""
        queries, depth = 100, 3000
        rows = [
            [
                b"query-%d" % query,
                b"Q0",
                b"document-%d" % (rank * 7919 % 10007),
                b"%d" % rank,
                b"%d" % -rank,
                b"tag",
            ]
            for query in range(queries)
            for rank in range(1, depth + 1)
        ]
        by_rank = sorted(rows, key=lambda row: int(row[3]))
        qrels = b"".join(
            b"query-%d n%d document-%d 1\n" % (row % queries, row % 3, row % 10007) for row in range(30_000)
        )
        names = ["alpha_ndcg@100", "ap", "recall@2000", "judged"]
        grouped = rageval.evaluate(names, *written(tmp_path, joined(rows, end=end), qrels))
        text = joined(by_rank, end=end)
        assert len(text) > 10**7
        interleaved = rageval.evaluate(names, *written(tmp_path, text, shuffled(qrels)))
        for name in names:
            assert interleaved[name].by_query == grouped[name].by_query
            assert 0 < grouped[name].value < 1

    @pytest.mark.parametrize("size", [2**20 - 1, 2**20, 2**20 + 1])
    def test_a_line_end_at_the_border_of_a_chunk(self, size: int, tmp_path: Path) -> None:
        """The first line end lies around the end of the first 1 MiB, the second and third right behind."""
        for end in (b"\n", b"\r\n"):
            first = b"q Q0 a 1 3 "
            run = (
                first
                + b"t" * (size - len(first) - len(end))
                + end
                + end.join([b"q Q0 b 2 2 t", b"q Q0 c 3 1 t", b""])
            )
            value = rageval.evaluate("rr", *written(tmp_path, run, b"q n c 1\n"))["rr"].value
            assert value == 1 / 3

    def test_a_byte_order_mark_and_a_character_across_chunks(self, tmp_path: Path) -> None:
        doc = "文書🦜é".encode()
        for padding in range(12):
            first = b"\xef\xbb\xbfq Q0 a 1 3 "
            run = first + b"t" * (2**20 - len(first) - padding) + b"\nq Q0 " + doc + b" 2 2 t\n"
            value = rageval.evaluate("rr", *written(tmp_path, run, b"q n " + doc + b" 1\n"))["rr"].value
            assert value == 1 / 2
