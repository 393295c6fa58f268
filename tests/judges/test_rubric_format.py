"""What a rubric's file may say: templates, steps, examples, cutting; and what it may not, by line."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from fair_judge import saying, write_lines
from llm_server import Asked, LlmServer
from rageval.errors import InputError, MissingPackage, UsageError
from rageval.judges import Settings, gathered, judged_by, rubric_named
from rageval.judges.base import Reply, Request, names_in, template_of
from rageval.judges.rubric import RubricFile, as_toml, content_of
from rageval.judges.store import Store
from rageval.testing import ScriptedModel
from test_bad_input import assert_refused, command
from test_prompts import ALL, OTHER, TAG

FENCED = """\
unit = "answer"
kind = "label"
sees = ["question", "answer"]
labels = { good = 1, bad = 0 }
[prompt]
system = "Weigh {braces}."
template = '''
Asked: {question}
Said: {said}, to {question}. {{not}} a field.'''
[fields]
said = "answer"
"""
UNFENCED = FENCED.replace("[prompt]", "unfenced = true\nreads = 'json'\n[prompt]", 1)
PLAIN = FENCED.partition("template")[0] + 'ask = "Is it good?"\n'
VERDICT = '{"evidence": "", "reason": "r", "label": "good"}'


def rubric_of(folder: Path, text: str = FENCED) -> Any:
    (folder / "mine.toml").write_text(text)
    return rubric_named(str(folder / "mine.toml"))


@pytest.mark.slow
def test_no_value_leaves_its_place_in_a_template_with_fences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each place has digits of its own, the system names them, and what stands between them is one line."""
    rubric = rubric_of(tmp_path)
    tags: Iterator[str] = iter(())
    monkeypatch.setattr(secrets, "token_hex", lambda size: next(tags))
    others = [OTHER, "a" * 32, "b" * 32, "c" * 32]
    for text in [*ALL[:3000], "{question}", "{said}", "{{said}}", "{0}", "\n{answer}\n"]:
        tags = iter((TAG, *others))
        data = {"question": f"q{text}", "answer": text}
        sent = rubric.request(data).fenced()
        lines = sent.user.splitlines()
        fences = [line for line in lines if line in (TAG, *others)]
        assert [fences[number] == fences[number + 1] for number in (0, 2, 4)] == [True] * 3
        assert len(set(fences)) == 3
        shown = [json.loads(lines[lines.index(fence) + 1]) for fence in dict.fromkeys(fences)]
        assert shown == [data["question"], data["answer"], data["question"]]
        assert all(fence in sent.system for fence in fences)
        assert not any(fence in line for fence in fences for line in lines if line not in fences)
        assert "{not} a field" in sent.user
        assert sent.system.startswith("Weigh {braces}.")


@pytest.mark.slow
def test_no_value_becomes_a_template_where_there_is_no_fence(tmp_path: Path) -> None:
    """Two values are found again in what is sent, whatever fields and braces they name."""
    rubric = rubric_of(tmp_path, UNFENCED)
    pieces = ("{", "}", "question", "said", "{said}", "{{", "0", "%s", "\\")
    for one, two in product(("".join(letters) for letters in product(pieces, repeat=2)), repeat=2):
        request = rubric.request({"question": one, "answer": two})
        assert request.user == f"\nAsked: {one}\nSaid: {two}, to {one}. {{not}} a field."[1:]
        assert request.fenced().user == request.user
        assert request.system == "Weigh {braces}."


