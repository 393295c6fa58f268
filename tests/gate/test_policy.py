"""The policy of a project: where it is found, what it may say, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from rageval.errors import InputError
from rageval.policy import find_policy


def test_paths_go_by_the_folder_of_the_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rageval.toml").write_text("")
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    (tmp_path / "pyproject.toml").write_text("")  # the root of the project
    policy = tmp_path / "rageval.toml"
    policy.write_text('[gate]\nbaseline = "gold/base.jsonl"\nmargin = 0.1\n')
    assert find_policy().gate_settings() == {"baseline": "../gold/base.jsonl", "margin": 0.1}
    policy.write_text('[gate]\nbaseline = "/x/base.jsonl"\n')
    with pytest.raises(InputError, match="cannot be absolute"):
        find_policy().gate_settings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[gates]\n", r"rageval.toml: at its top: unknown key 'gates'; did you mean gate\?"),
        ("gate = 3\n", r"rageval.toml: \[gate\]: expected a table, found 3"),
        ("[gate]\nmargn = 1\n", r"rageval.toml: \[gate\]: unknown key 'margn'; did you mean margin\?"),
        ("[gate\n", r"rageval.toml: is not valid TOML: .*line 1"),
        ("x = " + "[" * 5000, "rageval.toml: is not valid TOML"),
        ("# " + "x" * 2**20, "more than 1,048,576 bytes"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "rageval.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        find_policy(tmp_path).section("gate", allowed=("margin",))


def test_bytes_that_are_no_text_and_two_policies_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rageval.toml").write_bytes(b"\xff[gate]")
    with pytest.raises(InputError, match="is not valid TOML"):
        find_policy(tmp_path)
    (tmp_path / "rageval.toml").write_text("[gate]\n")
    (tmp_path / "pyproject.toml").write_text("[tool.rageval]\n")
    with pytest.raises(InputError, match="expected one of them"):
        find_policy(tmp_path)
