"""What a file may ask for: a name in it leads to no file outside its folder, and a policy has no effect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import Result

from commands import run_command
from rageval.building import changed
from rageval.cli import main
from rageval.errors import InputError
from rageval.files.whole import NamedInFile, read_named_file, resolve_sibling_path
from rageval.judges import rubric_named
from rageval.policy import EFFECTS, READS, READS_OR_WORDS, find_policy, policy_in
from snippets import ROOT

SECRET = "sk-never-shown"
NAMES = (  # of files that are there, all of which hold the secret
    *("../outside.txt", "sub/../../outside.txt", ".env", "sub/.hidden", ".git/config"),
    *("link.txt", "away/outside.txt", "evil.py", "EVIL.PY", "key.pem", "module.so", "data.pkl"),
    *("pipe", "sub", "-", "~/x", "http://localhost:1/x", "file:///etc/passwd", "C:\\x.txt", "C:x.txt", "\\x"),
    *("..\\outside.txt", "", " ", "a\nb", "x" * 2000, "a\0b", "/etc/passwd", "/dev/zero"),
)


@pytest.fixture(name="folder")
def folder_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository by somebody else, with all kinds of files around and in it."""
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / ".git").mkdir()
    outside = ("../outside.txt", ".env", "sub/.hidden", ".git/config", "key.pem", "module.so", "data.pkl")
    for name in (*outside, "EVIL.PY"):
        (folder / name).write_text(SECRET)
    (folder / "evil.py").write_text("open('pwned', 'w').write('1')\n")
    (folder / "shots.txt").write_text("Q: 1+1? A: 2")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "away").symlink_to(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)
    return folder


def refused(result: Result, folder: Path) -> str:
    assert result.exit_code == 2, (result.output, result.exception)
    assert SECRET not in result.output
    assert not (folder / "pwned").exists()
    return result.output


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name)[:30])
def test_no_file_leads_out_of_its_folder(folder: Path, name: str) -> None:
    named = NamedInFile(name, str(folder / "some.toml"))
    for opens in (lambda: resolve_sibling_path(named), lambda: read_named_file(named, 100)):
        with pytest.raises(InputError, match=r"some\.toml"):
            opens()
    # The same names where files of each kind may say them.
    policy = folder / "rageval.toml"
    for key in sorted(READS | READS_OR_WORDS):
        policy.write_text(f"[gate]\n{key} = {json.dumps(name)}\n")
        with pytest.raises(InputError, match=r"rageval\.toml: \[gate\]: "):
            find_policy().gate_settings()
    policy.write_text(f"[gate]\njudge = {json.dumps('frozen:' + name)}\n")
    with pytest.raises(InputError, match=r"rageval\.toml"):
        find_policy().gate_settings()
    rubric = (ROOT / "rageval/judges/rubrics/crag.toml").read_text(encoding="utf-8")
    (folder / "mine.toml").write_text(f"{rubric}\n[examples]\nfile = {json.dumps(name)}\n")
    refused(run_command("rubrics", "mine.toml"), folder)
    trim = f'[trim]\nfield = "answer"\ntokens = 3\nsha256 = "0"\ntokenizer = {json.dumps(name)}\n'
    (folder / "mine.toml").write_text(f"{rubric}\n{trim}")
    refused(run_command("rubrics", "mine.toml"), folder)
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps({"rageval": "1", "files": {name: "0" * 64}, "inputs": {}, "steps": {}}))
    with pytest.raises(InputError, match=r"manifest\.json"):
        changed(manifest)


def test_files_of_the_folder_are_read(folder: Path) -> None:
    assert read_named_file(NamedInFile("shots.txt", "mine.toml"), 100) == b"Q: 1+1? A: 2"
    assert (
        resolve_sibling_path(NamedInFile("sub/none.txt", str(folder / "x.toml"))) == folder / "sub/none.txt"
    )
    with pytest.raises(InputError, match="more than 3 bytes"):
        read_named_file(NamedInFile("shots.txt", "mine.toml"), 3)
    rubric = (ROOT / "rageval/judges/rubrics/crag.toml").read_text(encoding="utf-8")
    (folder / "mine.toml").write_text(f'{rubric}\n[examples]\nfile = "shots.txt"\n')
    assert rubric_named("mine.toml").file.examples is not None


@pytest.mark.parametrize("name", ["evil.py", "./evil.py", "sub/../evil.py", "other.toml", "", "a.b"])
def test_a_rubric_names_only_built_in_rubrics(folder: Path, name: str) -> None:
    rubric = (ROOT / "rageval/judges/rubrics/crag.toml").read_text(encoding="utf-8")
    (folder / "mine.toml").write_text(f"family = [{json.dumps(name)}]\n{rubric}")
    assert "family" in refused(run_command("rubrics", "mine.toml"), folder)


# --- policies

