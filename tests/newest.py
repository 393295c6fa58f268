"""Tells which package that rageval calls is not installed in its newest version: `python tests/newest.py`.

README's command takes the newest of everything; this tells when one of the packages holds another back.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import distributions

from lowest import constraints

HELD: dict[str, str] = {}  # name: which package holds it back, and why that is left so
ASK = ("-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--upgrade", "--report", "-")


def main() -> int:
    here = {package.name.replace("_", "-").lower(): package.version for package in distributions()}
    called = {"polars", *(line.partition("==")[0].replace("_", "-") for line in constraints())} - HELD.keys()
    done = subprocess.run(
        [sys.executable, *ASK, *sorted(called & here.keys())], check=True, stdout=subprocess.PIPE, text=True
    )
    newer = [row["metadata"] for row in json.loads(done.stdout)["install"]]
    for row in newer:
        old = here[row["name"].replace("_", "-").lower()]
        print(f"{row['name']}: {old} is installed and {row['version']} is out; which package holds it back?")
    return 1 if newer else 0


if __name__ == "__main__":
    sys.exit(main())
