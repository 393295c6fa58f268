"""What wheels and source packages hold, with a compiler, without one, and after other builds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COMPILED = {"rageval/_kernel.abi3.so", "rageval/_kernel.pyd"}
NOT_PACKED = {"rageval/_kernel.c"}
VARIABLES = {"CC", "CIBUILDWHEEL", "RAGEVAL_REQUIRE_KERNEL"}
NO_COMPILER = {"CC": "/bin/false"}
pytest.importorskip("setuptools", "77")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of what a wheel is made of, with things lying about that do not belong into it."""
    copy = tmp_path / "source"
    left_out = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    shutil.copytree(ROOT / "rageval", copy / "rageval", ignore=left_out)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    (copy / "rageval" / "notes.txt").write_text("mine")
    (copy / "rageval" / "_old.abi3.so").write_text("of an editable installation")
    return copy


def build(source: Path, what: str = "build_wheel", **variables: str) -> subprocess.CompletedProcess[str]:
    code = f"import sys; from setuptools import build_meta; build_meta.{what}(sys.argv[1])"
    environment = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    made = source.parent / "made"
    shutil.rmtree(made, ignore_errors=True)
    command = [sys.executable, "-c", code, str(made)]
    return subprocess.run(command, cwd=source, capture_output=True, text=True, env=environment | variables)


def wheel(source: Path, **variables: str) -> tuple[str, set[str], str]:
    """Return the name of the wheel that is built, the package's files in it, and what it says of itself."""
    done = build(source, **variables)
    assert done.returncode == 0, done.stderr
    (path,) = (source.parent / "made").glob("*.whl")
    with zipfile.ZipFile(path) as packed:
        files = {name for name in packed.namelist() if ".dist-info/" not in name}
        (about,) = (name for name in packed.namelist() if name.endswith(".dist-info/WHEEL"))
        return path.name, files, packed.read(about).decode()


def in_tree() -> set[str]:
    """The files of the package that are under version control, or would be."""
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / "rageval").rglob("*") if path.is_file()}
    return {name for name in found if "__pycache__" not in name} - COMPILED


def has_compiler() -> bool:
    import sysconfig

    return bool(shutil.which("cc")) and Path(sysconfig.get_paths()["include"], "Python.h").exists()


def test_a_wheel_holds_the_package_and_the_compiled_part_and_nothing_else(source: Path) -> None:
    if not has_compiler():
        pytest.skip("no compiler")
    name, files, about = wheel(source, RAGEVAL_REQUIRE_KERNEL="1")
    assert files - in_tree() == files & COMPILED != set()
    assert in_tree() - files == NOT_PACKED
    assert "-cp311-abi3-" in name
    assert "Root-Is-Purelib: false" in about


@pytest.mark.nightly
def test_without_a_compiler_a_wheel_is_plain_and_holds_nothing_of_earlier_builds(source: Path) -> None:
    assert build(source).returncode == 0  # leaves build/ behind, with all that there was then
    (source / "rageval" / "plugins.py").unlink()
    name, files, about = wheel(source, **NO_COMPILER)
    assert files == in_tree() - NOT_PACKED - {"rageval/plugins.py"}
    assert name.endswith("-py3-none-any.whl")
    assert "Root-Is-Purelib: true" in about
    assert "Tag: py3-none-any" in about


@pytest.mark.parametrize("variable", ["RAGEVAL_REQUIRE_KERNEL", "CIBUILDWHEEL"])
def test_a_release_without_the_compiled_part_is_none(source: Path, variable: str) -> None:
    assert build(source, **NO_COMPILER, **{variable: "1"}).returncode != 0
    assert not list((source.parent / "made").glob("*.whl"))


def test_the_source_package_holds_the_tree(tmp_path: Path) -> None:
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True)
    if found.returncode != 0:
        pytest.skip("not a checkout")
    tree = {name for name in found.stdout.split("\0") if name and (ROOT / name).is_file()}
    for name in tree:
        (tmp_path / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / "source" / name)
    done = build(tmp_path / "source", "build_sdist")
    assert done.returncode == 0, done.stderr
    with tarfile.open(next((tmp_path / "made").glob("*.tar.gz"))) as packed:
        files = {member.name.partition("/")[2] for member in packed if member.isfile()}
    made = {name for name in files if name.startswith("rageval.egg-info/")} | {"PKG-INFO", "setup.cfg"}
    assert files - made == tree
