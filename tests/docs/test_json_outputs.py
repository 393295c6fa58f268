"""Each JSON output of a command has the fields and types that docs/json.md says."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from every_command import walked
from json_types import SCHEMA, faults
from outputs import FOLDER, printed_anew
from rageval.cli import COMMANDS

OUTPUTS = {output["command"]: output for output in SCHEMA["outputs"]}
# Beside those of tests/golden/outputs/.
MORE = (Path(__file__).parent / "json_outputs.txt").read_text(encoding="utf-8")


def command_of(words: list[str]) -> str:
    """The command that words are of; without a name it is `score`."""
    named = [name for name in OUTPUTS if words[: len(name.split())] == name.split()]
    return max(named, key=len) if named else words[0] if words[0] in COMMANDS else "score"


def outputs(text: str) -> Iterator[tuple[str, str, list[Any]]]:
    """The JSON that commands print or write: the command line, `json` or `jsonl`, the values."""
    written: dict[str, str] = {}
    for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, rest = block.partition("\n")
        printed = [line[2:] for line in rest.splitlines() if line.startswith("|")]
        words = shlex.split(line)
        if words[0] == "cat" and words[1] in written:
            yield written[words[1]], "json", [json.loads("\n".join(printed))]
        if words[0] != "rageval":
            continue
        if "--json" in words:
            written[words[words.index("--json") + 1]] = line
        style = words[words.index("--format") + 1] if "--format" in words else ""
        if style == "json" and printed:
            yield line, style, [json.loads("\n".join(printed))]
        elif style == "jsonl" and words[1:3] != ["datasets", "export"]:
            yield line, style, list(map(json.loads, printed))


def problems(text: str) -> tuple[list[str], set[tuple[str, str]]]:
    faults_found, seen = [], set()
    for line, style, values in outputs(text):
        output = OUTPUTS[command_of(shlex.split(line)[1:])]
        for value in values:
            seen.add((output["command"], style))
            faults_found += [f"$ {line}: {fault}" for fault in faults(value, output[style])]
    return faults_found, seen


def test_the_schema_is_whole() -> None:
    objects = SCHEMA["objects"]
    printing = {
        path
        for path, command in walked()
        for option in command.params
        if isinstance(option.type, click.Choice) and "json" in option.type.choices
    }
    # What `report show` prints is asked for by an option of `report`.
    assert printing - {"report"} | {"gate", "report show"} == OUTPUTS.keys()
    kinds = [output[style] for output in OUTPUTS.values() for style in ("json", "jsonl") if style in output]
    kinds += [text.partition(": ")[0] for fields in objects.values() for text in fields.values()]
    assert set(re.findall(r"[A-Z]\w+", " ".join(kinds))) == objects.keys()
    assert all(": " in text for fields in objects.values() for text in fields.values())


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_what_golden_outputs_hold(path: Path) -> None:
    assert problems(path.read_text(encoding="utf-8"))[0] == []


@pytest.mark.slow
def test_every_command_prints_what_the_page_says() -> None:
    faults_found, seen = problems(printed_anew(MORE))
    assert faults_found == []
    styles = [(name, style) for name in OUTPUTS for style in ("json", "jsonl")]
    assert seen == {(name, style) for name, style in styles if style in OUTPUTS[name]}


def test_a_field_that_is_not_on_the_page_is_a_fault() -> None:
    remark = {"code": "note", "about": {}, "facts": {"text": "a"}, "text": "a"}
    assert list(faults(remark, "Remark")) == []
    assert list(faults(remark | {"more": 1}, "Remark")) == [".more: is no field of Remark"]
    assert list(faults(remark | {"text": 1}, "list of text or Remark")) != []
    assert list(faults(remark | {"text": 1}, "Remark")) == [".text: expected text, found 1"]
    assert list(faults({"a": None}, "map of text or null")) == []
    assert list(faults([1, True], "list of integer")) == ["[]: expected integer, found True"]
