"""A remark is facts: it has words wherever it is made, and nothing reads these again."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import rageval
from outputs import output_files, printed_anew
from rageval.core.remark import Remark, Scope, unique
from rageval.views import findings
from rageval.views import remarks as views
from rageval.views.remarks import SCOPE, WORDS, names_in, remark_text
from sources import PACKAGE, nodes

NAMED_LIKE_A_REMARK = "x: ndcg@2"


def assigned(nodes_of_module: list[ast.AST]) -> Iterator[tuple[int, str, ast.expr]]:
    """Every name that becomes something, also one of several in a line."""
    for node in nodes_of_module:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            else:
                pairs = [(target, node.value)]
            yield from ((node.lineno, one.id, value) for one, value in pairs if isinstance(one, ast.Name))


def facts_of(call: ast.Call, before: list[tuple[int, str, ast.expr]]) -> set[str] | None:
    """Return the names of the facts; None where a function of another place makes them."""
    given = [*call.args[2:3], *(word.value for word in call.keywords if word.arg == "facts")]
    if not given:
        return set()
    facts = given[0]
    if isinstance(facts, ast.Name):
        values = [value for line, name, value in before if name == facts.id and line < call.lineno]
        facts = values[-1] if values else facts
    if not isinstance(facts, ast.Dict) or not all(isinstance(key, ast.Constant) for key in facts.keys):
        return None
    return {str(key.value) for key in facts.keys if isinstance(key, ast.Constant)}


@cache
def calls() -> list[tuple[str, str | None, set[str] | None]]:
    """Every place of the package where a remark is made, with its code and facts."""
    return list(_calls())


def _calls() -> Iterator[tuple[str, str | None, set[str] | None]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        before = sorted(assigned(nodes(path)), key=lambda call: call[0])
        for node in nodes(path):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Remark":
                first = node.args[0] if node.args else None
                code = str(first.value) if isinstance(first, ast.Constant) else None
                yield f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno}", code, facts_of(node, before)


@pytest.mark.slow
def test_every_remark_has_words_and_all_words_are_used() -> None:
    assert [(place, code) for place, code, _ in calls() if code not in WORDS] == []
    assert WORDS.keys() - {code for _, code, _ in calls()} == set()


def named_values(path: Path) -> Iterator[tuple[int, str, str]]:
    """Every annotated name, and every function, with the type of what it holds or returns."""
    for node in nodes(path):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name | ast.Attribute):
            name = node.target.id if isinstance(node.target, ast.Name) else node.target.attr
            yield node.lineno, name, ast.unparse(node.annotation)
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield node.lineno, node.arg, ast.unparse(node.annotation)
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            yield node.lineno, node.name, ast.unparse(node.returns)


@pytest.mark.slow
def test_what_is_called_a_remark_or_a_reason_is_no_text() -> None:
    called = re.compile(r"(\w+_)?(remarks|reasons|doubt|advice)")
    texts = [
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent.name != "views"  # where they are words
        for _, name, kind in named_values(path)
        if called.fullmatch(name) and re.search(r"\bstr\b", kind)
    ]
    assert texts == []


@pytest.mark.slow
def test_a_remark_has_the_facts_that_its_words_need() -> None:
    seen = [(place, code, facts) for place, code, facts in calls() if facts is not None]
    assert [(place, facts) for place, code, facts in seen if facts != names_in(WORDS[code]) - SCOPE] == []
    assert len(seen) > len(calls()) * 4 / 5


@pytest.mark.slow
def test_codes_and_facts_are_names() -> None:
    names = {name for code in WORDS for name in (code, *names_in(WORDS[code]))}
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", name)] == []


def test_a_remark_is_its_code_what_it_is_about_and_its_facts() -> None:
    one = Remark("nothing_relevant", Scope(("a",)))
    other = Remark("nothing_relevant", Scope(("b",)))
    assert unique([one, other, Remark("nothing_relevant", Scope(("a",)))]) == [one, other]
    tied = Remark("tied_cutoffs", Scope(("a",)), {"queries": [(1, 2)], "ties": "id"})
    for copied in (pickle.loads(pickle.dumps(tied)), copy.deepcopy(tied)):
        assert (copied, hash(copied), str(copied)) == (tied, hash(tied), str(tied))
    with pytest.raises(TypeError):
        tied.facts["ties"] = "rank"  # type: ignore[index]


def test_the_json_of_a_remark_has_code_about_facts_and_text() -> None:
    remark = Remark("tied_cutoffs", Scope(("a",)), {"queries": [(1, 2)], "ties": "id"})
    assert json.loads(json.dumps(remark.as_record())) == {
        "code": "tied_cutoffs",
        "about": {"systems": ["a"]},
        "facts": {"queries": [[1, 2]], "ties": "id"},
        "text": "a: queries with equal scores on both sides of a cut-off: 2 at rank 1 (ties: id)",
    }


def test_text_from_outside_is_written_out() -> None:
    remark = Remark("ignored_columns", Scope(file="a\x1b[31m"), {"columns": ["\x07"]})
    assert str(remark) == "a\\x1b[31m: ignored columns: \\x07"


def test_a_remark_is_filed_under_its_own_system_whatever_others_are_called() -> None:
    """A run may be called like the beginning of a remark on another one."""
    qrels = {"q1": {"a": 1, "b": 1}, "q2": {"a": 1}}
    equal = {"q1": {"a": 1.0, "b": 1.0, "c": 1.0}, "q2": {"a": 1.0, "c": 1.0}}
    runs = {"x": equal, NAMED_LIKE_A_REMARK: {"q1": {"a": 2.0, "b": 1.0}}}
    table = rageval.evaluate("ndcg@2", runs, qrels, ties="expected")
    for run, scores in table.items():
        assert scores.remarks
        assert {remark.about.systems for remark in scores.remarks} <= {(), (run,)}
    assert "range_of_value" in {remark.code for remark in table["x"].remarks}
    alone = rageval.evaluate("ndcg@2", {"x": equal, "y": runs[NAMED_LIKE_A_REMARK]}, qrels, ties="expected")
    assert table["x"].remarks == alone["x"].remarks


def test_a_remark_on_answers_is_filed_under_its_own_system() -> None:
    def judged(run: str, status: str) -> dict[str, str]:
        more = {"label": "perfect"} if status == "ok" else {}
        return {"query_id": "q", "run_id": run, "status": status, **more}

    rows = [judged("x", "error"), {**judged("x", "ok"), "query_id": "r"}]
    rows += [judged("x: crag_score", "ok"), {**judged("x: crag_score", "ok"), "query_id": "r"}]
    table = rageval.evaluate_answers("crag_score", rows, on_missing="skip")
    assert "missing_judgements" in {remark.code for remark in table["x"].remarks}
    assert "missing_judgements" not in {remark.code for remark in table["x: crag_score"].remarks}


@pytest.mark.slow
@pytest.mark.parametrize("path", output_files(), ids=lambda path: path.stem)
def test_words_decide_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What tests or cuts a text finds nothing in one whose letters have the other case."""

    def swap_case(function: Callable[..., str]) -> Callable[..., str]:
        return lambda *given: function(*given).swapcase()

    expected = path.read_text(encoding="utf-8")
    monkeypatch.setattr(views, "remark_text", swap_case(remark_text))
    for name in ("message_text", "effect_text"):
        monkeypatch.setattr(findings, name, swap_case(getattr(findings, name)))
    printed = printed_anew(expected)
    assert printed.casefold() == expected.casefold()
    # The pages of help have no remark.
    assert (printed != expected) == (path.stem != "reference"), "no text of this file was tried"
