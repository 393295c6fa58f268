"""What is wrong is refused: exit code 2, one message with file and line, no traceback, nothing on stdout."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main

RUN = b"q1 Q0 d1 1 9 t\nq1 Q0 d2 2 8 t\nq2 Q0 d1 1 7 t\n"
QRELS = b"q1 n1 d1 1\nq1 n2 d2 1\nq2 n1 d1 1\n"
MEASURE = "alpha_ndcg@10"
RAGEVAL = (sys.executable, "-m", "rageval")
HOSTILE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def command(*words: object, stdin: bytes = b"") -> Outcome:
    """The command line, in this process."""
    result = CliRunner().invoke(main, [str(word) for word in words], input=stdin, prog_name="rageval")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception  # what would be a traceback
    return Outcome(result.exit_code, result.stdout, result.stderr)


def process(*words: object, stdin: bytes = b"") -> Outcome:
    """The command line, in a process of its own."""
    result = subprocess.run([*RAGEVAL, *map(str, words)], input=stdin, capture_output=True, check=False)
    return Outcome(result.returncode, result.stdout.decode(), result.stderr.decode())


def assert_refused(outcome: Outcome, *expected: str) -> None:
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    for text in expected:
        assert text in outcome.err


Scorer = Callable[..., Outcome]


@pytest.fixture(name="score")
def scorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scorer:
    """Score `run` against `qrels`, given as bytes; they are called `run` and `qrels` in messages."""
    monkeypatch.chdir(tmp_path)

    def score(run: bytes = RUN, qrels: bytes = QRELS, *options: object) -> Outcome:
        Path("run").write_bytes(run)
        Path("qrels").write_bytes(qrels)
        return command("run", "qrels", "-m", MEASURE, *options)

    return score


def test_the_files_are_right_as_long_as_nothing_is_changed(score: Scorer) -> None:
    outcome = score()
    assert outcome == Outcome(0, f"{MEASURE:<22}\tall\t1.0000\n", "")


@pytest.mark.parametrize(
    "kind", [b"", b"\n\n", b" \t \n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0), lzma.compress(b"\n")]
)
def test_files_that_hold_nothing(score: Scorer, kind: bytes) -> None:
    assert_refused(score(run=kind), "run: is empty; expected")
    assert_refused(score(qrels=kind), "qrels: is empty; expected")


BAD_RUN_LINES = {
    "five columns": (b"q1 Q0 d3 3 7\n", "expected 6 columns"),
    "seven columns": (b"q1 Q0 d3 3 7 t x\n", "expected 6 columns"),
    "one column": (b"q1\n", "expected 6 columns"),
    "an id with a space": (b"q1 Q0 d 3 3 7 t\n", "ids with spaces need a tab-separated file"),
    "a NUL byte": (b"q1 Q0 d\x003 3 7 t\n", "byte 8 is the control byte 0x00"),
    "an escape sequence": (b"q1 Q0 d\x1b[31m 3 7 t\n", "byte 8 is the control byte 0x1b"),
    "DEL": (b"q1 Q0 d\x7f 3 7 t\n", "byte 8 is the control byte 0x7f"),
    "a vertical tab": (b"q1 Q0 d3\x0b3 7 t\n", "byte 9 is the control byte 0x0b"),
    "a carriage return inside": (b"q1 Q0 d3 3 7 t\rq1 Q0 d4 4 6 t\n", "byte 15 is a carriage return"),
    "Latin-1": ("q1 Q0 dé 3 7 t\n".encode("latin-1"), "byte 8 is 0xe9, which is not UTF-8"),
    "a lone surrogate": (b"q1 Q0 d\xed\xa0\x80 3 7 t\n", "byte 8 is 0xed, which is not UTF-8"),
    "an overlong NUL": (b"q1 Q0 d\xc0\x80 3 7 t\n", "byte 8 is 0xc0, which is not UTF-8"),
    "half a character": (b"q1 Q0 d3 3 7 t\xe2\x82\n", "is not UTF-8"),
    "a comment": (b"# q1 Q0 d3 3 7\n", "--comments skip"),
    "an id that starts with #": (b"#1 Q0 d3 3 7 t\n", "--comments data"),
    "a long id": (b"q1 Q0 %b 3 7 t\n" % (b"d" * 1025), "a docid of 1,025 bytes; expected at most 1,024"),
    "a long query id": (b"%b Q0 d 3 7 t\n" % (b"q" * 1025), "a qid of 1,025 bytes"),
    "a long id of few characters": (b"q1 Q0 %b 3 7 t\n" % ("文".encode() * 342), "a docid of 1,026 bytes"),
    "a long line": (b"q1 Q0 d3 3 7 %b\n" % (b"t" * 2**20), "a line of more than 1,048,576 bytes"),
    "nothing between tabs": (b"q1\tQ0\t\t3\t7\tt\n", "found nothing in docid"),
    "a document again": (b"q1 Q0 d1 3 7 t\n", "document d1 is ranked twice for query q1, first in line 1"),
}
BAD_SCORES = ["nan", "NaN", "inf", "-inf", "Infinity", "1,5", "8_0", "٧", "1e400", "-1e400", "1e", "e5", "."]
BAD_SCORES += ["+", "--1", "1.5.2", "0x10", "1d5", "1e5.0", "½", "1f", "None", "−1"]
BAD_QRELS_LINES = {
    "three columns": (b"q1 0 d3\n", "expected 4 columns"),
    "five columns": (b"q1 0 d3 1 x\n", "expected 4 columns"),
    "a NUL byte": (b"q1 n1 d\x00 1\n", "byte 8 is the control byte 0x00"),
    "Latin-1": ("q1 n1 dé 1\n".encode("latin-1"), "byte 8 is 0xe9, which is not UTF-8"),
    "a comment": (b"# judgements\n", "--comments skip"),
    "a long nugget id": (b"q1 %b d3 1\n" % (b"n" * 1025), "a nugget of 1,025 bytes"),
    "another judgement": (b"q1 n1 d1 0\n", "is judged 0 here but 1 in line 1"),
}
BAD_GRADES = ["x", "relevant", "0.9.1", "1e9", "-inf", "٧", "1_0", "0x1", "nan", "+", "1,0", "½"]
BAD_GRADES += ["2147483648", "-2147483648", "4294967297", "1000001", "-1000001", "9" * 400]


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD_RUN_LINES)
def test_a_bad_line_in_a_run(score: Scorer, name: str) -> None:
    line, expected = BAD_RUN_LINES[name]
    assert_refused(score(run=RUN + line), "run:4: ", expected)
    assert_refused(score(run=RUN + b"\n" + line + b"q3 Q0 d1 1 9 t\n"), "run:5: ", expected)


@pytest.mark.slow
@pytest.mark.parametrize("text", BAD_SCORES)
def test_a_score_that_is_no_finite_number(score: Scorer, text: str) -> None:
    line = f"q1 Q0 d3 3 {text} t\n".encode()
    expected = f"run:4: expected a finite decimal number as score, found {text!r}"
    assert_refused(score(run=RUN + line), expected)
    assert_refused(score(run=line + RUN), expected.replace(":4:", ":1:"))


@pytest.mark.parametrize("name", BAD_QRELS_LINES)
def test_a_bad_line_in_qrels(score: Scorer, name: str) -> None:
    line, expected = BAD_QRELS_LINES[name]
    assert_refused(score(qrels=QRELS + line), "qrels:4: ", expected)


@pytest.mark.parametrize("text", BAD_GRADES)
def test_a_grade_that_is_no_small_number(score: Scorer, text: str) -> None:
    expected = "expected a number from -1,000,000 to 1,000,000 as grade, found '" + text[:80]
    assert_refused(score(qrels=QRELS + f"q1 n1 d3 {text}\n".encode()), f"qrels:4: {expected}")


@pytest.mark.parametrize("line", [b"q1 Q0 d3 3 7\n", b"q1 Q0 d3 3 7 t x\n", b"q1\n", b"# run\n"])
def test_a_first_line_that_is_neither_run_nor_qrels(score: Scorer, line: bytes) -> None:
    assert_refused(
        score(run=line + RUN), "run:1: ", "expected a run (qid Q0 docid rank score tag) or judgements"
    )


@pytest.mark.slow
@pytest.mark.parametrize("before", [70_000, 200_000])
def test_the_line_is_right_far_down_the_file(score: Scorer, before: int) -> None:
    many = b"".join(b"q%d Q0 d%d 1 9 t\n" % (row // 1000, row) for row in range(before))
    assert_refused(score(run=many + b"q1 Q0 d1 3 x t\n"), f"run:{before + 1}: ", "found 'x'")
    assert_refused(score(run=many + b"q0 Q0 d7 3 1 t\n"), f"run:{before + 1}: ", "first in line 8")


def test_the_first_ten_findings_then_a_count(score: Scorer) -> None:
    outcome = score(run=RUN + b"q1 Q0 d3 3 x t\n" * 25)
    assert_refused(outcome, *(f"run:{line}: " for line in range(4, 14)), "… and 15 more such lines")
    assert len(outcome.err.splitlines()) == 11


def test_a_document_twice_is_accepted_on_demand(score: Scorer) -> None:
    assert score(RUN + b"q1 Q0 d1 3 7 t\n", QRELS, "--dedup", "first").code == 0


@pytest.mark.slow
def test_judgements_that_conflict_far_apart(score: Scorer) -> None:
    filler = b"".join(b"q%d n1 d%d 1\n" % (row % 50, row) for row in range(100, 90_000))
    assert_refused(score(qrels=QRELS + filler + b"q1 n2 d2 0\n"), "qrels:89904: ", "but 1 in line 2")


def test_equal_judgements_are_one(score: Scorer) -> None:
    assert score(qrels=QRELS * 3) == score()


def test_no_query_in_common(score: Scorer) -> None:
    outcome = score(qrels=b"p1 n1 d1 1\n")
    message = "run: none of its 2 queries is judged in qrels (1 query, such as 'p1')"
    assert_refused(outcome, message, "; the run's queries are such as 'q1'")
    outcome = score(qrels=b"1 n1 d1 1\n2 n1 d1 1\n")
    assert_refused(outcome, "; but for letters in front, 'q1' would be '1'")


def test_a_run_with_a_record_a_document(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_bytes(b"q 0 d 1\n")
    for name in ("doc_id", "docid", "docno"):
        (tmp_path / "run").write_text(json.dumps({"query_id": "q", name: "d", "score": 1.0}) + "\n")
        outcome = command(tmp_path / "run", tmp_path / "qrels", "-m", "rr")
        assert_refused(outcome, "run:1: looks like a run with a record a document", "{query: {docid: score}}")


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_unicode_encodings(score: Scorer, codec: str) -> None:
    assert_refused(score(run=RUN.decode().encode(codec)), "run:1: ", "UTF-16" if codec != "utf-32" else "")
    assert_refused(score(qrels=QRELS.decode().encode(codec)), "qrels:1: ")


def test_carriage_returns_as_line_ends(score: Scorer) -> None:
    assert_refused(score(run=RUN.replace(b"\n", b"\r")), "run:1: byte 15 is a carriage return")
    assert_refused(score(qrels=QRELS.replace(b"\n", b"\r")), "qrels:1: byte 11 is a carriage return")


def test_a_byte_order_mark_in_the_middle_is_refused(score: Scorer) -> None:
    """Two files with marks, put together: a query id that no one can see would be another one."""
    outcome = score(run=RUN + b"\xef\xbb\xbfq2 Q0 d3 1 9 t\n")
    assert outcome.code == 2
    assert f":{RUN.count(bytes([10])) + 1}: begins with a byte-order mark" in outcome.err


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("kept", [0.5, 0.99])
def test_a_compressed_file_that_breaks_off(score: Scorer, suffix: str, kept: float) -> None:
    def cut(text: bytes) -> bytes:
        packed = PACKERS[suffix](text)
        return packed[: int(len(packed) * kept)]

    many = b"".join(b"q1 Q0 d%d 1 9 t\n" % row for row in range(30_000))
    assert_refused(score(run=cut(many)), "run: is truncated or damaged after ")
    assert_refused(
        score(qrels=cut(many.replace(b" 9 t", b"").replace(b"Q0", b"0"))), "qrels: is truncated or damaged"
    )


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_compressed_file_with_a_flipped_bit(score: Scorer, suffix: str) -> None:
    packed = bytearray(PACKERS[suffix](RUN * 1))
    packed[-6] ^= 1
    assert_refused(score(run=bytes(packed)), "run: is truncated or damaged after ")


def test_a_zst_file_that_breaks_off(score: Scorer) -> None:
    zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    assert_refused(score(run=zstd.compress(RUN)[:-5]), "run: is truncated or damaged")


class TestFiles:
    def test_a_directory(self, score: Scorer, tmp_path: Path) -> None:
        score()
        assert_refused(command(tmp_path, "qrels", "-m", MEASURE), "is a directory; expected a file")

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
    def test_a_file_one_may_not_read(self, score: Scorer) -> None:
        score()
        Path("run").chmod(0)
        assert_refused(command("run", "qrels", "-m", MEASURE), "run: cannot be opened: Permission denied")

    @pytest.mark.parametrize(
        "words", [["run", "run"], ["qrels", "qrels"], ["run"], ["qrels"], ["run", "qrels", "qrels"]]
    )
    def test_not_one_file_of_judgements_and_some_runs(self, score: Scorer, words: list[str]) -> None:
        score()
        assert_refused(command(*words, "-m", MEASURE), "expected one or more runs", "found runs: ")

    @pytest.mark.slow
    def test_nothing_on_standard_input(self, score: Scorer) -> None:
        score()
        assert_refused(process("-", "qrels", "-m", MEASURE), "<stdin>: is empty")

    @pytest.mark.slow
    def test_something_bad_on_standard_input(self, score: Scorer) -> None:
        score()
        outcome = process("-", "qrels", "-m", MEASURE, stdin=RUN + b"q1 Q0 d3 3 x t\n")
        assert_refused(outcome, "<stdin>:4: expected a finite decimal number")

    def test_groups(self, score: Scorer) -> None:
        for text, expected in (
            (b"q1 a\nq2\n", "groups:2: expected 2 columns"),
            (b"q1 a\nq1 b\nq2 b\n", "groups:2: query q1 already has a group: a"),
            (b"q1 a\n", "1 judged queries have no group, such as 'q2'"),
            (b"q1 \xff\n", "groups:1: expected UTF-8"),
        ):
            Path("groups").write_bytes(text)
            assert_refused(score(RUN, QRELS, "--group-by", "groups"), expected)
        expected = "the 'nowhere' of the queries is unknown"
        assert_refused(score(RUN, QRELS, "--group-by", "nowhere"), expected)


class TestMeasuresAndOptions:
    @pytest.mark.parametrize(
        ("measure", "expected"),
        [
            ("ndcg@0", "ndcg@0: expected a whole number from 1 as cut-off"),
            ("nDCG(judged_only=True)@0", "@0: expected a whole number from 1 as cut-off"),
            ("recall@-1", "recall@-1: expected a whole number from 1 as cut-off"),
            ("recall@1.5", "recall@1.5: expected a whole number from 1 as cut-off"),
            ("recall@x", "recall@x: expected a whole number"),
            ("recall@", "expected a whole number"),
            ("recall@٧", "expected a whole number"),
            ("recall@99999999999", "expected a whole number"),
            ("alpha_ndcg(alpha=2)@5", "alpha=2, expected a number from 0 to 1"),
            ("alpha_ndcg(alpha=-0.1)@5", "alpha=-0.1, expected a number from 0 to 1"),
            ("alpha_ndcg(alpha=nan)@5", "alpha='nan', expected a number"),
            ("alpha_ndcg(alpha=half)@5", "alpha='half', expected a number"),
            ("nrbp(beta=1.5)", "beta=1.5, expected a number from 0 to 1"),
            ("recall(rel=1.5)@5", "rel='1.5', expected a whole number"),
            (
                "coverage(denominator=lst)@5",
                "denominator='lst', expected one of listed, attainable; did you mean listed?",
            ),
            (
                "alpha_ndcg(alfa=0.5)@5",
                "alpha_ndcg has no parameter 'alfa'; it takes alpha, rel, ideal; did you mean alpha?",
            ),
            ("recall(3)@5", "expected NAME=VALUE in the parentheses, found '3'"),
            ("recall(rel=2@5", "a parenthesis is not closed"),
            ("covarage@20", "unknown measure 'covarage@20'; did you mean coverage"),
            ("alpha_ndgc@10", "did you mean alpha_ndcg"),
            ("official:freshstak", "expected one of freshstack"),
            ("xyzzy", "unknown measure 'xyzzy'; see: rageval measures"),
            ("", "no measure named"),
            (",", "no measure named"),
        ],
    )
    def test_a_measure_that_does_not_exist(self, score: Scorer, measure: str, expected: str) -> None:
        assert_refused(score(RUN, QRELS, "-m", measure), expected)

    @pytest.mark.parametrize(
        "measure", ["ERR", "Bpref@0", "IPrec@-1", "SetF(beta=-1)", "RBP(p=2)@5", "Rprec@3"]
    )
    def test_a_measure_that_ir_measures_cannot_compute(self, score: Scorer, measure: str) -> None:
        assert_refused(score(RUN, QRELS, "-m", measure), measure.partition("@")[0])

    @pytest.mark.parametrize(
        "options",
        [
            ["--ties", "random"],
            ["--depth", "0"],
            ["--places", "-1"],
            ["--places", "99"],
            ["--jobs", "0"],
            ["--format", "xml"],
            ["--zero-rel", "one"],
            ["--compat", "ranx"],
            ["--compat", "ndeval", "--ties", "rank"],
            ["--compat", "ndeval", "--ties", "trec"],
            ["--compat", "trec_eval", "--provider", "pytrec_eval"],
            ["--complete", "--intersection"],
            ["--provider", "nobody"],
            ["--limit", "line"],
            ["--limit", "lines=5"],
            ["--limit", "line=-5"],
            ["--limit", "line=5x"],
            ["--fail-under", "recall@5"],
            ["--fail-under", "recall@5=high"],
            ["--fail-under", "recall@5=nan"],
            ["--fail-under", "recal@5=0.5"],
            ["--no-such-option"],
            ["-l", "1.5"],
            ["-l", "99999999999"],
        ],
    )
    def test_an_option_that_makes_no_sense(self, score: Scorer, options: list[str]) -> None:
        assert_refused(score(RUN, QRELS, *options))

    def test_ties_that_were_to_be_refused(self, score: Scorer) -> None:
        tied = RUN + b"q2 Q0 d9 2 7.0 t\n"
        assert_refused(score(tied, QRELS, "--ties", "error"), "run:4: score 7 is tied with line 3")

    def test_a_rank_column_one_cannot_go_by(self, score: Scorer) -> None:
        tied = RUN + b"q2 Q0 d9 second 7 t\n"
        assert_refused(
            score(tied, QRELS, "--ties", "rank"), "run", "the rank column holds more than whole numbers"
        )

    def test_gates(self, score: Scorer) -> None:
        assert score(RUN, QRELS, "--fail-under", f"{MEASURE}=1").code == 0
        outcome = score(
            b"q1 Q0 d1 1 9 t\n", QRELS, "--fail-under", f"{MEASURE}=0.9", "--fail-under", "rr=0.5"
        )
        assert (outcome.code, outcome.out.count("\n")) == (1, 2)
        assert f"run: {MEASURE} is 0.3066, below 0.9" in outcome.err
        assert "rr is" not in outcome.err


PEAK_MEMORY = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
print("KiB", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""
ENOUGH_MEMORY = 200 * 1024


class TestSize:
    """Nothing that somebody wrote into a file makes the process grow."""

    def measured(self, *words: object) -> tuple[Outcome, int]:
        """The outcome and the peak of memory, of a grandchild: a child inherits the peak of this process."""
        words = (sys.executable, "-c", PEAK_MEMORY, *RAGEVAL, *words)
        result = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        out, _, peak = result.stdout.rpartition("KiB ")
        return Outcome(result.returncode, out, result.stderr), int(peak)

    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other units")
    @pytest.mark.parametrize("place", ["first", "second"])
    @pytest.mark.parametrize("kind", ["run", "qrels"])
    def test_a_line_of_a_gigabyte(self, score: Scorer, kind: str, place: str) -> None:
        score()
        before = b"" if place == "first" else {"run": RUN, "qrels": QRELS}[kind]
        sixteenth = gzip.compress(b"x" * 2**26, 1)
        Path(kind).write_bytes(gzip.compress(before) + sixteenth * 16)
        outcome, peak = self.measured("run", "qrels", "-m", MEASURE)
        assert_refused(outcome, f"{kind}:{1 if place == 'first' else 4}: ")
        assert peak < ENOUGH_MEMORY

    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other units")
    @pytest.mark.parametrize("suffix", PACKERS)
    def test_a_decompression_bomb(self, score: Scorer, suffix: str) -> None:
        score()
        Path("run").write_bytes(PACKERS[suffix](RUN) + PACKERS[suffix](b"\n" * 2**22) * 128)
        outcome, peak = self.measured("run", "qrels", "-m", MEASURE)
        assert_refused(
            outcome, "run: unpacks to more than 200 times its size (a decompression bomb?)", "--limit ratio"
        )
        assert peak < ENOUGH_MEMORY

    def test_limits_can_be_raised(self, score: Scorer) -> None:
        long = b"q1 Q0 %b 3 1 %b\n" % (b"d" * 2000, b"t" * 2**20)
        assert_refused(score(RUN + long, QRELS, "--limit", "line=4M"), "run:4: ", "--limit id")
        assert_refused(score(RUN + long, QRELS, "--limit", "id=4k"), "run:4: ", "--limit line")
        assert score(RUN + long, QRELS, "--limit", "id=4k", "--limit", "line=4M").code == 0
        assert score(RUN, QRELS + b"q1 n1 d3 1000001\n", "--limit", "grade=2000000").code == 0

    @pytest.mark.parametrize("name", ["alpha_ndcg", "nerr_ia", "ndcg", "p_ia", "recall", "hole", "alpha_dcg"])
    def test_cutoffs_as_large_as_numbers_go(self, score: Scorer, name: str) -> None:
        assert score(RUN, QRELS, "-m", f"{name}@2147483647").code == 0

    def test_a_cutoff_that_a_formula_would_have_to_count_up_to(self, score: Scorer) -> None:
        for name in ("err_ia", "alpha_dcg(normalize=independent)"):
            outcome = score(RUN, QRELS, "-m", f"{name}@2147483647")
            assert_refused(outcome, "expected a cut-off of at most 10,000,000, found 2,147,483,647")


CONTROLS = ["\x85", "\x9b31m", "\u202e", "\u2066", "\u200b", "\u2028", "\ufeff", "\u061c"]


class TestHostileText:
    @pytest.mark.parametrize(
        "style", ["trec", "ir_measures", "ndeval", "json", "jsonl", "csv", "md", "latex", "table"]
    )
    def test_ids_never_reach_the_output_raw(self, score: Scorer, style: str) -> None:
        control = "".join(CONTROLS)
        run = RUN.replace(b"q1", f"q{control}1".encode())
        qrels = QRELS.replace(b"q1", f"q{control}1".encode())
        outcome = score(run, qrels, "-q", "--format", style)
        assert outcome.code == 0
        assert "1" in outcome.out
        assert not HOSTILE.search(outcome.out + outcome.err)

    @pytest.mark.some(3)
    @pytest.mark.parametrize("control", CONTROLS, ids=ascii)
    def test_ids_never_reach_an_error_raw(self, score: Scorer, control: str) -> None:
        twice = f"q{control}9 Q0 d{control} 1 9 t\n".encode() * 2
        judged = f"q{control}9 n{control} d{control} %d\n"
        for outcome in (
            score(run=RUN + twice),
            score(qrels=QRELS + (judged % 1 + judged % 0).encode()),
            score(run=RUN + f"q1 Q0 d3 3 {control} t\n".encode()),
            score(run=RUN + f"q1 Q0 {control} 3\n".encode()),
            score(qrels=(judged % 1).encode()),
        ):
            assert_refused(outcome)
            assert not HOSTILE.search(outcome.err)

    @pytest.mark.parametrize("control", ["\x1b[31m", "\x07", "\u202e"], ids=ascii)
    def test_names_of_files_and_measures_neither(self, score: Scorer, control: str) -> None:
        score()
        Path(f"run{control}").write_bytes(RUN + b"q3 Q0 d1 1 9 t\n")
        for words in (
            [f"run{control}", "qrels", "-m", MEASURE],
            [f"run{control}", "run", "qrels", "-m", MEASURE],
            [f"no{control}run", "qrels", "-m", MEASURE],
            ["run", "qrels", "-m", f"rec{control}all"],
        ):
            outcome = command(*words)
            assert not HOSTILE.search(outcome.out + outcome.err)
            assert ascii(control)[1:-1] in outcome.out + outcome.err

    @pytest.mark.parametrize(
        "query", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", '="x",y', "a,b", 'a"b']
    )
    @pytest.mark.parametrize("style", ["csv", "ndeval"])
    def test_a_spreadsheet_computes_nothing(self, score: Scorer, query: str, style: str) -> None:
        tabbed = RUN.replace(b" ", b"\t"), QRELS.replace(b" ", b"\t")
        run, qrels = (text.replace(b"q1", query.encode()) for text in tabbed)
        outcome = score(run, qrels, "-q", "--format", style)
        cells = [row[1] for row in csv.reader(io.StringIO(outcome.out))]
        shown = "'" + query if query[0] in "=+-@" else query
        assert shown in cells
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]

    def test_latex_prints_what_the_id_says(self, score: Scorer) -> None:
        query = r"a\b&c%d$e#f_g{h}i~j^k"
        outcome = score(
            RUN.replace(b"q1", query.encode()),
            QRELS.replace(b"q1", query.encode()),
            "-q",
            "--format",
            "latex",
        )
        shown = r"a\textbackslash{}b\&c\%d\$e\#f\_g\{h\}i\textasciitilde{}j\textasciicircum{}k"
        assert f"run & {shown} & 1.0000 \\\\\n" in outcome.out
        assert r"$\alpha$-nDCG@10" in outcome.out

    def test_markdown_keeps_its_columns(self, score: Scorer) -> None:
        outcome = score(
            RUN.replace(b"q1", b"a|b<i>*"), QRELS.replace(b"q1", b"a|b<i>*"), "-q", "--format", "md"
        )
        assert r"| run | a\|b&lt;i>\* | 1.0000 |" in outcome.out

    def test_json_says_the_id_as_it_is(self, score: Scorer) -> None:
        query = 'q\u202e\x9b"\\'
        run, qrels = (text.replace(b"q1", query.encode()) for text in (RUN, QRELS))
        (result,) = json.loads(score(run, qrels, "-q", "--format", "json").out)["results"]
        assert result["by_query"] == {query: 1.0, "q2": 1.0}


GOOD_RUN = {"q": {"a": 2.0, "b": 1.0}}
GOOD_QRELS = {"q": {"n": {"a": 1}}}


class TestFromPython:
    """The same rules for data that is handed over: an error of ours, never another's."""

    @pytest.mark.parametrize(
        ("run", "expected"),
        [
            ({}, "run: is empty"),
            ({"q": {}}, "run: is empty"),
            ({"q": {"a": math.nan}}, "run:1: expected a finite number as score, found nan"),
            ({"q": {"b": 1.0, "a": math.inf}}, "run:2: expected a finite number as score, found inf"),
            ({"q": {"a": 10**400}}, "run:1: expected a finite number as score"),
            ({"q": {"a": None}}, "run:1: expected a finite number as score, found None"),
            ({"q": {"a": "2"}}, "run:1: expected a finite number as score, found '2'"),
            ({"q": {1.0: 2.0}}, "run:1: expected text (or a whole number) as doc_id, found 1.0"),
            ({math.nan: {"a": 2.0}}, "run:1: expected text (or a whole number) as query_id, found nan"),
            ({True: {"a": 2.0}}, "run:1: expected text (or a whole number) as query_id, found True"),
            ({"q": ["a", "b"]}, "expected"),
            ([("q", "a", 1.0)], "record 1: expected the fields query_id, doc_id, score"),
            ([{"query_id": "q", "doc_id": "a"}], "record 1: expected the fields query_id, doc_id, score"),
            (None, "expected a run (a path, dict, DataFrame or records), found None"),
            (io.StringIO("q Q0 a 1 1 t"), "is open in text mode"),
            ("nowhere.run", "nowhere.run: no such file"),
        ],
    )
    def test_a_run(self, run: object, expected: str) -> None:
        with pytest.raises(rageval.InputError, match=re.escape(expected)):
            rageval.evaluate(MEASURE, run, GOOD_QRELS)

    @pytest.mark.parametrize(
        ("qrels", "expected"),
        [
            ({}, "holds no judgements"),
            ({"q": {"a": math.inf}}, "qrels:1: expected a finite number"),
            ({"q": {"a": math.nan}}, "qrels:1: expected"),
            ({"q": {"a": None}}, "qrels:1: expected"),
            ({"q": {"a": 2**31}}, "qrels:1: expected a number from -1,000,000 to 1,000,000"),
            ({"q": {"n": {"a": 10**400}}}, "qrels:1: expected"),
            ({1.5: {"a": 1}}, "qrels:1: expected text (or a whole number) as query_id"),
            (None, "expected judgements (a path, dict, DataFrame or records), found None"),
        ],
    )
    def test_judgements(self, qrels: object, expected: str) -> None:
        with pytest.raises(rageval.InputError, match=re.escape(expected)):
            rageval.evaluate(MEASURE, GOOD_RUN, qrels)

    @pytest.mark.parametrize("measures", [[], "", None, 3, len, ["recall", 3]])
    def test_measures(self, measures: object) -> None:
        with pytest.raises(rageval.MeasureError):
            rageval.evaluate(measures, GOOD_RUN, GOOD_QRELS)

    @pytest.mark.parametrize(
        "options",
        [
            {"depth": 0},
            {"depth": "3"},
            {"depth": 1.5},
            {"ties": "dice"},
            {"zero_rel": 0},
            {"rel": "x"},
            {"k": 3},
        ],
        ids=str,
    )
    def test_options(self, options: dict[str, object]) -> None:
        with pytest.raises(rageval.RagevalError):
            rageval.evaluate(MEASURE, GOOD_RUN, GOOD_QRELS, **options)

    @pytest.mark.parametrize("k", [0, -1, 1.0, 1.5, True, None, "x", 2**31])
    def test_cutoffs(self, k: object) -> None:
        with pytest.raises(rageval.MeasureError, match="expected a whole number from 1 as cut-off"):
            rageval.recall @ k


