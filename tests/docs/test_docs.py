"""The pages made from the code are up to date, and what the page of the files shows is true."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from declared import require_golden, require_same
from rageval.measures import builtin
from snippets import ROOT, blocks

DOCS = Path(__file__).parents[2] / "docs"
FILES = (DOCS / "files.md").read_text(encoding="utf-8")
SAMPLES = sorted((ROOT / "examples/data/answers").glob("*.jsonl"))


def test_the_pages_that_are_generated_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("generate_docs", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    require_golden(module.measures_page(), DOCS / "measures.md")
    require_golden(module.remarks_page(), DOCS / "remarks.md")
    require_golden(module.findings_page(), DOCS / "findings.md")
    require_golden(module.json_page(), DOCS / "json.md")
    require_golden(module.skill_page(), DOCS / "skill/SKILL.md")


def test_the_samples_on_the_page_of_the_files_are_lines_of_the_samples() -> None:
    lines = {line for path in SAMPLES for line in path.read_text(encoding="utf-8").splitlines(keepends=True)}
    assert len(blocks("json", FILES)) >= 9
    assert set(blocks("json", FILES)) <= lines


def test_what_is_written_by_hand_is_where_the_decisions_say() -> None:
    table = (DOCS / "decisions.md").read_text(encoding="utf-8").partition("## Written by hand")[2]
    parts = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ") and "`" in row]
    assert len(parts) > 15
    for part in parts:
        first, *others = re.findall(r"`([\w/]+(?:\.py|\.c|/))`", part)
        folders = [ROOT / "rageval", (ROOT / "rageval" / first).parent, ROOT]
        lost = [name for name in (first, *others) if not any((folder / name).exists() for folder in folders)]
        assert not lost, part


def test_every_measure_has_its_place_on_the_page() -> None:
    page = (DOCS / "measures.md").read_text(encoding="utf-8")
    described = {name for name in builtin() if f"\n### {name}\n" in page}
    family = "docs/measures.md: name a new family in FAMILIES of docs/generate.py, and run make regenerate"
    require_same(described, builtin(), family)
