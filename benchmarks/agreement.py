"""Whether two tools print the same values, whatever each calls its measures."""

from __future__ import annotations

TOLERANCE = 1e-4  # FreshStack prints four decimals

Values = dict[str, list[float]]  # measure -> its mean in each run, in the order printed


def canonical(measure: str) -> str:
    name = measure.strip().lower().replace("-", "_")
    return name.replace("r@", "recall@", 1) if name.startswith("r@") else name


def parse(output: str) -> Values:
    """Tab-separated lines `... measure [query] value`; the measure is the field with an @."""
    values: Values = {}
    for line in output.splitlines():
        *labels, value = line.split("\t")
        measure = next(label for label in labels if "@" in label)
        values.setdefault(canonical(measure), []).append(float(value))
    return values


def differences(ours: str, theirs: str) -> list[str]:
    """One note for each measure on which two outputs differ."""
    mine, yours = parse(ours), parse(theirs)
    return [
        f"{measure}: {mine.get(measure)} and {yours.get(measure)}"
        for measure in sorted(mine.keys() | yours.keys())
        if not close(mine.get(measure, []), yours.get(measure, []))
    ]


def close(mine: list[float], yours: list[float]) -> bool:
    return len(mine) == len(yours) and all(abs(a - b) <= TOLERANCE for a, b in zip(mine, yours, strict=True))