class TestAsAProcess:
    """Once more where nothing catches what escapes."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("run", "expected"),
        [
            (RUN + b"q1 Q0 d3 3 nan t\n", "run:4: "),
            (RUN + b"\xff\n", "run:4: "),
            (b"", "run: is empty"),
            (RUN[:-3], "run:3: "),
        ],
    )
    def test_a_bad_run(self, score: Scorer, run: bytes, expected: str) -> None:
        score(run=run)
        assert_refused(process("run", "qrels", "-m", MEASURE), expected)

    def test_ndcg_at_0_leaves_the_interpreter_alive(self, score: Scorer) -> None:
        score()
        assert_refused(process("run", "qrels", "-m", "nDCG@0"), "expected a whole number from 1")

    @pytest.mark.slow
    def test_a_cutoff_of_thousands_of_digits(self, score: Scorer) -> None:
        score()
        assert_refused(process("run", "qrels", "-m", "recall@" + "9" * 5000), "expected a whole number")

    @pytest.mark.slow
    def test_standard_input_beside_files_and_jobs(self, score: Scorer) -> None:
        score()
        outcome = process("-", "run", "qrels", "-m", "rr", "-j", 2, stdin=RUN)
        assert "Traceback" not in outcome.err
        assert outcome.code in (0, 2)

    @pytest.mark.slow
    def test_a_reader_who_has_seen_enough(self, score: Scorer) -> None:
        score(run=b"".join(b"q%d Q0 d1 1 1 t\n" % row for row in range(50_000)))
        Path("qrels").write_bytes(b"".join(b"q%d n d1 1\n" % row for row in range(50_000)))
        words = [*RAGEVAL, "run", "qrels", "-q", "-m", "rr"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
            assert reader.stdout is not None
            assert reader.stderr is not None
            assert reader.stdout.readline().startswith(b"rr")
            reader.stdout.close()
            assert reader.stderr.read() == b""
        assert reader.returncode == 0  # 1 would say that a gate failed

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
    def test_a_full_disk(self, score: Scorer) -> None:
        score()
        with Path("/dev/full").open("w") as full:
            words = [*RAGEVAL, "run", "qrels", "-m", "rr"]
            result = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert "No space left on device" in result.stderr
        assert "Traceback" not in result.stderr
        assert result.returncode == 2

    @pytest.mark.skipif(os.name != "posix", reason="needs a shell")
    def test_no_standard_output(self, score: Scorer) -> None:
        score()
        words = ["sh", "-c", 'exec "$@" >&-', "sh", *RAGEVAL, "run", "qrels", "-m", "rr"]
        result = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False)
        assert "Traceback" not in result.stderr
