"""Limits go with the source: through copies, pickles, kept streams, parts of files and lists of files."""

from __future__ import annotations

import io
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import rageval
from rageval.errors import InputError
from rageval.files.opening import (
    DEFAULT,
    STDIN,
    File,
    Limits,
    RowRange,
    as_local_file,
    is_remote,
    limits_of,
    name_of,
    with_limits,
)
from rageval.files.parts import Grain, cut
from rageval.files.trec import Reading
from rageval.records import Nugget
from rageval.scoring.sources import rows_of, source_of_run

TIGHT = Limits(id=5)
ROWS = "".join(f"q{index} Q0 {'d' * 9} 1 1 r\n" for index in range(60))


@pytest.mark.parametrize("source", ["run", Path("run"), STDIN, "https://example.org/run", "s3://b/run"])
def test_a_name_with_limits_is_the_same_name(source: Any) -> None:
    limited = with_limits(source, TIGHT)
    assert limits_of(limited) == TIGHT
    assert (name_of(limited), os.fspath(limited)) == (name_of(source), os.fspath(source))
    assert is_remote(limited) == is_remote(source)
    assert with_limits(limited, TIGHT) is limited
    assert limits_of(pickle.loads(pickle.dumps(limited))) == TIGHT
    assert limits_of(with_limits(limited, DEFAULT)) == DEFAULT
    assert limits_of(source) == DEFAULT
    assert with_limits(source, DEFAULT) is source


def test_what_cannot_carry_limits_is_returned_as_it_is() -> None:
    nugget, text = Nugget("q", "n", "text"), io.StringIO()
    for value in (None, {"q": {"d": 1}}, nugget, text, Limits):
        assert with_limits(value, TIGHT) is value
    assert with_limits(("a", nugget), TIGHT) == ["a", nugget]


def test_standard_input_is_kept_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ROWS.encode())))
    with pytest.raises(InputError, match=r"<stdin>:1: a docid of 9 bytes; expected at most 5"):
        rageval.read_run(STDIN, limits=TIGHT)


def test_a_file_keeps_its_limits(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text(ROWS)
    for source in (path, str(path)):
        limited = as_local_file(with_limits(source, TIGHT))
        assert isinstance(limited, File)
        assert limited == File(path)
        assert limits_of(RowRange(limited, range(3))) == TIGHT
        with pytest.raises(InputError, match="of 9 bytes; expected at most 5"):
            source_of_run("run", limited).run()
    parts = cut(limited, Reading(), Grain(4, 1, 10**6))
    assert len(parts) > 1
    for part in pickle.loads(pickle.dumps(parts)):
        with part.opened(Reading()) as opened, pytest.raises(InputError, match="expected at most 5"):
            list(rows_of(*opened))