@pytest.mark.parametrize("text", ["{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a:>9}", "{", "}", "{a", "{a b}"])
def test_what_is_no_field_is_no_template(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|brace|'[{}]'"):
        names_in(template_of(text))


def test_steps_are_asked_one_after_the_other(tmp_path: Path) -> None:
    rubric = rubric_of(
        tmp_path,
        FENCED.replace("[fields]", 'steps = ["Name the claims of {answer}.", "Check {step1}."]\n[fields]')
        .replace("{question}. {{not}}", "{step2}. {{not}}")
        .replace("[prompt]", "each = 'gold'\n[prompt]")
        .replace("each = 'gold'\n", ""),
    )
    write_answers(tmp_path)
    model = ScriptedModel(["one {claim} {{fence}}", "checked", VERDICT])
    (row,) = judged(tmp_path, rubric, model)
    assert (row["label"], row["attempts"]) == ("good", 3)
    first, second, third = model.requests
    assert "Name the claims of" in first.user
    assert (first.form, second.form, third.form) == ("text", "text", "schema")
    assert json.dumps("one {claim} {{fence}}") in second.user
    assert '"checked"' in third.user
    assert "one {claim}" not in third.user


def write_answers(folder: Path) -> None:
    (folder / "answers").write_text('{"query_id": "q", "run_id": "r", "answer": "It is."}\n')
    (folder / "questions").write_text('{"query_id": "q", "question": "Is it?", "answer": "Yes"}\n')


def judged(folder: Path, rubric: Any, model: Any) -> list[dict[str, Any]]:
    material = gathered([str(folder / "answers")], questions=str(folder / "questions"))
    settings = Settings(store=str(folder / "store"), canaries=0)
    return list(judged_by([model], rubric, material, settings))


EXAMPLES = [
    {"question": "Is {it}?", "answer": "{{fence}} yes", "reply": {"label": "good"}},
    {"question": "Was it?", "answer": "no", "reply": "bad {answer}"},
]


@pytest.mark.slow
def test_examples_are_shown_as_turns_as_what_is_asked_about_is(place: Path, server: LlmServer) -> None:
    write_lines(shots=EXAMPLES)
    Path("shots").rename("shots.jsonl")
    rubric = rubric_of(place, PLAIN + '[examples]\nas = "turns"\nfile = "shots.jsonl"\n')
    write_answers(place)
    server.default = lambda asked: saying(asked, VERDICT)
    for provider, first in (("openai", 1), ("anthropic", 0)):
        judged(place, rubric, f"{provider}:m")
        sent = server.bodies[-1]["messages"]
        assert [turn["role"] for turn in sent[first:]] == ["user", "assistant"] * 2 + ["user"]
        blocks = [turn["content"].split("\n") for turn in sent[first:] if turn["role"] == "user"]
        fences = {block[0] for block in blocks} | {block[2] for block in blocks}
        assert len(fences) == 1  # one a call, which the system text names
        shown = [json.loads(block[1]) for block in blocks]
        kept = [{name: example[name] for name in ("question", "answer")} for example in EXAMPLES]
        assert shown == [*kept, {"question": "Is it?", "answer": "It is."}]
        said_then = [turn["content"] for turn in sent[first:] if turn["role"] == "assistant"]
        assert said_then == ['{"label": "good"}', "bad {answer}"]


def test_examples_of_a_job_change_the_digest_and_the_key(place: Path) -> None:
    write_lines(one=EXAMPLES[:1], two=EXAMPLES)
    for name in ("one", "two"):
        Path(name).rename(f"{name}.jsonl")
    Path("text").write_text("For example, {this} is good.")
    plain = rubric_named("crag-auto")
    rubrics = [plain, *(plain.with_examples(name) for name in ("one.jsonl", "two.jsonl", "text"))]
    data = {"question": "?", "time": "", "gold": ["a"], "answer": "b"}
    assert len({rubric.digest for rubric in rubrics}) == 4
    assert len({rubric.request(data).key("m", "") for rubric in rubrics}) == 4
    assert "For example, {this} is good." in rubrics[3].request(data).system
    assert [len(rubric.request(data).turns) for rubric in rubrics] == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "shots.jsonl:1: expected an example as one JSON object"),
        ("{}", "shots.jsonl:1: expected an example {question, …, reply}"),
        ("\n[1]", "shots.jsonl:2: expected an example {question, …, reply}"),
    ],
)
def test_examples_that_are_none_are_refused_by_line(place: Path, text: str, expected: str) -> None:
    write_answers(place)
    Path("shots.jsonl").write_text(text)
    words = ("answers", "--questions", "questions", "--judge", "openai:m", "--examples")
    assert_refused(command("judge", "crag-auto", *words, "shots.jsonl"), expected)
    assert_refused(command("judge", "crag-auto", *words, "nowhere.txt"), "nowhere.txt: cannot be read")


def test_examples_have_to_fit_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "shots.jsonl").write_text('{"answer": "x", "reply": "y"}\n')
    data = {"question": "?", "answer": "b"}
    for text in (FENCED, UNFENCED):
        shown = rubric_of(tmp_path, text).with_examples(str(tmp_path / "shots.jsonl"))
        with pytest.raises(UsageError, match="rubric mine: example 1 has no question"):
            shown.request(data)
    (tmp_path / "shots").write_text("For example.")
    with pytest.raises(UsageError, match="its prompt has no place for examples"):
        rubric_of(tmp_path, UNFENCED).with_examples(str(tmp_path / "shots"))
    named = UNFENCED.replace("Asked:", "{examples} Asked:").replace(
        "[fields]", '[fields]\nexamples = "examples"'
    )
    request = rubric_of(tmp_path, named).with_examples(str(tmp_path / "shots")).request(data)
    assert "For example. Asked: ?" in request.user


