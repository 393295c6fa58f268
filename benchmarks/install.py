"""Measures what is installed: packages, megabytes on disk and seconds, for the core and for each extra.

python benchmarks/install.py [EXTRA ...]       (all that people use, where none is named)

Each is installed into a virtual environment of its own, from pip's cache where that has the packages, and the
core's part is taken off what an extra adds. Prints the table of docs/installing.md, and on standard error the
seconds, which depend on the network and on pip's cache.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
CORE = ""


class Installed(NamedTuple):
    """Sizes of packages in bytes, by name, and how long it took."""

    sizes: dict[str, int]
    seconds: float


# In the environment that was made: the bytes of each package, as its own list of files has them.
_SIZES = """
import importlib.metadata, json, os
sizes = {}
for package in importlib.metadata.distributions():
    files = map(package.locate_file, package.files or [])
    sizes[package.metadata["Name"].lower()] = sum(os.path.getsize(file) for file in files if file.is_file())
print(json.dumps(sizes))
"""


def installed(extra: str) -> Installed:
    """Install the core, or an extra of it, where there is nothing else; without pip itself."""
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        python = str(next(Path(folder).glob("[bS][ic][nr]*/python*")))
        began = time.monotonic()
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
        subprocess.run(
            [*pip, f"{ROOT}[{extra}]" if extra else str(ROOT)], check=True, stderr=subprocess.DEVNULL
        )
        seconds = time.monotonic() - began
        output = subprocess.run([python, "-c", _SIZES], check=True, capture_output=True).stdout
        return Installed(json.loads(output), seconds)


def row(name: str, installation: Installed, core: Installed | None) -> str:
    """Return a line of the table: what is new, the largest of it first."""
    sizes = core.sizes if core is not None else {}
    new = {package: size for package, size in installation.sizes.items() if package not in sizes}
    largest = sorted(new, key=lambda package: -new[package])[:4]
    named = ", ".join(f"{package} {new[package] / 1e6:.0f}" for package in largest if new[package] >= 5e5)
    print(f"{name}: {installation.seconds:.0f} s", file=sys.stderr, flush=True)
    return f"| {name} | {len(new)} | {sum(new.values()) / 1e6:.0f} | {named} |"


def main(extras: list[str]) -> None:
    """Print the table."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra_names = set(project["optional-dependencies"]) - {
        "docs",
        "fuzz",
        "lint",
        "test",
    }  # of those who make it
    unknown = set(extras) - set(project["optional-dependencies"])
    if unknown:
        raise SystemExit(f"{min(unknown)}: no such extra; expected some of {', '.join(sorted(extra_names))}")
    print("| | packages | MB | the largest, in MB |")
    print("|---|---:|---:|---|")
    core = installed(CORE)
    print(row("the core", core, None), flush=True)
    for extra in extras or [*sorted(extra_names - {"all", "dev"}), "all", "dev"]:
        print(row(f"`{extra}`", installed(extra), core), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
