"""What a gate writes: Markdown that is inert whatever ids say, a test report, JSON; the same as they were."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from declared import require_golden
from rageval.cli import main
from rageval.comparison.gate import BLOCK, Decision, Fallen, GateReport
from rageval.core.remark import Remark
from rageval.views.gates import markdown, markdown_of_error
from snippets import ROOT

GOLDEN = ROOT / "tests" / "golden" / "gate"
FOLDER = "examples/data/gate"
HOSTILE = (
    *("<script>alert(1)</script>", "@all", "a|b|c"),
    *("`x` @org/team #12 https://evil.example/x www.evil.example", "[text](https://evil.example)"),
    *("![](https://evil.example/pixel.png)", "a@evil.example", "\x1b[31m\u202e\n# heading"),
    *("&lt;b&gt; \\| \\", "\ufffe\x00]]>"),
)


def report(names: list[str], blocking: int = 1) -> GateReport:
    numbers = {"baseline": 0.5, "candidate": 0.4, "difference": -0.1, "low": -0.2, "high": -0.05}
    plain = {"p": 0.001, "adjusted": 0.01, "margin": 0.03, "verdict": BLOCK}
    reasons = {name: (Remark("labels_of_other_measure", facts={"decides": name}),) for name in names}
    decisions = [
        Decision(name, name, name, 20, **numbers, **plain, reasons=reasons[name])  # type: ignore[arg-type]
        for name in names * blocking
    ]
    fell = [Fallen(name, name, 0.5, 0.4, question=name) for name in names]
    measure = Decision("recall@5", "", "", 20, **numbers, **plain)  # type: ignore[arg-type]
    return GateReport(
        BLOCK,
        [measure, *decisions],
        fell,
        {"compared": 20},
        names,
        names,
        names[0],
        names[0],
        "gate|x:1",
        {n: n for n in names},
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_what_others_wrote_is_inert_in_markdown(name: str) -> None:
    parser = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"html": True, "linkify": False})
    for text in (markdown(report([name])), markdown_of_error(name)):
        html = parser.render(text)
        tags = set(re.findall(r"<(\w+)", html))
        assert tags <= {"h3", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "code"}, tags
        bare = re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL)
        assert not re.search(r"[@#](?=\w)", bare)
        outside = re.sub(r"`[^`\n]*`", "", text)
        assert not re.search(r"(?<!\\):(?=//)|(?<=[wW])(?<!\\)\.|(?<!\\)\](?=[(\[:])", outside)
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", text)
    rows = [
        re.split(r"(?<!\\)\|", line)
        for line in markdown(report([name])).splitlines()
        if line.startswith("| ")
    ]
    assert {len(row) for row in rows} == {9, 6}


def test_markdown_fits_where_it_is_put() -> None:
    text = markdown(report(["s" * 300], 2000))
    assert len(text) <= 60_000
    assert re.search(r"… [\d,]+ more lines", text)
    assert len(markdown_of_error("\n".join(["x" * 3000] * 100))) <= 60_000


def test_outputs_are_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    words = ["gate", f"{FOLDER}/worse.run", f"{FOLDER}/qrels.nugget", "-m", "alpha_ndcg@5,recall@5"]
    words += ["--by", "domain", "--questions", f"{FOLDER}/questions.jsonl", "--margin", "0.03"]
    words += ["--baseline", f"{FOLDER}/baseline.jsonl"]
    files = {"--md": "report.md", "--junit": "report.xml", "--json": "report.json"}
    for option, name in files.items():
        words += [option, str(tmp_path / name)]
    assert CliRunner().invoke(main, words).exit_code == 1
    for name in files.values():
        if os.environ.get("REWRITE_GOLDEN"):
            (GOLDEN / name).write_text((tmp_path / name).read_text(encoding="utf-8"), encoding="utf-8")
        require_golden((tmp_path / name).read_text(encoding="utf-8"), GOLDEN / name)
    assert json.loads((tmp_path / "report.json").read_text())["verdict"] == "block"