def test_what_a_source_calls_its_limit_is_what_a_call_may_cost(tmp_path: Path) -> None:
    text = UNFENCED + "[sampling]\nmax_completion_tokens = 77\n"
    request = rubric_of(tmp_path, text).request({"question": "?", "answer": "b"})
    assert (request.max_tokens, request.sampling) == (77, {"max_completion_tokens": 77})
    with pytest.raises(InputError, match="expected a whole number from 1"):
        rubric_of(tmp_path, text.replace("77", "7.5"))


def test_a_request_with_turns_and_sampling_goes_through_stores(tmp_path: Path) -> None:
    rich = Request("s", "u", {}, turns=(("a", "b"),), sampling={"top_p": 0.5, "seed": 7}, form="text")
    keys = {
        one.key("m", "")
        for one in (
            rich,
            replace(rich, turns=()),
            replace(rich, sampling={"top_p": 0.5}),
            replace(rich, form="json"),
            replace(rich, temperature=None),
            Request("s", "u", {}),
        )
    }
    assert len(keys) == 6
    with Store(tmp_path / "one") as store:
        store.put(rich.key("m", ""), rich, Reply("ok", "x"), "m", "")
        (line,) = store.export()
        with Store(tmp_path / "two") as other:
            assert other.import_([line]).added == 1
            (row,) = other.rows()
    assert row.request == rich
    assert row.is_genuine()


def test_a_plain_request_is_stored_as_it_was_by_the_first_version(tmp_path: Path) -> None:
    with Store(tmp_path / "one") as store:
        asked = Request("s", "u", {})
        store.put(asked.key("m", ""), asked, Reply("ok", "x"), "m", "")
        (line,) = store.export()
    assert not {"turns", "sampling", "form"} & set(json.loads(line)["request"])


CHANGES: dict[str, Any] = {
    "abstentions": "crag",
    "family": ["crag"],
    "whole": True,
    "unquoted": "kept",
    "unfenced": True,
    "reads": "json",
    "values": {"yes": "good"},
    "tags": ["<", ">"],
    "patterns": ["(x)"],
    "fields": {"x": "answer"},
    "examples": {"as": "prompt", "text": "x"},
    "trim": {"field": "answer", "words": 3},
    "temperature": 0.5,
    "again": 0.5,
    "sampling": {"top_p": 1},
    "tries": 1,
    "each": "gold",
    "compat": "x",
    "unreadable": "bad",
    "lenient": True,
}


def test_everything_that_a_file_may_say_is_in_the_digest() -> None:
    first = {"unit", "kind", "sees", "prompt", "follows", "departs", "labels", "ranges", "first_stage"}
    first |= {
        "evidence_from",
        "evidence_for",
        "canaries",
        "judged_as",
        "window",
        "max_tokens",
        "most",
        "kept",
    }
    assert {field.name for field in msgspec.structs.fields(RubricFile)} == first | set(CHANGES)


@pytest.mark.parametrize("name", CHANGES)
def test_each_of_them_changes_it(tmp_path: Path, name: str) -> None:
    plain = rubric_of(tmp_path, PLAIN)
    said_so = {**msgspec.to_builtins(plain.file), name: CHANGES[name]}
    changed = replace(plain, file=msgspec.convert(said_so, RubricFile))
    assert changed.digest != plain.digest
    assert content_of(changed.file) != content_of(plain.file)


