"""Every option changes something, is refused, or only prints: all commands, by the tree of the command line.

Each option stands in a table. Either it is tried: it is added to a command line, and the output, a file or
the exit code is then another. Or it takes more than a line to show (a model that is asked, a folder, a
server), and is listed. An option that is in no table fails here.
"""

from __future__ import annotations

import os
import random
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from commands import write_jsonl
from every_command import leaves
from rageval.cli import main
from rageval.cli._acting import _NEEDS

QUERIES = [f"q{number}" for number in range(24)]
LABELS = ("perfect", "acceptable", "missing", "incorrect")


@pytest.fixture(scope="module", autouse=True)
def _files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs, judged answers of two systems, what people said, questions, nuggets; and a place to write."""
    before, folder = os.getcwd(), tmp_path_factory.mktemp("options")
    os.chdir(folder)
    os.environ["RAGEVAL_STORE"] = str(folder / "store.sqlite")
    rng = random.Random(1)
    graded = (f"q{number} n{d % 3} d{d} {2 if d == 0 else d % 2}\n" for number in range(23) for d in range(6))
    Path("qrels").write_text("".join(graded) + "q23 n0 d0 0\n")
    Path("dup.run").write_text("")
    for name in "abc":
        lines = []
        for number, query in enumerate(QUERIES):
            docs = [f"d{d}" for d in range(9)]
            rng.shuffle(docs)
            if name == "b" and number == 3:
                continue
            lines += [f"{query} Q0 {d} {k + 1} {(9 - k) // 2} {name}tag\n" for k, d in enumerate(docs)]
        Path(f"{name}.run").write_text("".join(lines))
    Path("dup.run").write_text(Path("a.run").read_text() + "q0 Q0 d0 10 0 x\n")
    Path("hash.run").write_text("# a remark\n" + Path("a.run").read_text())
    Path("none.run").write_text("".join(f"{query} Q0 x{query} 1 1 x\n" for query in QUERIES))
    write_jsonl(
        "questions",
        [
            {"query_id": query, "question": "What?", "answer": f"fact {number}", "domain": "xy"[number % 2]}
            for number, query in enumerate(QUERIES)
        ],
    )
    write_jsonl(
        "answers",
        [
            {"query_id": query, "run_id": run, "question": "What?", "answer": text}
            for number, query in enumerate(QUERIES)
            for run, text in (
                ("A", f"fact {number}. It is."),
                ("B", "I don't know." if number % 2 else f"fact {number}"),
            )
        ],
    )
    for name, right in (("one", 6), ("two", 20)):
        cells = (f"{q},What?,{'' if n < right else 'not '}a fact,a fact\n" for n, q in enumerate(QUERIES))
        Path(f"{name}.csv").write_text("id,question,answer,gold\n" + "".join(cells))
    judged: list[dict[str, object]] = []
    for number, query in enumerate(QUERIES):
        for run in "AB":
            verdict = (
                {"label": LABELS[rng.randrange(4)]} if (number, run) != (5, "A") else {"status": "invalid"}
            )
            row = {"query_id": query, "run_id": run, "aspect": "crag", "judge": "m:x@1", "rubric": "crag"}
            judged.append(row | verdict)
    write_jsonl("judged", judged)
    write_jsonl("whole", [row for row in judged if row["run_id"] == "B"])
    fine = [row if "label" in row else {**row, "status": "ok", "label": "missing"} for row in judged]
    write_jsonl("fine", fine)
    people = [{**row, "judge": "person:ann", "label": LABELS[rng.randrange(4)]} for row in fine]
    write_jsonl("people", people)  # type: ignore[arg-type]
    Path("peoples").write_text("".join(f"{q} 0 d{d} {rng.randrange(2)}\n" for q in QUERIES for d in range(6)))
    human = {"judge": "person:bo", "rubric": "crag", "label": "perfect"}
    write_jsonl("right", [{"query_id": query, "run_id": "A", **human} for query in QUERIES])
    nuggets = [
        {"query": "What?", "qid": q, "nuggets": [{"text": f"fact {number}", "importance": "vital"}]}
        for number, q in enumerate(QUERIES)
    ]
    write_jsonl("nuggets", nuggets)  # type: ignore[arg-type]
    Path("intents").write_text("".join(f"{q} n{n} {n + 1}\n" for q in QUERIES for n in range(3)))
    Path("clusters").write_text("".join(f"{q} k{number // 2}\n" for number, q in enumerate(QUERIES)))
    Path("weights").write_text("x 0.9\ny 0.1\n")
    write_jsonl("passages", [{"id": f"d{d}", "text": f"fact {d}"} for d in range(9)])
    done("gate a.run qrels -m recall@5 --save-baseline runs.base")
    done("gate whole -m crag_score --save-baseline answers.base")
    yield
    os.chdir(before)


OUTPUTS = ("out", "out.svg", "out.parquet", "out.md")


def done(words: str) -> tuple[object, ...]:
    """Everything that a command line comes to."""
    for name in OUTPUTS:
        Path(name).unlink(missing_ok=True)
    result = CliRunner().invoke(main, shlex.split(words), prog_name="rageval")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    files = {name: Path(name).read_bytes() for name in OUTPUTS if Path(name).exists()}
    return result.exit_code, result.stdout, result.stderr, files


RUNS = "score a.run b.run qrels -m recall@5"
ANSWERS = "score judged -m crag_score --on-missing skip"
PAIR = "compare a.run b.run c.run qrels -m recall@5 --draws 100 --resamples 100"
TWO = "compare fine -m crag_score --draws 100 --resamples 100"
GATE = "gate c.run qrels -m recall@5 --baseline runs.base --margin .02"
JUDGE = "judge crag-auto answers --questions questions --judge contains"
SHORT = "judge crag-auto answers --questions questions --judge short"
# A command line, and what is added to it.
TRIED: dict[str, dict[str, tuple[str, str]]] = {
    "score": {
        "--measure": (RUNS, "-m p@3"),
        "--by-query": (RUNS, "-q"),
        "--no-summary": (RUNS + " -q", "-n"),
        "--format": (RUNS, "--format json"),
        "--sort": ("score b.run a.run qrels -m recall@5", "--sort run"),
        "--names": (RUNS, "--names tag"),
        "--caption": (RUNS + " --format latex", "--caption Mine"),
        "--label": (RUNS + " --format latex", "--label tab:mine"),
        "--places": (RUNS, "--places 2"),
        "--rel": (RUNS, "--rel 2"),
        "--depth": (RUNS, "--depth 2"),
        "--judged-only": (RUNS, "--judged-only"),
        "--ties": (RUNS, "--ties rank"),
        "--bounds": (RUNS, "--bounds"),
        "--intersection": (RUNS, "--intersection"),
        "--complete": (RUNS + " --compat trec_eval", "--complete"),
        "--nothing-judged": ("score none.run qrels -m recall@5", "--nothing-judged zero"),
        "--zero-rel": (RUNS, "--zero-rel skip"),
        "--nuggets-in-qrels": ("score a.run qrels -m alpha_ndcg@5", "--nuggets-in-qrels no"),
        "--dedup": ("score dup.run qrels -m recall@5", "--dedup first"),
        "--group-by": (RUNS + " --questions questions --format json", "--group-by domain"),
        "--provider": (RUNS, "--provider nobody"),
        "--compat": (RUNS, "--compat trec_eval"),
        "--intent-weights": ("score a.run qrels -m alpha_ndcg@5", "--intent-weights intents"),
        "--on-missing": ("score judged -m crag_score", "--on-missing worst"),
        "--by": (RUNS + " --questions questions --group-by domain", "--by domain"),
        "--gold": (ANSWERS + " --questions questions --by domain", "--gold people"),
        "--questions": (RUNS + " --by domain", "--questions questions"),
        "--weights": (ANSWERS + " --questions questions --group-by domain", "--weights weights"),
        "--require": (RUNS, "--require 'recall@5>0.99'"),
        "--fail-under": (RUNS, "--fail-under recall@5=.99"),
        "--output": (RUNS, "-o out"),
        "--values": (RUNS, "--values out.parquet"),
        "--comments": ("score hash.run qrels -m recall@5", "--comments skip"),
        "--limit": (RUNS, "--limit line=4"),
    },
    "compare": {
        "--baseline": (PAIR, "--baseline c.run"),
        "--output": (PAIR, "-o out"),
        "--all-pairs": (PAIR, "--all-pairs"),
        "--against": (PAIR, "--against hole@3"),
        "--by": (PAIR + " --questions questions", "--by domain"),
        "--by-query": (PAIR, "-q"),
        "--test": (TWO.replace(" --draws 100", ""), "--test t"),
        "--adjust": (PAIR, "--adjust holm"),
        "--level": (PAIR, "--level .9"),
        "--power": (PAIR + " --details", "--power .9"),
        "--details": (PAIR, "--details"),
        "--judge": ("compare one.csv two.csv", "--judge contains"),
        "--rubric": ("compare one.csv two.csv", "--rubric crag-auto"),
        "--cluster": (PAIR, "--cluster clusters"),
        "--draws": ("compare fine -m crag_score --resamples 100 --format json", "--draws 100"),
        "--resamples": (
            "compare a.run b.run c.run qrels -m recall@5 --draws 100 --format json",
            "--resamples 100",
        ),
        "--seed": (PAIR, "--seed 3"),
        "--show": (PAIR + " --format latex", "--show p"),
        "--format": (PAIR, "--format json"),
        "--gold": (TWO, "--gold people"),
        "--population": (TWO + " --gold people --gold-chosen uniform", "--population set"),
        "--on-missing": ("compare judged -m crag_score --draws 100 --resamples 100", "--on-missing skip"),
        "--questions": (TWO + " --cluster domain", "--questions questions"),
    },
    "gate": {
        "--measure": (GATE, "-m p@3"),
        "--questions": (GATE + " --by domain", "--questions questions"),
        "--baseline": (GATE, "--baseline nowhere"),
        "--save-baseline": ("gate a.run qrels -m recall@5", "--save-baseline out"),
        "--margin": (GATE, "--margin .5"),
        "--slice-margin": (GATE + " --by domain --questions questions", "--slice-margin .9"),
        "--block": (GATE, "--block beyond-margin"),
        "--judge-changed": (
            "gate people -m crag_score --baseline answers.base --margin .1 --system B",
            "--judge-changed allow",
        ),
        "--inconclusive": (GATE, "--inconclusive pass"),
        "--first-run": (GATE.replace("runs.base", "no.base"), "--first-run pass"),
        "--system": ("gate fine -m crag_score --baseline answers.base --margin .1", "--system B"),
        "--level": (GATE, "--level .8"),
        "--cluster": (GATE, "--cluster clusters"),
        "--resamples": (GATE, "--resamples 100"),
        "--seed": (GATE, "--seed 3"),
        "--judge": ("gate whole -m crag_score --baseline answers.base --margin .1", "--judge other:m"),
        "--aa": ("gate whole -m crag_score --baseline answers.base --margin .1", "--aa 3"),
        "--md": (GATE, "--md out.md"),
        "--junit": (GATE, "--junit out"),
        "--anchor": (GATE, "--anchor runs.base"),
        "--anchor-margin": (GATE + " --anchor runs.base", "--anchor-margin .4"),
        "--json": (GATE, "--json out"),
        "--show-policy": (GATE, "--show-policy"),
        "--policy": (GATE, "--policy nowhere.toml"),
        "--by": (GATE + " --questions questions --cluster domain", "--by domain"),
        "--fail-under": (GATE, "--fail-under recall@5=.99"),
    },
    "judge": {
        "--rubric": ("judge answers --questions questions --judge contains", "--rubric crag-auto"),
        "--judge": (JUDGE, "--judge exact"),
        "--output": (JUDGE, "-o out"),
        "--questions": ("judge crag-auto answers --judge contains", "--questions questions"),
        "--nuggets": ("judge nugget-assignment answers --judge lexical", "--nuggets nuggets"),
        "--tiebreak": (JUDGE + " --judge exact --vote majority", "--tiebreak number"),
        "--disagreements": (JUDGE + " --judge exact", "--disagreements out"),
        "--vote": (JUDGE + " --judge exact", "--vote majority"),
        "--then": (SHORT + " --keep-error .4 --gold people", "--then exact"),
        "--ask": (SHORT + " --then exact --ask .3", "--ask .7"),
        "--keep-error": (SHORT + " --keep-error .45 --gold people", "--keep-error .4"),
        "--gold": (SHORT + " --keep-error .4", "--gold right"),
        "--measure": (JUDGE + " -o out", "-m crag_score"),
        "--dry-run": (JUDGE, "--dry-run"),
        "--against": (JUDGE, "--against crag"),
        "--battles": ("judge pairwise answers --judge openai:m --dry-run", "--battles 3"),
    },
    "label correct": {
        "--measure": ("label correct fine --gold people", "-m crag_score"),
        "--gold": ("label correct fine -m crag_score", "--gold people"),
        "--level": ("label correct fine -m crag_score --gold people", "--level .8"),
        "--population": ("label correct fine -m crag_score --gold people", "--population set"),
        "--places": ("label correct fine -m crag_score --gold people", "--places 2"),
        "--output": ("label correct fine --gold people -m crag_score", "-o out"),
        "--format": ("label correct fine -m crag_score --gold people", "--format json"),
        "--on-missing": ("label correct judged -m crag_score --gold people", "--on-missing skip"),
    },
    "label agree": {
        "--format": ("label agree fine people -m crag_score", "--format json"),
        "--parting": ("label agree fine people -m crag_score", "--parting 3"),
        "--max-bias": ("label agree fine people -m crag_score", "--max-bias .1"),
        "--measure": ("label agree fine people", "-m crag_score"),
        "--output": ("label agree fine people", "-o out"),
    },
    "collection fuse": {
        "--method": ("collection fuse a.run b.run", "--method combsum"),
        "--fuse-depth": ("collection fuse a.run b.run", "--fuse-depth 2"),
        "--output": ("collection fuse a.run b.run", "-o out"),
    },
}
# What only prints, or makes work faster, where there is nothing for it to do.
IGNORED = {
    "--caption x": RUNS,
    "--label x": f"{RUNS} --format csv",
    "--size 3x3": RUNS,
    "--questions questions": RUNS,
    "--places 2": f"{RUNS} --format json",
    "--no-summary": f"{RUNS} --format jsonl",
    "-q": f"{RUNS} --by domain --questions questions",
    "--jobs 2": ANSWERS,
    "--show p": PAIR,
    "--poll-every 3": JUDGE,
    "--refresh": JUDGE,
    "--max-cost 1": GATE,
}
# What an option that cannot do what it says tells that it needs.
REFUSED = {
    f"{RUNS} --gold-chosen uniform": "--gold",
    f"{RUNS} --population set": "--gold",
    f"{ANSWERS} --ties rank": "runs",
    f"{ANSWERS} --judged-only": "runs",
    f"{PAIR} --test t --adjust holm": "--draws",
    f"{GATE} --slice-margin .1": "--by",
    f"{GATE} --anchor-margin .1": "--anchor",
    f"{GATE} --judge m:x": "do not name their judge",
    f"{GATE} --rubric x": "--aa",
    **{
        f"gate a.run qrels -m recall@5 --save-baseline out --{name}": "--save-baseline"
        for name in (
            *("margin .1", "block worse", "judge-changed allow", "inconclusive pass", "first-run pass"),
            *("aa 3", "fail-under recall@5=.5", "baseline runs.base", "anchor runs.base"),
        )
    },
    **{f"{JUDGE} --{name}": "model" for name in ("shard 1/2", "canaries 3")},
    f"{JUDGE} --depth 3": "--run",
    f"{JUDGE} --rel 1": "--qrels",
    f"{JUDGE} --on-missing skip": "-m",
    f"{JUDGE} --tiebreak exact": "--judge",
    f"{JUDGE} --disagreements out": "--judge",
}
# Options of which a line shows nothing, by what they are: held by the tests that are named.
ASKING = {  # tests/judges: needs a model that is asked
    *(
        "--store",
        "--concurrency",
        "--max-cost",
        "--max-calls",
        "--batch",
        "--poll-every",
        "--price",
        "--rebuy",
    ),
    *("--timeout", "--patience", "--refresh", "--retry", "--quiet", "-q", "--vote", "--shard"),
    *("--fit", "--canaries", "--claims", "--passages", "--run", "--depth", "--qrels", "--rel", "--examples"),
    *("--compat", "--permutations", "--balanced", "--seed", "--on-missing", "--abstentions"),
    *("--requests-out", "--replies-in", "--made-by", "--again", "--engine", "--engine-class"),
}
SPANS = {"--chunks", "--sources", "--overlap", "--stale"}  # tests/spans
OF_SCORE = {  # held of `score`, whose parameters these are
    *(
        "--measure",
        "--sort",
        "--names",
        "--caption",
        "--label",
        "--places",
        "--rel",
        "--depth",
        "--judged-only",
    ),
    *("--ties", "--bounds", "--intersection", "--complete", "--nothing-judged", "--zero-rel", "--dedup"),
    *(
        "--nuggets-in-qrels",
        "--provider",
        "--compat",
        "--nuggets",
        "--intent-weights",
        "--answers",
        "--comments",
    ),
    *("--limit", "--size", "--plot", "--population", *SPANS),
}
OF_COMPARE = {  # held of `compare`
    *("--judge", "--rubric"),
    *("--baseline", "--all-pairs", "--test", "--adjust", "--level", "--power", "--cluster"),
    *("--draws", "--resamples", "--seed", "--gold", "--gold-chosen", "--on-missing", "--questions"),
}
ELSEWHERE: dict[str, set[str]] = {
    "": {"--version"},
    "score": {
        *SPANS,
        "--cluster",  # of slices: tests/comparison/test_conversations.py
        "--gold-chosen",
        "--nuggets",
        "--answers",
        "--population",
        "--eee",
        "--plot",
        "--size",
        "--jobs",
        "--dask",
    },
    "compare": {*OF_SCORE, "--sensitivity", "--gold-chosen"},
    "gate": {
        *OF_SCORE,
        "--gold",
        "--gold-chosen",
        "--rubric",
        "--store",
        "--max-cost",
        "--max-calls",
        "--price",
    },
    "judge": {*ASKING, "--gold-chosen", "--pilot"},
    "report": {
        *OF_SCORE,
        *OF_COMPARE,
        *("--output", "--title", "--by", "--evidence", "--passages", "--texts", "--store", "--queries"),
        "--format",
    },
    "arena": {
        *("--format", "--output", "--compat", "--matrix", "--nuggets", "--invalid", "--max-bias", "--gold"),
        *("--gold-chosen", "--population", "--cluster", "--ties"),
    },
    "track": {
        *ASKING
        - {"--shard", "--canaries", "--claims", "--run", "--rel", "--examples", "--compat"}
        - {"--permutations", "--balanced", "--abstentions"},
        *("--output", "--track", "--stage", "--strict", "--topics", "--nuggets", "--judgements", "--rubric"),
        *("--judge", "--measure", "--label", "--title", "--citation"),
        *("--teams", "--limit", "--gold", "--gold-chosen", "--bundle"),
    },
    "board bundle": {
        *("--measure", "--answers", "--nuggets", "--topics", "--passages", "--gold", "--gold-chosen"),
        *("--on-missing", "--rubric", "--bundle", "--title", "--output"),
    },
    "board verify": {"--inputs", "--sha256", "--format"},
    "board publish": {"--output"},
    "rubrics import": {"--as", "--examples", "--tokenizer", "--prompt", "--system", "--output"},
    "store export": {"--store", "--output"},
    **{f"store {name}": {"--store"} for name in ("import", "show", "stats")},
    "store merge": {"--output"},
    "collection audit": {"--sample", "--seed", "--corpus", "--read", "--output"},
    "collection filter": {"--questions", "--nuggets", "--threshold", "--filter", "--output"},
    "collection fuse": {"--k"},
    "collection pool": {
        "--depth",
        "--questions",
        "--nuggets",
        "--corpus",
        "--judge",
        "--dry-run",
        "--output",
    },
    "collection qrels": {"--grade", "--rel", "--output"},
    "collection check": {"--against", "--depth", "--output"},
    "diagnose": {
        *(
            "--cluster",
            "--run",
            "--qrels",
            "--passages",
            "--depth",
            "--rel",
            "--system",
            "--nuggets",
            "--questions",
            "--by",
        ),
        *(
            "--on-missing",
            "--level",
            "--resamples",
            "--seed",
            "--format",
            "--output",
            "--comments",
            "--limit",
            *SPANS,
        ),
    },
    "label agree": {
        *("--leaderboards", "--form", "--at", "--nuggets-in-qrels", "--near-misses", "--weights"),
        *("--answers", "--nuggets", "--gold-chosen", "--cluster"),
    },
    "label correct": {"--gold-chosen", "--answers", "--nuggets", "--cluster"},
    "label plan": {
        *("--pairs", "--by"),  # tests/cli/test_label_plan.py, tests/comparison/test_plan_by_doubt.py
        *("--output", "--overwrite", "--number", "--width", "--pilot", "--compare", "--decide"),
        *(
            "--measure",
            "--rubric",
            "--answers",
            "--questions",
            "--nuggets",
            "--passages",
            "--depth",
            "--level",
            "--cluster",
        ),
        "--seed",
    },
    "label page": {"--output", "--annotator", "--serve", "--port"},
    "spans anchor": {
        *("--chunks", "--sources", "--quotes", "--nuggets", "--rel", "--unanchored", "--output"),
        *("--comments", "--limit"),
    },
    "spans project": {"--chunks", "--sources", "--overlap", "--stale", "--output", "--limit"},
    "doctor": {"--corpus", "--topics", "--at", "--comments", "--format", "--limit"},
    "validate": {"--track", "--topics", "--strict-length", "--fix", "--comments", "--format", "--limit"},
    "datasets check": {"--accept-license", "--limit"},
    "datasets export": {"--format", "--accept-license", "--limit"},
    "datasets fetch": {"--only", "--again", "--accept-license", "--allow-http"},
    "datasets import": {"--as", "--limit"},
    "import": {
        *("--output", "--map", "--tool", "--records", "--run", "--only", "--hop", "--split"),
        *("--dry-run", "--limit", "--search-tool"),
        "--overwrite",  # tests/files/test_folders.py
    },
    "reproduce": {"--data", "--format", "--output"},  # tests/published
    "demo": {"--overwrite"},  # tests/cli/test_demo.py
    "init": {"--overwrite"},  # tests/cli/test_init.py
}
_BUILT = {*ASKING, "--judge", "--output"} - {"--shard", "--canaries", "--claims", "--passages"}
_BUILT -= {"--run", "--depth", "--qrels", "--rel", "--examples", "--compat", "--permutations", "--balanced"}
_BUILT -= {"--seed", "--on-missing", "--abstentions"}
ELSEWHERE |= {
    "collection nuggetize": _BUILT,
    "collection support": {*_BUILT, "--questions", "--nuggets", "--corpus"},
    "collection variants": {*_BUILT, "--nuggets"},
    "collection build": {
        *_BUILT,
        *("--corpus", "--support-judge", "--nuggets", "--run", "--method", "--fuse-depth", "--k", "--depth"),
        *("--threshold", "--filter", "--dry-run"),
    },
}


def options(command: click.Command, context: click.Context, path: str = "") -> Iterator[tuple[str, str]]:
    for param in command.params:
        if isinstance(param, click.Option) and param.name != "help_all":
            yield path, max(param.opts, key=len)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            assert member is not None
            yield from options(member, context, f"{path} {name}".strip())


def test_every_option_is_in_a_table() -> None:
    there = set(options(main, click.Context(main)))
    listed = {(command, name) for command, names in ELSEWHERE.items() for name in names}
    tried = {(command, name) for command, names in TRIED.items() for name in names}
    lacking = [f"{command} {name}" for command, name in sorted(there - listed - tried)]
    where = "add to TRIED of tests/laws/test_options_act.py, with an input on which it changes something"
    assert not lacking, f"{', '.join(lacking)}: {where}"
    assert not tried - there
    assert len(there) > 400
    # What a set of options has beyond those of a command is no gap: only whole rows that are stale are.
    assert {command for command, _ in listed} <= {command for command, _ in there}


@pytest.mark.slow
@pytest.mark.some(4)
@pytest.mark.parametrize(("command", "name"), [(c, name) for c, names in TRIED.items() for name in names])
def test_an_option_changes_something(command: str, name: str) -> None:
    without, more = TRIED[command][name]
    assert shlex.split(without)[: len(command.split())] == command.split()
    one, other = done(without), done(f"{without} {more}")
    assert one != other
    assert (one[0], other[0]) != (2, 2), "neither was understood"


@pytest.mark.slow
@pytest.mark.parametrize("words", IGNORED)
def test_an_option_that_only_prints_is_ignored_where_it_cannot(words: str) -> None:
    assert done(f"{IGNORED[words]} {words}") == done(IGNORED[words])


@pytest.mark.parametrize("words", REFUSED)
def test_an_option_that_cannot_do_what_it_says_is_refused(words: str) -> None:
    code, out, stderr, files = done(words)
    assert (code, out, files) == (2, "", {})
    assert REFUSED[words] in str(stderr)


def test_what_an_option_needs_is_an_option_of_its_command() -> None:
    """A rule goes by the name of a parameter, which another command may have for something else."""
    asked = re.compile(r"[!]?(\w+)")
    for name, command in leaves().items():
        params = {param.name for param in command.params}
        for param in params:
            rule = _NEEDS.get(f"{name.split()[-1]} {param}") or _NEEDS.get(param or "") or ()
            for clauses, _ in rule:
                named = {match[1] for clause in clauses if (match := asked.match(clause))}
                assert named - {"asks", "tables"} <= params, f"{name}: `{param}` needs {named}"
