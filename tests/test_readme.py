"""Every snippet of the README and the pages in docs, and every example, does what it shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "measures.md"]
GUIDE = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run(words: list[str]) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONWARNINGS": "error", "PYTHONPATH": str(ROOT)}
    return subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=120)


def rageval(arguments: str) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "rageval", *shlex.split(arguments)])


def test_the_first_command_prints_what_the_readme_says() -> None:
    commands = [block for block in blocks("") if "&& rageval" in block]
    assert len(commands) == 1
    expected = blocks("")[blocks("").index(commands[0]) + 1]
    done = rageval(commands[0].partition("&& rageval")[2])
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


@pytest.mark.parametrize("block", blocks("console") + blocks("console", GUIDE))
def test_console_blocks_show_true_output(block: str) -> None:
    command, _, expected = block.partition("\n")
    done = rageval(command.removeprefix("$ rageval"))
    assert (done.returncode, done.stdout) == (0, expected)


@pytest.mark.parametrize("block", blocks("python") + blocks("python", GUIDE))
def test_python_blocks_run(block: str) -> None:
    done = run([sys.executable, "-c", block])
    assert done.returncode == 0, done.stderr


def test_the_signature_in_the_readme_is_the_one_printed() -> None:
    (block,) = (block for block in blocks("python") if "signature" in block)
    shown = re.search(r"signature\s+# '(.*)'", block)
    assert shown is not None
    done = run([sys.executable, "-c", block + "\nprint(scores['alpha_ndcg@10'].signature)"])
    assert done.stdout.splitlines()[-1] == shown[1]


def test_the_readme_command_is_what_ci_runs() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (command,) = (block for block in blocks("") if "pytest" in block)
    install, _, test = command.strip().partition(" && ")
    assert install.removeprefix("pip install ") in script
    assert test in script


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_print_what_they_should(example: Path) -> None:
    done = run([sys.executable, str(example)])
    assert done.returncode == 0, done.stderr
    assert done.stdout == (example.parent / "expected" / f"{example.stem}.txt").read_text(encoding="utf-8")
    assert len(example.read_text(encoding="utf-8").splitlines()) < 80


def test_the_sample_data_is_what_its_script_makes(tmp_path: Path) -> None:
    script = tmp_path / "generate.py"
    script.write_text((ROOT / "examples/data/generate.py").read_text(encoding="utf-8"), encoding="utf-8")
    assert run([sys.executable, str(script)]).returncode == 0
    for name in ("run.trec", "baseline.trec", "qrels.nugget"):
        assert (tmp_path / name).read_bytes() == (ROOT / "examples/data" / name).read_bytes()
