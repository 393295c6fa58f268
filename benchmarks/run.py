"""rageval beside its peers: time and peak memory of whole processes, and whether the aims are met.

    sh benchmarks/peers/fetch.sh peers
    python benchmarks/run.py S M R files other --rounds 5 --peers peers
    python benchmarks/run.py L --rounds 1 --peers peers

Prints a Markdown table on stdout and notes on stderr; ends with 1 if an aim is missed or values differ.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import timing
from timing import Command, Row, Sample, cpu, megabytes, note, seconds, verdict
from workloads import LINES, WORKLOADS, Files

HEADER = ("data", "what", "against", "wall, s", "CPU, s", "ratio", "aim", "peak, MB", "aim")
SCRIPTS = Path(__file__).with_name("peers")
TOLERANCE = 1e-4  # FreshStack prints four decimals
ALPHA, PLAIN = "alpha_ndcg@10", "recall@50,ndcg@10"
FRESHSTACK = "alpha_ndcg@10,coverage@20,recall@50"
AIMS = {  # of the time of …, and megabytes
    "ndeval": {"S": 0.9, "M": 0.2, "L": 0.2, "R": 0.045},
    "ir_measures": {"S": 0.25, "M": 0.05, "L": 0.05, "R": 0.15},
    "pytrec_eval": {"S": 0.6, "M": 0.2, "L": 0.2, "R": 0.25},
    "nothing compiled": {"S": 0.8, "M": 0.4, "L": 0.4, "R": 0.6},
    "memory": {"S": 25, "M": 60, "L": 120, "R": 35},
}
APART = (0.35, 200)  # the same of a run whose queries lie apart, beside ndeval
LOOP = "import sys, msgspec\nfor line in open(sys.argv[1], 'rb'): msgspec.json.decode(line)"


@dataclass(frozen=True)
class Contest:
    """One command of ours beside those of others; an aim is a ratio of times, or None where there is none."""

    data: str
    what: str
    ours: Command
    peers: Mapping[str, tuple[Command, float | None]]
    memory: float | None = None  # the aim for our peak, in megabytes
    compared: bool = False  # whether all print the same values
    clock: Callable[[Sample], float] = field(default=cpu)


class Tools:
    """Where the programs and the data are."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.data: Path = options.data
        self.rageval: str = options.rageval
        self.python = str(options.peers / "bin" / "python") if options.peers else sys.executable
        self.ndeval = str(options.peers / "bin" / "ndeval") if options.peers else "ndeval"

    def files(self, name: str) -> Files:
        return Files(self.data / name)

    def score(self, files: Files, measures: str, *words: str, runs: int = 1) -> list[str]:
        """Return our command; judgements of nuggets are read where a measure asks for them."""
        qrels = files.plain_qrels if measures == PLAIN else files.nugget_qrels
        paths = [str(files.run(number)) for number in range(runs)]
        return [self.rageval, *paths, str(qrels), "-m", measures, "-p", "6", *words]

    def script(self, name: str, files: Files, runs: int = 1, plain: bool = False) -> list[str]:
        qrels = files.plain_qrels if plain else files.nugget_qrels
        paths = [str(files.run(number)) for number in range(runs)]
        return [self.python, str(SCRIPTS / f"{name}.py"), str(qrels), *paths]

    def ndeval_on(self, files: Files, runs: int = 1) -> list[str]:
        """Return ndeval's command; of several runs, one after the other, each with the judgements again."""
        command = [self.ndeval, "-c", "-traditional", str(files.nugget_qrels)]
        if runs == 1:
            return [*command, str(files.run())]
        paths = shlex.join(str(files.run(number)) for number in range(runs))
        return ["sh", "-c", f'for run in {paths}; do {shlex.join(command)} "$run" || exit 1; done']

    def trec_eval_on(self, files: Files, runs: int = 1) -> list[str]:
        command = ["trec_eval", "-c", "-m", "recall.50", "-m", "ndcg_cut.10", str(files.plain_qrels)]
        paths = shlex.join(str(files.run(number)) for number in range(runs))
        return ["sh", "-c", f'for run in {paths}; do {shlex.join(command)} "$run" || exit 1; done']