RULES = {  # neither read nor write: what is measured, by which rules, and what is claimed
    *(
        *("margin", "anchor-margin", "slice-margin", "block", "judge-changed", "inconclusive", "first-run"),
        "system",
    ),
    "level",
    *("resamples", "seed", "judge", "measure", "rel", "depth"),
    *("judged-only", "ties", "intersection", "complete", "nothing-judged", "zero-rel", "nuggets-in-qrels"),
    *(
        *("dedup", "provider", "compat", "overlap", "stale", "population", "fail-under", "comments"),
        *("max-cost", "max-calls", "price"),
    ),
}


def test_each_option_of_the_gate_is_known_to_read_to_act_or_to_be_a_rule() -> None:
    command = main.get_command(click.Context(main), "gate")
    assert command is not None
    options = {
        option[2:]
        for param in command.params
        if isinstance(param, click.Option)
        for option in param.opts
        if option.startswith("--")
    }
    assert options == RULES | READS | READS_OR_WORDS | EFFECTS.keys() | {"help-all"}
    written = {
        max(param.opts, key=len)[2:] for param in command.params if type(param).__name__ == "OutputOption"
    }
    assert written <= EFFECTS.keys()


@pytest.mark.parametrize("key", sorted(EFFECTS))
def test_a_policy_has_no_effect(folder: Path, key: str) -> None:
    (folder / "rageval.toml").write_text(f'[gate]\n{key} = "../bashrc"\n')
    (folder.parent / "bashrc").write_text("mine")
    message = refused(run_command("gate", "judged.jsonl"), folder)
    assert f"[gate]: {key} " in message
    assert f"use --{key} " in message
    assert (folder.parent / "bashrc").read_text() == "mine"
    with pytest.raises(InputError):  # what pytest and the hooks ask
        find_policy().gate_settings()


@pytest.mark.parametrize(
    "judge",
    ["openai:m@http://127.0.0.1:1/v1", "anthropic:m@https://evil.example", "openai:m@evil.example/v1"],
)
def test_a_policy_sends_no_key_anywhere(folder: Path, judge: str) -> None:
    (folder / "rageval.toml").write_text(f"[gate]\njudge = [{json.dumps(judge)}]\n")
    assert "use --judge" in refused(run_command("gate", "judged.jsonl"), folder)


def test_a_policy_above_counts_only_within_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / "work" / "deep"
    deep.mkdir(parents=True)
    (tmp_path / "rageval.toml").write_text("[gate]\nmargin = 0.5\n")
    assert find_policy(deep).path == ""  # no mark of a root between: only the folder itself
    (tmp_path / ".hg").mkdir()
    assert find_policy(deep).section("gate") == {"margin": 0.5}
    # What another user put above is not followed, unless it is named.
    monkeypatch.setattr("rageval.policy._CONTAINERS", ())
    if hasattr(os, "getuid"):
        owner = os.stat(tmp_path).st_uid
        real = os.stat
        monkeypatch.setattr(
            "rageval.policy.os.stat",
            lambda path: os.stat_result([*real(path)[:4], 12345, *real(path)[5:]]),
        )
        monkeypatch.setattr("rageval.policy.os.getuid", lambda: owner)
        with pytest.raises(InputError, match=r"belongs to another user.* --policy "):
            find_policy(deep)
        assert find_policy(tmp_path).section("gate") == {"margin": 0.5}
    assert policy_in(tmp_path / "rageval.toml").section("gate") == {"margin": 0.5}


def test_a_policy_that_is_named_counts(folder: Path) -> None:
    (folder.parent / "other.toml").write_text("[gate]\nmargin = 0.25\n")
    shown = run_command("gate", "--policy", "../other.toml", "--show-policy")
    assert "margin = 0.25  (other.toml)" in shown.output
    assert "no policy" in refused(run_command("gate", "--policy=none.toml", "--show-policy"), folder)


# --- what runs in a checkout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the action runs in bash")
def test_neither_the_hooks_nor_the_action_import_from_the_checkout(folder: Path) -> None:
    for name in ("shlex.py", "secrets.py", "json.py", "rageval.py", "click.py"):
        (folder / name).write_text("open('pwned', 'w').write('1')\n")
    (folder / "pip").mkdir()
    (folder / "pip" / "__main__.py").write_text("open('pwned', 'w').write('1')\n")
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    calls = [line.strip() for line in action.splitlines() if "python " in line and "run:" not in line]
    called = [line for line in calls if " -c " in line or " -m " in line]
    assert called
    assert all("python -I " in line for line in called), called
    assert "python" not in (ROOT / ".pre-commit-hooks.yaml").read_text().replace("language: python", "")
    assert 'rageval-hook = "rageval.precommit:run"' in (ROOT / "pyproject.toml").read_text()
    script = "from rageval.precommit import run; run()"
    result = subprocess.run(
        [sys.executable, "-I", "-c", script, "validate", "rageval.py"], capture_output=True, timeout=60
    )
    assert result.returncode == 1, result
    assert not (folder / "pwned").exists()
