"""A finding is a remark on a line of a file: a code with words and facts, wherever it is made."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import pytest

from rageval.checking import Findings, validate
from rageval.checking.checks import validation
from rageval.checking.doctor import diagnose
from rageval.checking.findings import ERROR, FIXED, WARNING, Finding, error, fixed, warning
from rageval.checking.repairs import write_repaired
from rageval.checking.tracks import TRACKS
from rageval.core.remark import Remark, Scope
from rageval.errors import RagevalError
from rageval.views import remarks
from rageval.views.findings import EFFECTS, PLACE, WORDS, message_text
from rageval.views.remarks import names_in
from sources import PACKAGE, nodes
from test_changed_files import KINDS, other_bytes, other_records

MAKERS = {"error": 2, "warning": 2, "fixed": 2, "once": 5, "_refusal_findings": 3, "Finding": 4}


def needed(code: str) -> set[str]:
    return {*names_in(WORDS[code]), *names_in(EFFECTS.get(code, ""))} - PLACE


def maker(call: ast.Call) -> str:
    """The name of the function that makes a finding, or nothing."""
    names = [call.func.body, call.func.orelse] if isinstance(call.func, ast.IfExp) else [call.func]
    makers = {getattr(name, "id", "") for name in names}
    return makers.pop() if len(makers) == 1 else "error" if makers == {"error", "warning"} else ""


def constants(node: ast.AST) -> tuple[str, ...]:
    return tuple(part.value for part in getattr(node, "elts", ()) if isinstance(part, ast.Constant))


def facts_of(call: ast.Call, name: str, names: dict[str, tuple[str, ...]]) -> set[str] | None:
    """The facts that a call gives; None where they are made elsewhere."""
    facts = set()
    for keyword in call.keywords:
        if keyword.arg is not None:
            facts.add(keyword.arg)
            continue
        of_value = getattr(keyword.value, "id", "") or getattr(getattr(keyword.value, "func", None), "id", "")
        if of_value not in ("value", "value_facts"):
            return None
        facts |= {"value", "is_text"}
    if name == "once":
        given = call.args[4:5]
        first = [names[part.id] if isinstance(part, ast.Name) else constants(part) for part in given]
        facts |= {"number", *(first[0] if first else ("query",))}
    return {"reason"} if name == "_refusal_findings" else facts


@cache
def calls() -> list[tuple[str, str, set[str] | None]]:
    """Every place where a finding is made, with its code and facts."""
    return list(_calls())


def _calls() -> Iterator[tuple[str, str, set[str] | None]]:
    for path in sorted([*(PACKAGE / "checking").rglob("*.py"), *(PACKAGE / "track").rglob("*.py")]):
        names = {
            target.id: constants(node.value)
            for node in nodes(path)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and isinstance(node.value, ast.Tuple)
        }
        for node in nodes(path):
            if not isinstance(node, ast.Call) or (name := maker(node)) not in MAKERS or not node.args:
                continue
            if isinstance(node.args[0], ast.Constant):
                yield f"{path.name}:{node.lineno}", str(node.args[0].value), facts_of(node, name, names)


@pytest.mark.slow
def test_every_finding_has_words_and_all_words_are_used() -> None:
    codes = {code for _, code, _ in calls()}
    assert codes - WORDS.keys() == set()
    shared = {code for code in WORDS if code in remarks.WORDS}  # remarks of readers, taken as they are
    assert WORDS.keys() - codes == shared
    assert all(WORDS[code] is remarks.WORDS[code] for code in shared)
    assert EFFECTS.keys() <= WORDS.keys()


@pytest.mark.slow
def test_a_finding_has_the_facts_that_its_words_need() -> None:
    seen = [(place, code, facts) for place, code, facts in calls() if facts is not None]
    assert [(place, facts) for place, code, facts in seen if facts != needed(code)] == []
    assert len(seen) > len(calls()) * 19 / 20


def sentences(path: Path) -> Iterator[str]:
    """The texts of several words in a file that are no docstring, no part of an error, and no names."""
    skipped: set[ast.AST] = set()
    for node in nodes(path):
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_names = isinstance(node, ast.Call) and getattr(node.func, "id", "") in NAMED
        if isinstance(node, ast.Raise) or is_docstring or is_names:
            skipped |= set(ast.walk(node))
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped
        if is_text and len(re.findall(r"[a-z]+", node.value)) > 2 and " " in node.value.strip():
            yield from {node.value} - set(ERRORS)


NAMED = ("no_other_fields", "Track")
# Parts of errors, which readers raise, and a kind of file.
ERRORS = (
    "lines of columns",
    "lines of 6 columns (",
    "cannot tell what this is",
    "to import a table of answers: rageval import ",
    "table of answers",
)


def test_checks_have_no_sentences() -> None:
    """All words are in `views`."""
    for path in sorted((PACKAGE / "checking").rglob("*.py")):
        assert list(sentences(path)) == [], path.name


def assert_is_whole(finding: Finding, lines: int) -> None:
    assert finding.code in WORDS
    assert set(finding.facts) == needed(finding.code), finding.code
    assert finding.level in (ERROR, WARNING, FIXED)
    assert 1 <= finding.line <= lines, (finding.text, lines)
    assert finding.message == message_text(finding) != ""
    assert finding.text.startswith(f"{finding.source}:{finding.line}: {finding.level}: {finding.message}")
    record = finding.as_record()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["about"] == {"file": finding.source, "line": finding.line}
    assert (record["code"], record["text"]) == (finding.code, finding.text)
    for copied in (pickle.loads(pickle.dumps(finding)), copy.deepcopy(finding)):
        assert (copied, hash(copied), str(copied)) == (finding, hash(finding), finding.text)


@pytest.mark.parametrize("kind", KINDS, ids=[f"{path.parent.name}/{path.name}" for path in KINDS])
@pytest.mark.slow
@pytest.mark.some(3)
def test_every_finding_in_damaged_files_is_whole(
    kind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = kind.read_bytes()[:50_000]
    random = Random(kind.name)
    for damage in (lambda content: content, *[other_records] * 3, *[other_bytes] * 2):
        changed = damage(content) if damage.__name__ == "<lambda>" else damage(content, random)
        Path("file").write_bytes(changed)
        lines = changed.count(b"\n") + 1
        for track in random.sample(TRACKS, 3):
            try:
                findings = validate("file", track, random.choice([None, {"1": "one"}]))
                for finding in findings:
                    assert finding.source == "file"
                    assert_is_whole(finding, lines)
                for finding in write_repaired("file", Path("out"), track):
                    assert_is_whole(finding.in_file("file"), lines)
            except RagevalError:
                pass
        try:
            for finding in diagnose([("file", None), (str(kind), None)], [1, 2]):
                assert finding.source in ("file", str(kind))
                assert_is_whole(finding, max(lines, content.count(b"\n") + 1))
        except RagevalError:
            pass


def test_a_finding_is_its_code_place_facts_and_level() -> None:
    one = error("unknown_topic", 7, topic="q9")
    assert isinstance(one, Remark)
    assert one == Finding("unknown_topic", Scope(line=7), {"topic": "q9"}, ERROR)
    assert one != warning("unknown_topic", 7, topic="q9") == one.of_level(WARNING)
    assert fixed("set_length", 7, number=3).text == ":7: fixed: set `response_length` to 3"
    assert one.in_file("a").in_line(8).text == "a:8: error: unknown topic 'q9'"


def test_findings_are_told_apart_by_code(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.write_text("q Q0 a 1 2 r\nq Q0 a 2 1 s\n")
    findings = validate(run, "run", {"p": "?"})
    assert isinstance(findings, Findings)
    codes = [(finding.code, finding.line) for finding in findings]
    assert codes == [
        ("unknown_topic", 1),
        ("other_run_tag", 2),
        ("repeated_document", 2),
        ("no_known_topic", 2),
    ]
    assert findings[0].facts["topic"] == "q"
    assert dict(findings[2].facts) == {"document": "a", "topic": "q", "first_line": 1}
    assert [finding.code for finding in validation(str(run), "rag24")] == ["other_kind"]
