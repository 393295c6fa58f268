"""Judgements as BEIR's data sets have them are read wherever judgements are."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner

import rageval
from rageval.cli import main
from rageval.errors import InputError

HEADER = "query-id\tcorpus-id\tscore\n"
ROWS = "1\td1\t2\n1\td 2\t0\n2\td3\t1\n"
RUN = "1\tQ0\td 2\t1\t2.0\tt\n1\tQ0\td1\t2\t1.0\tt\n2\tQ0\td3\t1\t1.0\tt\n"


def given(folder: Path, text: str = HEADER + ROWS, name: str = "test.tsv") -> tuple[str, str]:
    (folder / "run").write_text(RUN, encoding="utf-8")
    content = text.encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return str(folder / "run"), str(folder / name)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "1\td1\tnan\n",
            "test.tsv:2: expected a number from -1,000,000 to 1,000,000 as score, found 'nan'",
        ),
        ("1\td1\t9999999\n", "test.tsv:2: expected a number"),
        ("1\td1\n", "test.tsv:2: expected 3 columns"),
        ("1\td1\t1\n1\td1\t0\n", "d1"),
        ("1\td1\t1\n\t\t1\n", "test.tsv"),
        ("", "test.tsv"),
    ],
)
def test_what_is_none_is_told(rows: str, message: str, tmp_path: Path) -> None:
    run, qrels = given(tmp_path, HEADER + rows)
    with pytest.raises(InputError) as caught:
        rageval.evaluate("rr", run, qrels)
    assert message in str(caught.value)
    assert CliRunner().invoke(main, [run, qrels, "-m", "rr"]).exit_code == 2
