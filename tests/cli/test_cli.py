"""The command line: whole outputs against files, options, gates, exit codes."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rageval.cli import main

ROOT = Path(__file__).parents[2]
DATA = "examples/data"
FILES = [f"{DATA}/run.trec", f"{DATA}/baseline.trec", f"{DATA}/qrels.nugget"]
ONE = [FILES[0], FILES[2]]


def run(*words: str, stdin: bytes | None = None) -> Result:
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        return CliRunner().invoke(main, list(words), input=stdin, env={"COLUMNS": "100"}, prog_name="rageval")
    finally:
        os.chdir(before)


def test_help_names_every_option_people_know() -> None:
    result = run("score", "--help-all")
    options = "-m -q -n -l -M -J -p -j --rel --depth --judged-only --places --ties --intersection --zero-rel"
    options += " --dedup --group-by --provider --compat --fail-under --jobs --comments --limit --format"
    assert set(options.split()) <= set(re.findall(r"--?[a-z-]+|-[A-Z]", result.stdout))


def value(*words: str) -> float:
    result = run(*words, "--format", "json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)["results"][0]["value"]


@pytest.mark.parametrize("which", [0, 1])
def test_standard_input_is_what_is_missing(which: int, tmp_path: Path) -> None:
    words = [*ONE]
    stdin = (ROOT / words[which]).read_bytes()
    words[which] = "-"
    assert (
        value(*ONE, "-m", "ap")
        == json.loads(run(*words, "-m", "ap", "--format", "json", stdin=stdin).stdout)["results"][0]["value"]
    )


@pytest.mark.slow
def test_a_pipe_given_as_a_file(tmp_path: Path) -> None:
    command = f"{sys.executable} -m rageval <(cat {FILES[0]}) <(gzip -c {FILES[2]}) -m alpha_ndcg@10"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert result.stdout.endswith("0.5283\n"), result.stderr


def test_jobs_change_nothing() -> None:
    words = [*FILES, "-m", "alpha_ndcg@10,Rprec", "-q"]
    assert run(*words).stdout == run(*words, "-j", "2").stdout


@pytest.mark.parametrize("provider", ["pytrec_eval", "pyndeval"])
def test_a_provider_of_ir_measures_agrees(provider: str) -> None:
    pytest.importorskip(provider)
    measure = "ndcg@10" if provider == "pytrec_eval" else "alpha_ndcg@10"
    assert value(*ONE, "-m", measure, "--provider", provider) == pytest.approx(
        value(*ONE, "-m", measure), abs=1e-9
    )
    assert run(*ONE, "-m", measure, "--provider", "nobody").exit_code == 2


def test_a_measure_of_nuggets_on_judgements_without_any_is_refused(tmp_path: Path) -> None:
    retrieved = Path(ROOT / FILES[0]).read_text().split()[2]
    (tmp_path / "plain").write_text(f"7640 0 {retrieved} 1\n")
    result = run(FILES[0], str(tmp_path / "plain"), "-m", "alpha_ndcg@10")
    assert result.exit_code == 2
    assert "names none" in result.stderr
    plain = run(FILES[0], str(tmp_path / "plain"), "-m", "alpha_ndcg@10", "--nuggets-in-qrels", "no")
    assert "11 queries of the run are not judged" in plain.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["measures", "covrage"], "did you mean coverage"),
        ([*ONE], "no measure named"),
        ([*ONE, "-m", "alpha_ndcg(alhpa=1)@5"], "did you mean alpha"),
        ([*ONE, "-m", "alpha_ndcg(alpha=2)@5"], "expected a number from 0 to 1"),
        ([*ONE, "-m", "alpha_ndcg(ideal=exat)@5"], "did you mean exact"),
        ([*ONE, "-m", "coverage(denominator=listd)"], "did you mean listed"),
        ([*ONE, "-m", "alpha_ndcg(alpha=0.5"], "parenthesis is not closed"),
        ([*ONE, "-m", "official:freshstck"], "did you mean freshstack"),
        ([*ONE, "-m", "ndcg@0"], "whole number from 1"),
        ([*ONE, "-m", "Rprec@0"], "unknown measure"),
        ([*ONE, "-m", "P(rel=1)@-1"], "whole number from 1"),
        ([*ONE, "-m", "recall@5.5"], "whole number from 1"),
        ([*ONE, "-m", "err_ia@2000000000"], "cut-off of at most"),
        ([*ONE, "nosuchfile.run"], "no such file"),
        ([*ONE, "-m", "rr", "--limit", "lines=3"], "expected NAME=NUMBER"),
        ([*ONE, "-m", "rr", "--compat", "ndeval", "--ties", "input"], "brings its own rule"),
        ([*ONE, "-m", "Rprec", "--ties", "expected"], "choose another rule for ties"),
        ([FILES[0], FILES[1], "-m", "rr"], "expected one or more runs"),
        ([FILES[2], FILES[2], "-m", "rr"], "expected one or more runs"),
        ([FILES[2], "-m", "rr"], "expected one or more runs"),
    ],
)
def test_mistakes_are_explained(words: list[str], message: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_an_interruption_has_its_own_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> Callable[..., object]:
        raise KeyboardInterrupt

    monkeypatch.setattr("rageval.cli.score.subject_of", interrupted)
    assert run(*ONE, "-m", "rr").exit_code == 130


@pytest.mark.slow
def test_a_reader_that_stops_early_is_no_error() -> None:
    command = f"{sys.executable} -m rageval {' '.join(ONE)} -m official:ndeval -q | head -1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert "Traceback" not in result.stderr
    assert result.stdout.count("\n") == 1


@pytest.mark.slow
def test_an_ir_datasets_id_as_judgements(monkeypatch: pytest.MonkeyPatch) -> None:
    ir_datasets = pytest.importorskip("ir_datasets")
    from ir_datasets.formats import BaseQrels, TrecSubQrel

    class Diversity(BaseQrels):
        def qrels_cls(self) -> type:
            return TrecSubQrel

        def qrels_iter(self) -> list[TrecSubQrel]:
            return [TrecSubQrel("7640", "a", 1, subtopic) for subtopic in "12"]

    datasets = {"some/diversity": ir_datasets.Dataset(Diversity())}
    monkeypatch.setattr(ir_datasets, "load", lambda name: datasets[name])
    result = run(FILES[0], "some/diversity", "-m", "coverage", "--nothing-judged", "zero")
    assert (result.exit_code, result.stdout.split()[-1]) == (0, "0.0000")
    assert "ir_datasets knows no such id" in run(FILES[0], "no/such", "-m", "coverage").stderr


@pytest.mark.slow
def test_the_command_looks_for_garbage_rarely_and_the_library_leaves_that_to_its_user() -> None:
    usual = "import gc, rageval.cli, rageval.scoring.evaluation\nprint(gc.get_threshold()[0])"
    code = "import gc, sys\nat_first = gc.get_freeze_count()\n"  # Python 3.12 has frozen a few itself
    code += "from rageval.__main__ import main\nsys.argv[1:] = ['--version']\n"
    code += "try: main()\nexcept SystemExit: print(gc.get_threshold()[0], gc.get_freeze_count() - at_first)"
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.split()
        for program in (usual, code)
    ]
    assert outputs[0] == [str(gc.get_threshold()[0])]
    assert outputs[1][-2:] == ["100000", "0"]  # frozen only when the process ends


def test_a_plug_in_under_a_name_of_ours_is_listed_as_one_that_nobody_can_ask_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from importlib.metadata import EntryPoint, EntryPoints

    named = [EntryPoint(name, "nowhere:x", "rageval.measures") for name in ("ndcg", "accuracy", "mine")]
    monkeypatch.setattr("rageval.plugins._entries", lambda group: EntryPoints(named))
    listed = CliRunner().invoke(main, ["measures"]).stdout
    descriptions = dict(re.findall(r"^(\w+) +(\(plug-in.*)$", listed, re.MULTILINE))
    assert descriptions.pop("mine") == "(plug-in)"
    assert set(descriptions.items()) == {
        (name, "(plug-in; unavailable, because rageval has this name)") for name in ("ndcg", "accuracy")
    }
