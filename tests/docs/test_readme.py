"""Every snippet of the README and the pages in docs, and every example, does what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from snippets import ROOT, blocks, console_mistake, lacks, program_mistake, python_mistake, rageval, run

pytestmark = pytest.mark.slow

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "measures.md"]
GUIDE = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_the_first_command_prints_what_the_readme_says() -> None:
    plain = blocks("", README)
    commands = [block for block in plain if "&& rageval" in block]
    assert len(commands) == 1
    expected = plain[plain.index(commands[0]) + 1]
    result = rageval(commands[0].partition("&& rageval")[2])
    assert (result.returncode, result.stdout) == (0, expected)
    assert result.stderr.startswith("rageval: run.trec: 30% of the top 10 is unjudged")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("block", blocks("console", README + GUIDE))
def test_console_blocks_show_true_output(block: str) -> None:
    assert console_mistake(block) is None


@pytest.mark.parametrize("block", blocks("python", README + GUIDE))
def test_python_blocks_run(block: str) -> None:
    assert python_mistake(block) is None


def test_the_signature_in_the_readme_is_the_one_printed() -> None:
    (block,) = (block for block in blocks("python", README) if "signature" in block)
    shown = re.search(r"signature\s+# '(.*)'", block)
    assert shown is not None
    by_query = re.search(r"by_query\s+# (.*)", block)
    assert by_query is not None
    last = "\nprint(scores['recall@1'].by_query, scores['ndcg@10'].signature)"
    assert run(["-c", block + last]).stdout == f"{by_query[1]} {shown[1]}\n"


def test_the_readme_command_is_what_ci_runs() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (command,) = (block for block in blocks("", README) if "pytest" in block)
    install, _, test = command.strip().partition(" && ")
    assert install.removeprefix("pip install ") in script
    assert test in script


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_print_what_they_should(example: Path) -> None:
    if missing := lacks(example):
        pytest.skip(f"needs {missing}")
    assert program_mistake(example) is None
    assert len(example.read_text(encoding="utf-8").splitlines()) < 80


def test_the_sample_data_is_what_its_script_makes(tmp_path: Path) -> None:
    script = tmp_path / "generate.py"
    script.write_text((ROOT / "examples/data/generate.py").read_text(encoding="utf-8"), encoding="utf-8")
    assert run([str(script)]).returncode == 0
    for name in ("run.trec", "baseline.trec", "qrels.nugget"):
        assert (tmp_path / name).read_bytes() == (ROOT / "examples/data" / name).read_bytes()
