"""What is compared with what, on which workload, and how far below it rageval aims to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sizes import WORKLOADS, Files
from timing import Command

PEERS = Path(__file__).parent / "peers"

CommandMaker = Callable[[str, Path, list[Path]], Command]  # python, qrels, runs


def script(name: str) -> CommandMaker:
    return lambda python, qrels, runs: [python, str(PEERS / name), str(qrels), *map(str, runs)]


def ir_measures_command(*measures: str) -> CommandMaker:
    def command(python: str, qrels: Path, runs: list[Path]) -> Command:
        return [python, "-m", "ir_measures", str(qrels), str(runs[0]), *measures, "-p", "6"]

    return command


@dataclass(frozen=True)
class Peer:
    name: str
    modules: tuple[str, ...]  # it is skipped where one of these cannot be imported
    command: CommandMaker


@dataclass(frozen=True)
class Contest:
    """One workload, one list of measures. Aims are ratios of time, or None where none was set."""

    workload: str
    measures: str
    qrels: Callable[[Files], Path]
    time_aims: Mapping[Peer, float | None]
    memory_aim: float  # megabytes, for rageval

    def qrels_and_runs(self, files: Files) -> tuple[Path, list[Path]]:
        runs = [files.run(number) for number in range(WORKLOADS[self.workload].runs)]
        return self.qrels(files), runs


def nugget_qrels(files: Files) -> Path:
    return files.nugget_qrels


def plain_qrels(files: Files) -> Path:
    return files.plain_qrels


ALPHA = "alpha_ndcg@10"
PLAIN = "recall@50,ndcg@10"
FRESHSTACK_THREE = "alpha_ndcg@10,coverage@20,recall@50"

IR_MEASURES_ALPHA = Peer("ir_measures", ("ir_measures", "pyndeval"), ir_measures_command("alpha_nDCG@10"))
IR_MEASURES_PLAIN = Peer(
    "ir_measures", ("ir_measures", "pytrec_eval"), ir_measures_command("R@50", "nDCG@10")
)
IR_MEASURES_API = Peer("ir_measures API", ("ir_measures", "pyndeval"), script("ir_measures_one_evaluator.py"))
PYNDEVAL = Peer("pyndeval", ("pyndeval",), script("pyndeval_script.py"))
PYTREC_EVAL = Peer("pytrec_eval", ("pytrec_eval",), script("pytrec_eval_script.py"))
RANX = Peer("ranx", ("ranx",), script("ranx_script.py"))
FRESHSTACK = Peer("freshstack", ("freshstack.retrieval.evaluation",), script("freshstack_script.py"))

CONTESTS = (
    Contest("S", ALPHA, nugget_qrels, {IR_MEASURES_ALPHA: 0.45, PYNDEVAL: None}, memory_aim=60),
    Contest("S", PLAIN, plain_qrels, {IR_MEASURES_PLAIN: 0.55, PYTREC_EVAL: None, RANX: 0.03}, memory_aim=60),
    Contest("S", FRESHSTACK_THREE, nugget_qrels, {FRESHSTACK: 0.20}, memory_aim=60),
    Contest("M", ALPHA, nugget_qrels, {IR_MEASURES_ALPHA: 0.10, PYNDEVAL: None}, memory_aim=160),
    Contest(
        "M", PLAIN, plain_qrels, {IR_MEASURES_PLAIN: 0.20, PYTREC_EVAL: None, RANX: 0.05}, memory_aim=160
    ),
    Contest("L", ALPHA, nugget_qrels, {IR_MEASURES_ALPHA: 0.10, PYNDEVAL: None}, memory_aim=600),
    Contest("L", PLAIN, plain_qrels, {IR_MEASURES_PLAIN: 0.20, PYTREC_EVAL: None}, memory_aim=600),
    Contest("R", ALPHA, nugget_qrels, {IR_MEASURES_API: 0.15}, memory_aim=100),
    Contest("R", PLAIN, plain_qrels, {PYTREC_EVAL: None, RANX: 0.03}, memory_aim=100),
)
