"""What several tests of boards share."""

from __future__ import annotations

from pathlib import Path

import pytest

from boards import Board


@pytest.fixture(scope="session", name="boards")
def boards_(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A bundle of runs, one of judged answers, and one with labels by people."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("boards"))
        board = Board()
        return {kind: board.bundled(kind) for kind in ("runs", "answers", "labeled")}