def of_size(tools: Tools, size: str) -> Iterator[Contest]:
    """Yield what is measured on a workload: α-nDCG and plain measures, with and without the compiled part."""
    files, runs = tools.files(size), WORKLOADS[size].runs
    aim = {name: aims[size] for name, aims in AIMS.items()}
    command = [tools.python, "-m", "ir_measures", str(files.nugget_qrels), str(files.run())]
    ir_measures = [*command, "alpha_nDCG@10", "-p", "6"]
    if runs > 1:  # its API reads the judgements once
        ir_measures = tools.script("ir_measures_one_evaluator", files, runs)
    alpha: dict[str, tuple[Command, float | None]] = {
        "ndeval": (tools.ndeval_on(files, runs), aim["ndeval"]),
        "ir_measures": (ir_measures, aim["ir_measures"]),
    }
    if runs == 1:
        alpha["pyndeval"] = (tools.script("pyndeval_script", files), None)
    yield Contest(size, ALPHA, tools.score(files, ALPHA, runs=runs), alpha, aim["memory"], compared=True)
    plain: dict[str, tuple[Command, float | None]] = {
        "pytrec_eval": (tools.script("pytrec_eval_script", files, runs, plain=True), aim["pytrec_eval"]),
        "trec_eval": (tools.trec_eval_on(files, runs), None),
    }
    if size in "SR":
        plain["ranx"] = (tools.script("ranx_script", files, runs, plain=True), None)
    yield Contest(size, PLAIN, tools.score(files, PLAIN, runs=runs), plain, aim["memory"], compared=True)
    uncompiled = ["env", "RAGEVAL_KERNEL=0", *tools.score(files, ALPHA, runs=runs)]
    peer = {"ir_measures": (ir_measures, aim["nothing compiled"])}
    yield Contest(size, f"{ALPHA}, nothing compiled", uncompiled, peer, compared=True)
    if size == "S":
        freshstack = {"freshstack": (tools.script("freshstack_script", files), None)}
        yield Contest(size, FRESHSTACK, tools.score(files, FRESHSTACK), freshstack, compared=True)
    if size == "L":
        one = {"one process": (tools.score(files, ALPHA), 0.65)}
        yield Contest(size, f"{ALPHA} -j 2", tools.score(files, ALPHA, "-j", "2"), one, clock=seconds)


def of_files(tools: Tools) -> Iterator[Contest]:
    """Yield M's run as other people write it; ndeval reads the same file."""
    for name in LINES:
        files = tools.files(name)
        usual = (1.3 * AIMS["ndeval"]["M"], AIMS["memory"]["M"])
        aim, memory = APART if name == "apart" else usual
        peers = {"ndeval": (tools.ndeval_on(files), aim)}
        ours = tools.score(files, ALPHA)
        yield Contest(f"M, {name}", ALPHA, ours, peers, memory, compared=True)


def of_others(tools: Tools) -> Iterator[Contest]:
    """Yield what else is to be quick: start, deep cut-offs, checks, judgements of answers."""
    python, rageval = sys.executable, tools.rageval
    yield Contest("–", "--version", [rageval, "--version"], {"python -c pass": ([python, "-c", "pass"], 5)})
    deep, m, answers = tools.files("D"), tools.files("M"), tools.data / "answers"
    shallow = {"@10": (tools.score(deep, ALPHA), 2)}
    yield Contest("D", "alpha_ndcg@1000", tools.score(deep, "alpha_ndcg@1000"), shallow)
    ap = [rageval, str(m.run()), str(m.plain_qrels), "-m", "ap", "-p", "6"]
    yield Contest("M", "ap --bounds", [*ap, "--bounds"], {"ap": (ap, 12)})
    ndeval = {"ndeval": (tools.ndeval_on(m), 1.5)}
    yield Contest("M", "doctor", allowing(1, rageval, "doctor", str(m.run()), str(m.nugget_qrels)), ndeval)
    yield Contest("M", "validate", allowing(1, rageval, "validate", str(m.run()), "--track", "run"), ndeval)
    for name, memory in (("together", 60), ("scattered", 60 + 100)):  # 100 bytes a line
        path = str(answers / f"{name}.jsonl")
        loop = {"a loop of msgspec": ([tools.python, "-c", LOOP, path], 4)}
        ours = [rageval, path, "-m", "v_strict,w"]
        yield Contest(f"10⁶ judgements, {name}", "v_strict,w", ours, loop, memory)
    log = str(tools.data / "log" / "log.jsonl")
    import_command = [rageval, "import", log, "-o", str(tools.data / "log" / "made"), "--overwrite"]
    loop = {"a loop of msgspec": ([tools.python, "-c", LOOP, log], 5)}
    yield Contest("20,000 records of a log", "import", import_command, loop)
    pair = [rageval, "label", "agree", str(answers / "judge.jsonl"), str(answers / "gold.jsonl")]
    yield Contest("10⁵ pairs", "label agree (aim: 1 s)", pair, {"1 s": (["sleep", "1"], 1)}, clock=seconds)


def allowing(code: int, *command: str) -> list[str]:
    """Return a command that ends with 0 where this one ends with the code, which means findings."""
    return ["sh", "-c", f"{shlex.join(command)} || test $? = {code}"]