@pytest.mark.parametrize(
    ("line", "number", "expected"),
    [
        ('reads = "guess"', 1, "reads = 'guess'; expected one of schema, json, score-line"),
        ('reads = "json-list"', 1, "is for labels and texts, not for label"),
        ("tries = 0", 1, "tries = 0; expected a whole number"),
        ("temperature = 3", 1, "temperature = 3.0; expected a number from 0 to 2"),
        ('each = "letter"', 1, 'each = "gold"'),
        ('unreadable = "bad"', 1, "and the compat that asks for it"),
        ('first_stage = "mine"', 1, "expected crag or crag-script"),
        ("unfenced = true", 1, "only a template can be unfenced"),
        ('tags = ["["]', 1, "expected two tags"),
        ('patterns = ["(a)"]', 1, "belong together"),
        ('reads = "pattern"\npatterns = ["(a+)+b"]', 2, "to give nothing back"),
        ('reads = "pattern"\npatterns = ["a"]', 2, "expected one group"),
        ("unquoted = true", 1, "unquoted"),
        ("colour = 1", 1, "colour"),
        ("labels = 5", 1, "labels"),
        ("x = ", 1, "expected a rubric as TOML"),
        ('[values]\nyes = "fine"', 2, "expected one of the labels good, bad"),
        ('[fields]\nx = "thing"', 2, "expected something it sees (question, answer)"),
        ('[fields]\nx = "answer:loud"', 2, "how it is written"),
        ('[trim]\nfield = "gold"\nwords = 3', 1, "expected a field that it sees"),
        ('[trim]\nfield = "answer"\nwords = 3\ntokens = 4', 1, "either words or tokens"),
        ('[trim]\nfield = "answer"\ntokens = 4', 1, "tokens need the tokenizer"),
        ('[examples]\nfile = "nowhere"', 1, "nowhere: cannot be read"),
        ('[sampling]\ntop_p = "much"', 1, "`$.sampling[...]`"),
        ("[sampling]\nstream = 1", 2, "sampling: stream: expected one of top_p"),
        ("[sampling]\nmax_tokens = 5", 2, "max_tokens is set outside [sampling]"),
    ],
)
def test_what_a_file_may_not_say_is_told_with_its_line(
    tmp_path: Path, line: str, number: int, expected: str
) -> None:
    before, table, after = PLAIN.partition("[prompt]")
    is_table = line.startswith("[")
    text = f"{PLAIN}{line}\n" if is_table else f"{before}{line}\n{table}{after}"
    if "labels = 5" in line:
        text = text.replace("labels = { good = 1, bad = 0 }\n", "")
    start = (len(PLAIN.splitlines()) if is_table else len(before.splitlines())) - ("labels = 5" in line)
    with pytest.raises(InputError) as error:
        rubric_of(tmp_path, text)
    assert expected in str(error.value)
    assert str(error.value).startswith(f"{tmp_path}/mine.toml:{start + number}: ")


def test_a_template_that_names_what_is_not_shown_is_refused_with_its_line(tmp_path: Path) -> None:
    for old, new in (("{said}", "{sed}"), ("{said}", "{said!r}"), ("{said}", "{step1}")):
        with pytest.raises(InputError, match=r"mine.toml:7: template: .*"):
            rubric_of(tmp_path, FENCED.replace(old, new, 1))


def test_departures_are_a_list_and_an_older_text_is_one_of_them(tmp_path: Path) -> None:
    one = rubric_of(tmp_path, 'departs = "asks twice"\n' + PLAIN)
    two = rubric_of(tmp_path, 'departs = ["asks twice"]\n' + PLAIN)
    assert one.file.departures == two.file.departures == ["asks twice"]
    assert one.digest == two.digest  # what is asked is the same
    assert 'departs = ["asks twice"]' in command("rubrics", str(tmp_path / "mine.toml")).out


def test_a_file_that_is_written_is_read_as_it_was(tmp_path: Path) -> None:
    odd = "a\nb ''' \\ \"c\" \u2028 \x7f\t🙂 {x}"
    for text in (odd, "two\nlines", "it's '\nso'", "", "\n", "\r\n"):
        file = rubric_of(tmp_path, PLAIN).file
        file.prompt.system, file.follows, file.values = text, text, {odd: "good", "a b": "bad"}
        (tmp_path / "copy.toml").write_text(as_toml(file, ["said"]), encoding="utf-8", newline="")
        assert rubric_named(str(tmp_path / "copy.toml")).file == file


class _Tokenizer:
    """Counts letters as tokens, in the place of a package that is not there."""

    @staticmethod
    def from_file(path: str) -> _Tokenizer:
        if "broken" in Path(path).read_text():
            raise Exception("no tokenizer")
        return _Tokenizer()

    def encode(self, text: str, add_special_tokens: bool) -> Any:
        assert not add_special_tokens
        return SimpleNamespace(ids=[*map(ord, text)])

    def decode(self, ids: list[int]) -> str:
        return "".join(map(chr, ids))


