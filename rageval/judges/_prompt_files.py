"""Prompts out of the files that their sources keep them in, without running anything or keeping their words.

A template of YAML with a key for each part, constants of a Python file, a text with its headings as a figure
prints them, or a plain text. Only what such files hold is read: of YAML, texts under keys and nothing else.
"""

from __future__ import annotations

import ast
import json
import re

from rageval.errors import InputError
from rageval.files.whole import text_of_whole

_KEY = re.compile(r"([A-Za-z_][\w-]*):(?: +(.*))?$")
_BLOCK = re.compile(r"\|([-+]?)(?:\s*#.*)?$")


def read_prompt_file(path: str) -> str:
    """Return the text of a prompt file; `InputError` if there is none."""
    return text_of_whole(path, "a prompt")


def yaml_texts(path: str) -> dict[str, str]:
    """Read the texts of a YAML file of keys and texts; `InputError` with the line for anything else.

    A text is a block (`|`, `|-`, `|+`), a quoted string, or plain words on the line of its key.
    """
    lines = read_prompt_file(path).split("\n")
    found: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line, number = lines[at], at + 1
        at += 1
        if not line.strip() or line.lstrip().startswith("#") or line.strip() in ("---", "..."):
            continue
        match = _KEY.match(line.rstrip())
        if match is None:
            raise InputError(f"{path}:{number}: expected a key and its text, found {line[:80]!r}")
        said = match[2] or ""
        block = _BLOCK.match(said)
        if block is not None:
            found[match[1]], at = _block(lines, at, block[1], f"{path}:{number}")
        else:
            found[match[1]] = _scalar(said, f"{path}:{number}")
    return found


def _block(lines: list[str], at: int, chomping: str, where: str) -> tuple[str, int]:
    """Return the text of a block that begins there, and where what follows it begins."""
    first = next((line for line in lines[at:] if line.strip()), "")
    indent = len(first) - len(first.lstrip(" "))
    if not indent:
        raise InputError(f"{where}: expected a text below it, indented")
    taken: list[str] = []
    while at < len(lines) and (not lines[at].strip(" ") or lines[at].startswith(" " * indent)):
        taken.append(lines[at][indent:])
        at += 1
    text = "\n".join(taken)
    if chomping == "+":
        return text if at == len(lines) else text + "\n", at
    text = text.rstrip("\n")
    return text + "\n" if text and not chomping else text, at


def _scalar(said: str, where: str) -> str:
    if said.startswith('"'):
        try:
            text = json.loads(said)
        except ValueError:
            raise InputError(f"{where}: expected one quoted text on this line, found {said[:80]!r}") from None
        return str(text)
    if said.startswith("'") and said.endswith("'") and len(said) > 1:
        return said[1:-1].replace("''", "'")
    if said[:1] in ("[", "{", "&", "*", "!", ">", "|", "'", "%", "@", "`"):
        raise InputError(f"{where}: expected a text, found {said[:80]!r}")
    return said.partition(" #")[0].rstrip()


def python_texts(path: str) -> dict[str, str]:
    """Read the constants of a Python file that are texts, wherever in it they are given their names."""
    found: dict[str, str] = {}
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            for target in node.targets:
                if isinstance(target, ast.Name) and isinstance(node.value.value, str):
                    found[target.id] = node.value.value
    return found


def python_template(path: str, names: set[str]) -> str | None:
    """Read a text of a Python file into which all of these names are put (`f"…{name}…"`), as a template."""
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.JoinedStr):
            pieces = [_as_template(part) for part in node.values]
            used = {name for name, _ in pieces if name}
            if used == names and all(piece for _, piece in pieces):
                return "".join(piece for _, piece in pieces)
    return None


def _as_template(part: ast.expr) -> tuple[str, str]:
    """Return the name that is put in, if any, and what a template has there; nothing for what has no name."""
    if isinstance(part, ast.Constant):
        return "", str(part.value).replace("{", "{{").replace("}", "}}")
    is_plain = isinstance(part, ast.FormattedValue) and part.conversion == -1 and part.format_spec is None
    if is_plain and isinstance(part.value, ast.Name):  # type: ignore[attr-defined]
        name: str = part.value.id  # type: ignore[attr-defined]
        return name, f"{{{name}}}"
    return "", ""


def _parsed(path: str) -> ast.Module:
    try:
        return ast.parse(read_prompt_file(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise InputError(f"{path}{line}: expected Python: {error}") from None


def json_texts(path: str, needed: str) -> dict[str, str]:
    """Read the texts of the first object, of lines of JSON, that has one under the key that is needed."""
    for line in read_prompt_file(path).splitlines():
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and isinstance(found.get(needed), str):
            return {name: text for name, text in found.items() if isinstance(text, str)}
    raise InputError(f"{path}: expected a line of JSON with a text under {needed!r}")


def headed_texts(path: str, headings: tuple[str, ...]) -> dict[str, str]:
    """Read the texts below these headings, each a line by itself; a heading that lacks is an error."""
    text = read_prompt_file(path)
    places = []
    for heading in headings:
        found = re.search(rf"(?im)^\W*{re.escape(heading)}\W*$\n?", text)
        if found is None:
            raise InputError(f"{path}: expected a line {heading!r}, and the text below it")
        places.append((found.start(), found.end(), heading))
    places.sort()
    ends = [start for start, _, _ in places[1:]] + [len(text)]
    return {
        heading: text[begin:end].strip("\n") for (_, begin, heading), end in zip(places, ends, strict=True)
    }
