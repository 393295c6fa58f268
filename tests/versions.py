"""The places that name the version: checked, or written anew.

python tests/versions.py                      all of them name one version
python tests/versions.py v0.2.0               and it is that of this tag, with nothing left unreleased
python tests/versions.py set 0.2.0 2026-12-01 write it into all of them
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
NUMBER, DAY = r"\d+\.\d+\.\d+", r"\d{4}-\d\d-\d\d"
# Each place, and what stands around the version in it; code takes it from the first.
PLACES = {
    "rageval/version.py": rf'(?m)(?<=^__version__ = "){NUMBER}(?="$)',
    "CITATION.cff": rf"(?m)(?<=^version: ){NUMBER}$|(?<=pypi\.org/project/rageval/){NUMBER}(?=/)",
    "CHANGELOG.md": rf"(?m)(?<=^## ){NUMBER}(?= \({DAY}\)$)",
}
# What is printed, as pages and tests show it: signatures, files, how to cite.
PRINTED = (
    *("README.md", "docs/*.md", "tests/golden/*.txt", "tests/golden/outputs/*.txt", "tests/golden/gate/*"),
    "examples/data/gate/*.jsonl",
)
_PRINTED = rf'(?:(?<=\|v:)|(?<=\brageval[ ~])|(?<="version":")|(?<=\bversion = \{{)){NUMBER}'
RELEASED = rf"(?m)(?<=^date-released: ){DAY}$"
UNRELEASED = r"(?m)^## Unreleased(?: \(.*\))?$"


def places(root: Path) -> dict[str, str]:
    """Return each file that names the version, with the pattern by which it does."""
    printed = {path.relative_to(root).as_posix() for pattern in PRINTED for path in root.glob(pattern)}
    return PLACES | {
        name: _PRINTED for name in sorted(printed - PLACES.keys()) if re.search(_PRINTED, _text(root, name))
    }


def _text(root: Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8")


def problems(root: Path = ROOT, tag: str = "") -> Iterator[str]:
    """Yield what is wrong with the versions that are named, and with the day of the newest."""
    texts = {name: _text(root, name) for name in PLACES}
    versions_found = {name: re.findall(pattern, _text(root, name)) for name, pattern in places(root).items()}
    version = (versions_found["rageval/version.py"] or ["none"])[0]
    for name, versions in versions_found.items():
        newest = versions[:1] if name == "CHANGELOG.md" else versions  # older ones stay there
        if set(newest) != {version}:
            yield f"{name}: expected version {version}, found {', '.join(newest) or 'none'}"
    days = re.findall(RELEASED, texts["CITATION.cff"])
    if [f"## {version} ({day})" for day in days] != re.findall(
        rf"(?m)^## {NUMBER} .*$", texts["CHANGELOG.md"]
    )[:1]:
        yield f"CITATION.cff: expected the day that CHANGELOG.md has, found {', '.join(days) or 'none'}"
    if tag and tag != f"v{version}":
        yield f"the tag is {tag}, expected v{version}"
    if tag and re.search(UNRELEASED, texts["CHANGELOG.md"]):
        yield "CHANGELOG.md: expected the version in place of Unreleased"


def write(version: str, day: str, root: Path = ROOT) -> None:
    """Name this version, of this day, in all places; what was unreleased is of it."""
    if not re.fullmatch(NUMBER, version) or not re.fullmatch(DAY, day):
        raise SystemExit(f"expected a version such as 0.2.0 and a day such as 2026-12-01: {version} {day}")
    for name, pattern in places(root).items():
        text = _text(root, name)
        if name == "CHANGELOG.md":
            text = re.sub(UNRELEASED, f"## {version} ({day})", text)
        else:
            text = re.sub(RELEASED, day, re.sub(pattern, version, text))
        (root / name).write_text(text, encoding="utf-8", newline="\n")


def main(words: Sequence[str]) -> None:
    if words[:1] == ["set"] and len(words) == 3:
        write(words[1], words[2])
    elif len(words) > 1:
        raise SystemExit(__doc__)
    problems_found = list(problems(tag=words[0] if len(words) == 1 else ""))
    print("\n".join(problems_found), file=sys.stderr, end="\n" * bool(problems_found))
    raise SystemExit(1 if problems_found else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
