"""Logs that are broken, hostile or unknown: one error with a place and a way out, and nothing is run."""

from __future__ import annotations

import io
import json
import random
import struct
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rageval import logs
from rageval.cli import main
from rageval.errors import InputError, UsageError
from rageval.files.answers import read_answers
from rageval.files.opening import DEFAULT
from rageval.files.steps import read_steps
from rageval.logs.paths import literal
from rageval.scoring.answers import read_judgements
from spoilt_logs import files_of

LOGS = Path(__file__).parents[1] / "golden" / "logs"


def run(*words: object) -> Result:
    return CliRunner().invoke(main, ["import", *map(str, words)], prog_name="rageval")


def refused(path: Path, *words: object) -> str:
    result = run(path, "--dry-run", *words)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("rageval: "), result.stderr
    return result.stderr


def log_of(tmp_path: Path, content: bytes | str, name: str = "log") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def zip_of(tmp_path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return log_of(tmp_path, buffer.getvalue())


@pytest.mark.parametrize("name", ["inspect/log.eval", "autorag/nodes.parquet", "ragas/result.parquet"])
@pytest.mark.parametrize("share", [0.4, 0.9])
def test_packed_logs_that_are_cut(name: str, share: float, tmp_path: Path) -> None:
    whole = (LOGS / name).read_bytes()
    message = refused(log_of(tmp_path, whole[: int(len(whole) * share)]))
    assert "log: is " in message


def test_a_key_that_stands_twice(tmp_path: Path) -> None:
    line = '{"user_input": "a", "response": "b", "response": "c"}\n'
    assert "log:1: the key 'response' appears twice" in refused(log_of(tmp_path, line))
    run_ = {"testRunData": {"testCases": [{"input": "a", "actualOutput": "b"}]}}
    twice = json.dumps(run_, indent=1).replace('"input": "a"', '"input": "a", "input": "x"')
    message = refused(log_of(tmp_path, twice))
    assert "log: testRunData.testCases[0]: the key 'input' appears twice" in message


def test_two_tools_in_one_file(tmp_path: Path) -> None:
    ragas = (LOGS / "ragas/result.jsonl").read_text(encoding="utf-8")
    lm_eval = (LOGS / "lm-eval/samples_toy_rag.jsonl").read_text(encoding="utf-8")
    message = refused(log_of(tmp_path, ragas + lm_eval))
    assert "log:6: expected records of one tool" in message
    both = '{"user_input": "a", "response": "b", "input": "a", "actual_output": "b"}\n'
    assert "may be a log of ragas, deepeval; choose with: --tool ragas" in refused(log_of(tmp_path, both))


def test_a_cursor_that_is_not_at_its_end(tmp_path: Path) -> None:
    page = json.loads((LOGS / "langfuse/observations.json").read_text(encoding="utf-8"))
    page["meta"]["cursor"] = "next"
    message = refused(log_of(tmp_path, json.dumps(page)))
    assert "more pages follow" in message
    # Pages one a line, the last of which is the last.
    last = page | {"meta": {"cursor": None}, "data": page["data"][5:]}
    first = page | {"data": page["data"][:5]}
    whole = logs.read(str(log_of(tmp_path, f"{json.dumps(first)}\n{json.dumps(last)}\n")))
    assert len(whole.answers) == 5


class TestZip:
    @pytest.mark.slow
    def test_a_bomb(self, tmp_path: Path) -> None:
        path = zip_of(tmp_path, {"header.json": b"{}", "samples/a_epoch_1.json": b" " * 70_000_000})
        tracemalloc.start()
        message = refused(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "unpacks to more than 1" in message
        assert "--limit ratio=" in message
        assert peak < 80 * 2**20

    def test_a_size_that_lies(self, tmp_path: Path) -> None:
        path = zip_of(tmp_path, {"header.json": b'{"a": 1}'})
        content = path.read_bytes()
        central = content.index(b"PK\x01\x02")
        lying = content[: central + 24] + struct.pack("<I", 5) + content[central + 28 :]
        path.write_bytes(lying)
        assert "is damaged: its checksum is not that of its content" in refused(path)

    @pytest.mark.parametrize(
        "name", ["../../etc/cron.d/x", "/etc/passwd", "..\\x", "C:/x", "samples/../../x"]
    )
    def test_a_name_that_leads_out(self, name: str, tmp_path: Path) -> None:
        message = refused(zip_of(tmp_path, {"header.json": b"{}", name: b"{}"}))
        assert "which leads out of the zip" in message

    def test_a_zip_of_something_else(self, tmp_path: Path) -> None:
        message = refused(zip_of(tmp_path, {"letter.txt": b"Dear Sir"}))
        assert "as a log no reader knows this" in message

    def test_a_method_that_nobody_knows(self, tmp_path: Path) -> None:
        path = zip_of(tmp_path, {"header.json": b"{}"}, zipfile.ZIP_BZIP2)
        assert "is compressed with method 12; expected deflate or Zstandard" in refused(path)

    def test_without_the_package_it_says_which(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        name = "compression" if sys.version_info >= (3, 14) else "backports"
        monkeypatch.setitem(sys.modules, name, None)
        message = refused(LOGS / "inspect/log.eval")
        assert "pip install 'rageval[zst]'" in message
        assert "or log as JSON" in message

    def test_deflated_members_need_no_package(self, tmp_path: Path) -> None:
        sample = {"id": "a", "epoch": 1, "input": "Where?", "target": "", "output": {"completion": "Here."}}
        members = {"header.json": json.dumps({"eval": {"task": "t", "model": "m"}, "version": 2}).encode()}
        members["samples/a_epoch_1.json"] = json.dumps(sample).encode()
        for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
            log = logs.read(str(zip_of(tmp_path, members, method)))
            assert [answer.text for answer in log.answers] == ["Here."]


class TestLiteral:
    CODE = (
        "__import__('os').system('touch /tmp/pwned')",
        "[__import__('os')]",
        "['a' for x in [1]]",
        "['a', open('x')]",
        "[f'{1}']",
        "['a' 'b']",  # as numpy writes an array
        "['a', 'b'",
        "['a']]",
        "[,]",
        "['a' , , 'b']",
        "[" * 50,
        "{1: 'a'}",
        "{'a', 'b'}",
        "{'a': 1 'b': 2}",
        "{'a':}",
        "['a': 1]",
        "['\\N{DASH}']",
        "",
    )

    @pytest.mark.parametrize("text", CODE)
    def test_code_is_no_literal(self, text: str) -> None:
        with pytest.raises(InputError, match="here: expected"):
            literal(text, "here")

    def test_texts_are_read_as_python_reads_them(self) -> None:
        import ast

        texts: tuple[list[Any], ...] = (
            [],
            ["a", 'it\'s "b"', "tab\there", "new\nline", "back\\slash", "é 文 \u2028 \x07 \U0001f600"],
            [["a"], ["b", "c"], []],
            [1, -2.5, True, None, 1e-9],
            [{"text": "it's {a: b}", "of": [1, {"id": None}]}, {}],
        )
        for value in texts:
            assert literal(repr(value), "here") == ast.literal_eval(repr(value)) == value
        assert literal("['a',]", "here") == ["a"]


DOCUMENT = {"id": "d#0", "text": "De Dom is hoog."}
RESPONSE: dict[str, Any] = {"output": "112 m", "metadata": {"retrieved": [DOCUMENT]}}
LINE = {"vars": {"question": "Wie hoog is de Dom?"}, "response": RESPONSE}


class TestUnknown:
    def test_it_is_answered_with_its_fields(self, tmp_path: Path) -> None:
        rows = [LINE, LINE | {"response": {"output": None}}]
        path = log_of(tmp_path, json.dumps({"results": {"results": rows}}))
        message = refused(path)
        assert "log: no reader knows this. 2 records at results.results[]: vars.question text 2/2" in message
        assert '"Wie hoog is de Dom?"' in message
        assert "response.output text 1/2" in message
        assert "response.metadata.retrieved[].id text 1/2" in message
        suggested = message.partition("Say for instance ")[2].strip()
        assert suggested == (
            "--map question=vars.question,answer=response.output,contexts=response.metadata.retrieved[].text,"
            "context_ids=response.metadata.retrieved[].id"
        )
        log = logs.read(str(path), suggested.removeprefix("--map "))
        assert log.answers[0].passages == (("d#0", "De Dom is hoog."),)
        assert [answer.error for answer in log.answers] == ["", "no answer"]

    def test_a_path_that_fits_nothing(self, tmp_path: Path) -> None:
        path = log_of(tmp_path, json.dumps(LINE))
        message = refused(path, "--map", "question=vars.frage,answer=response.output")
        assert "--map question=vars.frage: fits none of 1 records; there are vars.question" in message

    def test_records_that_are_not_there(self, tmp_path: Path) -> None:
        path = log_of(tmp_path, json.dumps({"rows": [LINE]}))
        message = refused(path, "--map", "question=vars.question", "--records", "lines[]")
        assert "--records lines: there is no list of records" in message

    @pytest.mark.parametrize(
        ("mapping", "message"),
        [
            ("question", "there is no policy; expected FIELD=PATH"),
            ("frage=a", "--map 'frage': no such field"),
            ("qustion=a", "did you mean question"),
            ("question=a..b", "expected a path"),
            ("question=a[", "expected a path"),
            ("question=a[-]", "expected a path"),
            ("question=a|jq", "expected after the bar one of json, literal, split"),
            ("question=a|split", "expected after the bar one of"),
            ("question=", "expected a path"),
            ("question=a,question=b", "is given twice"),
            ("question=vars", "expected a text for question, found an object"),
            ("fact:=a", "no such field"),
        ],
    )
    def test_mappings_that_are_none(
        self, mapping: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert message in refused(log_of(tmp_path, json.dumps(LINE)), "--map", mapping)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf  \n", "is empty"),
        (b"[]", "holds no record"),
        (b"{}", "no reader knows this"),
        (b"[1, 2]", "expected an object as a record, found 1"),
        (b"[" * 200_000, "log:1: "),
        (b'{"user_input": ' * 50_000, "log:1: "),
        (b'{"user_input": "\\ud800", "response": "x"}', "log:1: "),
        (b"\xff\xfe\x00a", "is neither JSON nor text in UTF-8"),
        (b"a,b\n1\n", "log:2: expected 2 cells, found 1"),
        (b"a,a\n1,2\n", "a column appears twice"),
        (b'user_input,response\n"a,b\n', "log:"),
        (
            b'{"user_input": [{"content": "hi"}], "response": "x"}',
            "a question in user_input, found none",
        ),
        (b'{"user_input": 1e999, "response": "x"}', "log:1: "),
        (b'{"testCases": [{"actualOutput": "x"}]}', "expected an input, or turns of a conversation, found"),
        (b'{"user_input": [1]}', "a question in user_input, found none"),
        (
            b"user_input\n\"[{'content': 'hi', 'type': 'ai'}]\"\n",
            "a question in user_input, found none",
        ),
        (b"q,x,Status,Score,Named Scores\na,b,PASS,1.0,[1]\n", "expected an object of scores, found [1]"),
        (b"Status,q,Score,x,Named Scores\nPASS,a,1,b,{}\n", "expected Status, Score, Named Scores behind"),
        (b'{"columns": ["a", "b"], "data": [[1]]}', "expected 2 cells, found [1]"),
        (b'{"columns": [1], "data": []}', "expected column names, found [1]"),
    ],
)
def test_odd_content(content: bytes, message: str, tmp_path: Path) -> None:
    assert message in refused(log_of(tmp_path, content))


def test_a_conversation_of_deepeval_has_a_turn(tmp_path: Path) -> None:
    log = json.loads((LOGS / "deepeval/latest_test_run.json").read_text(encoding="utf-8"))
    log["testRunData"]["conversationalTestCases"] = [{"turns": []}]
    message = refused(log_of(tmp_path, json.dumps(log)))
    assert (
        "conversationalTestCases[0]: expected an input, or turns of a conversation, found neither" in message
    )


def test_several_retrievals_in_a_trace_need_a_word(tmp_path: Path) -> None:
    lines = (LOGS / "otel/spans.jsonl").read_text(encoding="utf-8").splitlines()
    second = json.loads(lines[0])
    second["start_time"] = "2027-11-21T22:24:59.566755Z"
    document = json.dumps([{"id": "late.md", "score": 0.1}])
    second["attributes"]["gen_ai.retrieval.documents"] = document
    path = log_of(tmp_path, "\n".join([*lines, json.dumps(second)]))
    assert (
        "2 retrievals in one trace; expected one; choose the ranking when you import the log: --hop first"
        in refused(path)
    )
    first = ["returns.md#0", "returns.md#1"]
    for hop, docs in (("first", first), ("last", ["late.md"]), ("union", [*first, "late.md"])):
        ranking = logs.read(str(path), hop=hop).run["toy-rag-a"]
        assert [doc.doc_id for doc in ranking if doc.query_id == "a1"] == docs


def test_a_value_beyond_the_limit_says_which(tmp_path: Path) -> None:
    path = log_of(tmp_path, json.dumps({"results": {"version": 3, "results": []}, "x": "y" * 5000}, indent=1))
    assert "--limit record=" in refused(path, "--limit", "record=1k")
    with pytest.raises(InputError, match="holds no answers"):
        logs.read(str(path), limits=DEFAULT)


@pytest.mark.slow
def test_memory_is_at_most_three_times_the_file(tmp_path: Path) -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 40
    rows = [
        {
            "promptIdx": 0,
            "testIdx": number,
            "vars": {"question": f"Question {number}?"},
            "provider": {"id": "p"},
            "gradingResult": {"pass": True, "score": 1},
            "response": {
                "output": f"{number} {text}",
                "metadata": {"docs": [{"id": str(number), "text": f"{number} {text}"}]},
            },
            "score": 1,
            "failureReason": 0,
        }
        for number in range(600)
    ]
    path = log_of(tmp_path, json.dumps({"results": {"version": 3, "results": rows}}, indent=1))
    del rows
    mapping = "contexts=response.metadata.docs[].text,context_ids=response.metadata.docs[].id"
    tracemalloc.start()
    log = logs.read(str(path), mapping)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(log.answers) == 600
    assert peak <= 3 * path.stat().st_size, peak / path.stat().st_size


ODD: list[Any] = [
    None,
    True,
    -1,
    1e308,
    10**30,
    "",
    "  ",
    "[",
    '{"a": 1}',
    [],
    {},
    [[]],
    {"": None},
    "b" * 2000,
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in inner:
        yield (*path, name)
        yield from places(member, (*path, name))


@pytest.mark.slow
@pytest.mark.some(2)
@pytest.mark.parametrize("seed", range(2))
def test_odd_values_anywhere_are_told_or_read_and_what_is_read_is_fine(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for path in sorted(LOGS.rglob("*.json*")):
        text = path.read_text(encoding="utf-8")
        values = [json.loads(text)] if path.suffix == ".json" else list(map(json.loads, text.splitlines()))
        for _ in range(3):
            value = rng.choice(values)
            *way, last = rng.choice([place for place in places(value) if "events" not in place])
            for name in way:
                value = value[name]
            value[last] = rng.choice(ODD)
            try:
                log = logs.read(str(log_of(tmp_path, "\n".join(map(json.dumps, values)))), hop="union")
            except (InputError, UsageError):
                break
            files = files_of(log)
            for name, lines in files.items():
                log_of(tmp_path, "\n".join(lines), name)
            if "answers.jsonl" in files:
                assert list(read_answers(str(tmp_path / "answers.jsonl")))
            if "judged.jsonl" in files:
                assert read_judgements([str(tmp_path / "judged.jsonl")])
            if "steps.jsonl" in files:
                assert read_steps(str(tmp_path / "steps.jsonl"))


def test_a_plug_in_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from rageval.logs import readers

    monkeypatch.setattr(readers, "plugin", lambda group, name: object())
    with pytest.raises(UsageError, match="is a object, expected a rageval"):
        logs.read(str(LOGS / "ragas/result.jsonl"), tool="mine")