def test_an_answer_is_cut_before_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"question": "?", "answer": " one two  three four "}
    trim = '[trim]\nfield = "answer"\n'
    by_words = rubric_of(tmp_path, UNFENCED + trim + "words = 3\n")
    assert "Said: one two  three, to" in by_words.request(data).user
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    stated = f'{UNFENCED}{trim}tokens = 5\ntokenizer = "{path.name}"\nsha256 = '
    with pytest.raises(InputError, match=r"mine.toml:\d+: trim: .* has changed"):
        rubric_of(tmp_path, f'{stated}"0"\n')
    right = f'{stated}"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"\n'
    by_tokens = rubric_of(tmp_path, right)
    assert by_tokens.digest != by_words.digest
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    monkeypatch.setattr("rageval.judges.rubric.find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="pip install 'tokenizers'"):
        by_tokens.request(data)
    module = SimpleNamespace(Tokenizer=_Tokenizer)
    monkeypatch.setattr("rageval.judges.rubric.find_spec", lambda name: True)
    monkeypatch.setattr("rageval.judges.rubric.import_module", lambda name: module)
    assert "Said: one, to" in by_tokens.request(data).user


def test_a_tokenizer_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rageval.judges.rubric import Trim, trim_data

    path = tmp_path / "t.json"
    path.write_text("broken")
    module = SimpleNamespace(Tokenizer=_Tokenizer)
    monkeypatch.setattr("rageval.judges.rubric.find_spec", lambda name: True)
    monkeypatch.setattr("rageval.judges.rubric.import_module", lambda name: module)
    with pytest.raises(InputError, match=r"t\.json: cannot be read as a tokenizer"):
        trim_data(Trim("answer", tokens=3, tokenizer=str(path)), {"answer": "x"})


WITHOUT = """
from rageval.judges import Prompt, Request, Rubric, RubricFile

class Own(Rubric):
    def request(self, data, ids=(), sample=0):
        return Request("Judge.", data["answer"], {}, sample=sample)

RUBRIC = Own("own", RubricFile("answer", "label", ["answer"], Prompt(), labels={"a": 1, "b": 0}UNFENCED))
"""


def test_a_class_that_has_no_fence_has_to_say_so(tmp_path: Path) -> None:
    write_answers(tmp_path)
    path = tmp_path / "own.py"
    path.write_text(WITHOUT.replace("UNFENCED", ""))
    with pytest.raises(UsageError, match=r"rubric own: its requests have no fence .* or unfenced=True"):
        judged(tmp_path, rubric_named(str(path)), ScriptedModel([]))
    path.write_text(WITHOUT.replace("UNFENCED", ", unfenced=True"))
    reply = '{"label": "a", "evidence": "", "reason": ""}'
    (row,) = judged(tmp_path, rubric_named(str(path)), ScriptedModel([reply]))
    assert row["label"] == "a"
    assert row["judge"].endswith("+unfenced")


def test_departures_are_printed_before_anybody_is_asked(tmp_path: Path) -> None:
    write_answers(tmp_path)
    words = ("judge", "crag-auto", tmp_path / "answers", "--questions", tmp_path / "questions")
    output = command(*words, "--judge", "openai:m", "--dry-run").out
    assert (
        "crag-auto follows CRAG (Yang et al., 2024), automatic evaluation; KDD Cup 2024, with these" in output
    )
    assert "\n  asks for an evidence quote\n" in output


def test_compat_is_refused_where_no_source_has_a_rule(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rubric crag knows no such rule"):
        rubric_named("crag").counting("umbrela")


def test_whole_levels_are_whole() -> None:
    whole, floats = rubric_named("liverag"), rubric_named("liverag-floats")
    assert floats.judged_as == whole.judged_as == "liverag"
    reply = '{"reason": "", "correctness": %s, "faithfulness": 1}'
    assert [verdict.grade for verdict in whole.read(reply % "2.0")[0]] == [2.0, 1.0]
    with pytest.raises(ValueError, match=r"expected a whole number from -1 to 2, found 1\.5"):
        whole.read(reply % "1.5")
    assert [verdict.grade for verdict in floats.read(reply % "1.5")[0]] == [1.5, 1.0]
    types = {name: kind["type"] for name, kind in whole.request(LIVE).schema["properties"].items()}
    assert types == {"reason": "string", "correctness": "integer", "faithfulness": "integer"}


LIVE: dict[str, Any] = {
    "question": "?",
    "gold": ["a"],
    "gold_passages": [],
    "answer": "b",
    "passages": [],
}


def of_passage(place: Path, evidence: str) -> dict[str, Any]:
    """What becomes of a grade of a passage with this quote."""
    write_lines(passages=[{"id": "d", "text": "It is safe."}], questions=[{"query_id": "q", "question": "?"}])
    Path("run").write_text("q Q0 d 1 1 r\n")
    material = gathered([], questions="questions", passages="passages", candidates=[("q", "d")])
    reply = json.dumps({"evidence": evidence, "reason": "", "label": "relevant"})
    settings = Settings(store=str(place / f"store{len(evidence)}"), canaries=0)
    (row,) = judged_by([ScriptedModel([reply] * 3)], rubric_named("relevance"), material, settings)
    return row


def test_a_grade_of_relevance_without_a_quote_is_kept_and_marked(place: Path) -> None:
    for evidence, unquoted in (("is safe", None), ("", True), ("was never said", True)):
        row = of_passage(place, evidence)
        assert (row["status"], row["grade"], row.get("unquoted")) == ("ok", 2.0, unquoted)
        assert row["attempts"] == 1


@pytest.mark.parametrize(
    ("evidence", "status", "unquoted"),
    [("It is", "ok", None), ("", "ok", True), ("never said", "invalid", None)],
)
def test_a_criterion_needs_no_quote_but_no_false_one(
    tmp_path: Path, evidence: str, status: str, unquoted: bool | None
) -> None:
    write_answers(tmp_path)
    (tmp_path / "rubric").write_text(
        '{"qid": "q", "rubrics": [{"criterion": "Is at most ten words long.", "weight": 2},'
        ' {"criterion": "Claims what no source says.", "weight": -3}]}\n'
    )
    material = gathered(
        [str(tmp_path / "answers")],
        questions=str(tmp_path / "questions"),
        nuggets=str(tmp_path / "rubric"),
    )
    said_of = [("n1", "met", evidence), ("n2", "not", "")]
    reply = {"verdicts": [{"id": name, "evidence": quote, "label": label} for name, label, quote in said_of]}
    model = ScriptedModel([json.dumps(reply)] * 3)
    settings = Settings(store=str(tmp_path / "store"), canaries=0)
    rows = list(judged_by([model], rubric_named("criterion"), material, settings))
    assert {row["status"] for row in rows} == {status}
    if status == "ok":
        assert [row["label"] for row in rows] == ["support", "not_support"]
        assert [row.get("unquoted") for row in rows] == [unquoted, None]
        assert [row["weight"] for row in rows] == [2, -3]
        assert "Claims what no source says." in model.requests[0].user  # asked as it is written
    labels = model.requests[0].schema["properties"]["verdicts"]["items"]["properties"]["label"]["enum"]
    assert labels == ["met", "partly", "not"]


@pytest.mark.slow
def test_nuggets_are_gathered_from_passages_of_a_grade(place: Path, server: LlmServer) -> None:
    write_lines(
        passages=[{"id": f"d{number}", "text": f"Fact {number}."} for number in range(5)],
        questions=[{"query_id": "q", "question": "?"}],
    )
    Path("run").write_text("".join(f"q Q0 d{number} {number} {9 - number} r\n" for number in (3, 1, 0)))
    Path("qrels").write_text("".join(f"q 0 d{number} {number}\n" for number in range(5)))
    shown: list[list[str]] = []

    def reply(asked: Asked) -> Any:
        shown.append(json.loads(asked.body["messages"][-1]["content"].split("\n")[1])["passages"])
        return saying(asked, '{"nuggets": ["a"]}')

    server.default = reply
    words = ("judge", "nuggetize-iterative", "--passages", "passages", "--questions", "questions")
    words = (*words, "--judge", "openai:m", "--quiet", "--qrels", "qrels")
    for more in (("--run", "run"), (), ("--rel", "4"), ("--run", "run", "--rel", "1")):
        assert command(*words, *more).code == 0
    assert shown == [
        ["Fact 3."],
        ["Fact 2.", "Fact 3.", "Fact 4."],
        ["Fact 4."],
        ["Fact 1.", "Fact 3."],
    ]
    assert_refused(command(*words, "--rel", "9"), "no document is graded 9 or better (--qrels, --rel)")


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("crag", ["accurate but not complete", "minor issues that do not mislead"]),
        ("crag-auto", ["concise and correct summary"]),
        ("relevance", ["related, not relevant", "relevant, not perfectly relevant"]),
        ("liverag", ["nothing lies between them"]),
        ("nuggetize-iterative", ["1 to 12 words", "prefer\nthe one that tells more", "At most|more than 30"]),
    ],
)
def test_ours_ask_for_what_their_sources_ask_for(name: str, pieces: list[str]) -> None:
    system = rubric_named(name).file.prompt.system
    assert all(any(option in system for option in piece.split("|")) for piece in pieces)
