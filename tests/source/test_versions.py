"""The version, and the citation of it: one place to change, and no other that says something else."""

from __future__ import annotations

import re
import shutil
import tomllib
from datetime import date
from pathlib import Path

import pytest

import rageval
import versions

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="tree")
def tree_(tmp_path: Path) -> Path:
    for name in versions.places(ROOT):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_all_places_name_the_version() -> None:
    assert len(versions.places(ROOT)) > len(versions.PLACES) + 5
    assert list(versions.problems()) == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "rageval.version.__version__"}
    said = f'__version__ = "{rageval.__version__}"'
    named = [path for path in (ROOT / "rageval").rglob("*.py") if said in path.read_text(encoding="utf-8")]
    assert named == [ROOT / "rageval" / "version.py"]


@pytest.mark.some(5)
@pytest.mark.parametrize(
    "name", [*versions.PLACES, "README.md", "docs/gate.md", "tests/golden/outputs/formats.txt"]
)
def test_a_place_that_is_forgotten_is_found(tree: Path, name: str) -> None:
    before = (tree / name).read_text(encoding="utf-8")
    versions.write("7.8.9", "2031-02-03", tree)
    if name == "CHANGELOG.md":
        before = re.sub(versions.UNRELEASED, "", before)
    (tree / name).write_text(before, encoding="utf-8")
    assert list(versions.problems(tree))


def test_a_new_version_is_written_into_all_places(tree: Path) -> None:
    log = tree / "CHANGELOG.md"
    log.write_text("# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-11-21)\n", encoding="utf-8")
    assert list(versions.problems(tree, f"v{rageval.__version__}")) != []  # something is unreleased
    versions.write("7.8.9", "2031-02-03", tree)
    assert list(versions.problems(tree, "v7.8.9")) == []
    assert list(versions.problems(tree, "v7.8.8")) == ["the tag is v7.8.8, expected v7.8.9"]
    assert "\n## 0.1.0 (2026-11-21)\n" in log.read_text(encoding="utf-8")  # as it was
    with pytest.raises(SystemExit, match="a version such as"):
        versions.write("v7", "2031-02-03", tree)


def test_the_citation_is_one_and_agrees_with_the_package() -> None:
    yaml = pytest.importorskip("yaml")
    said = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert said["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "version", "date-released"} <= said.keys()
    assert said["type"] == "software"
    assert said["version"] == rageval.__version__
    assert isinstance(said["date-released"], date)
    assert said["license"] == project["license"]
    assert [author["name"] for author in said["authors"]] == [each["name"] for each in project["authors"]]
    # It leads to what a release makes: the page of the package, and that of this very version.
    assert said["url"] == f"https://pypi.org/project/{project['name']}/"
    assert said["repository-artifact"] == f"{said['url']}{said['version']}/"
    assert said.get("repository-code") == project.get("urls", {}).get("Source")