GROUPS: dict[str, Callable[[Tools], Iterator[Contest]]] = {
    **{size: lambda tools, size=size: of_size(tools, size) for size in "SMLR"},  # type: ignore[misc]
    "files": of_files,
    "other": of_others,
}
NEEDS = {"files": ["files"], "other": ["M", "D", "answers", "log"]}


def generate(names: list[str], data: Path) -> None:
    """Make the data in a process of its own, which imports numpy."""
    script = Path(__file__).with_name("workloads.py")
    subprocess.run([sys.executable, str(script), *names, "--data", str(data)], check=True, stdout=sys.stderr)


def table_rows(contest: Contest, samples: dict[str, list[Sample]]) -> Iterator[Row]:
    ours = samples["rageval"]
    peak = timing.median(ours, megabytes)
    for name, theirs in samples.items():
        if name == "rageval":
            continue
        both = [f"{timing.median(ours, of):.3f} / {timing.median(theirs, of):.3f}" for of in (seconds, cpu)]
        ratio = timing.median_ratio(ours, theirs, contest.clock)
        yield (
            *(contest.data, contest.what, name, *both),
            *(f"{ratio:.3f}", verdict(ratio, contest.peers[name][1])),
            f"{peak:.0f} / {timing.median(theirs, megabytes):.0f}",
            verdict(peak, contest.memory),
        )


def means(output: str) -> dict[str, list[float]]:
    """Return what a tool printed: by measure, in our words, its mean in each run, in the order printed."""
    values: dict[str, list[float]] = {}
    lines = output.splitlines()
    if lines and lines[0].startswith("runid,"):  # ndeval's table
        column = lines[0].split(",").index("alpha-nDCG@10")
        return {ALPHA: [float(line.split(",")[column]) for line in lines if ",amean," in line]}
    for line in lines:
        *labels, value = line.split("\t")
        measure = next((label for label in labels if "@" in label), labels[0]).strip().lower()
        for theirs, name in (("-", "_"), ("r@", "recall@"), ("recall_", "recall@"), ("ndcg_cut_", "ndcg@")):
            if theirs == "-" or measure.startswith(theirs):
                measure = measure.replace(theirs, name)
        values.setdefault(measure, []).append(float(value))
    return values


def differ(contest: Contest, samples: dict[str, list[Sample]]) -> bool:
    """Say where a peer printed other values."""
    is_different = False
    mine = means(samples["rageval"][0].output)
    for name, theirs in samples.items():
        yours = means(theirs[0].output)
        for measure in sorted(mine.keys() | yours.keys()):
            ours, other = mine.get(measure, []), yours.get(measure, [])
            gaps = [abs(a - b) for a, b in zip(ours, other, strict=False)]
            if len(ours) != len(other) or max(gaps) > TOLERANCE:
                note(f"{contest.data}, {measure}: rageval prints {ours[:3]}, {name} {other[:3]}")
                is_different = True
    return is_different


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure rageval beside its peers.")
    parser.add_argument("groups", nargs="+", choices=GROUPS, metavar="GROUP", help=" ".join(GROUPS))
    parser.add_argument("--rounds", type=int, default=5, help="measured runs of each program (5)")
    parser.add_argument("--peers", type=Path, metavar="FOLDER", help="what peers/fetch.sh has made")
    parser.add_argument("--peer", action="append", metavar="NAME", help="only this peer (may be repeated)")
    parser.add_argument("--data", type=Path, default=timing.default_data_folder(), help="of the workloads")
    timing.add_rageval_option(parser)
    return parser.parse_args()


def main() -> int:
    options = read_options()
    tools = Tools(options)
    generate([name for group in options.groups for name in NEEDS.get(group, [group])], options.data)
    rows: list[Row] = []
    wrong = False
    for contest in (contest for group in options.groups for contest in GROUPS[group](tools)):
        peers = {name: command for name, (command, _) in contest.peers.items() if missing(command) is None}
        peers = {name: command for name, command in peers.items() if not options.peer or name in options.peer}
        commands = timing.warm_up({"rageval": contest.ours, **peers})
        samples = timing.take_turns(commands, options.rounds)
        rows.extend(table_rows(contest, samples))
        wrong |= contest.compared and differ(contest, samples)
        note(f"{contest.data}, {contest.what}: done")
    print(timing.conditions(options.rounds), timing.markdown(HEADER, rows), sep="\n\n")
    return int(wrong or any(" over" in cell for row in rows for cell in row))


def missing(command: Command) -> str | None:
    """Return the program that a command needs and that is not there."""
    program = "trec_eval" if "trec_eval -c" in command[-1] else command[0]
    return None if shutil.which(program) else program


if __name__ == "__main__":
    timing.exit_with(main)
