"""Who may import whom, and that nothing heavy is imported that the command at hand does not need."""

from __future__ import annotations

import ast
import inspect
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TypeGuard

import pytest

from rageval import hooks
from rageval.hooks import Hook
from sources import PACKAGE, nodes, parsed

pytestmark = pytest.mark.slow


# A room may import the rooms named here (and itself); packages outside the standard library after the bar.
BASE = {"core", "hooks", "options", "plugins", "errors", "records", "table", "text", "names"}
BASE |= {"lazy_names", "subjects", "version"}
LAYERS: dict[str, tuple[set[str], set[str]]] = {
    "errors": (set(), set()),
    "options": ({"errors"}, set()),
    "lazy_names": (set(), set()),
    "records": (set(), set()),
    "text": ({"errors"}, set()),
    "names": (set(), set()),
    "table": ({"errors", "text"}, set()),
    "version": (set(), set()),
    "samples": ({"table"}, set()),
    "core": ({"hooks"}, set()),
    "hooks": (set(), set()),
    "subjects": ({"core", "errors", "hooks"}, set()),
    "kernel": (set(), set()),
    "files": (BASE | {"kernel"}, {"numpy", "msgspec"}),
    "plugins": ({"errors"}, set()),
    "measures": (BASE, {"numpy"}),
    "scoring": (BASE | {"files", "kernel", "measures", "statistics"}, {"numpy", "msgspec"}),
    "spans": (BASE | {"files", "measures", "scoring"}, {"msgspec"}),
    "judges": (BASE | {"files", "logs", "measures", "scoring", "statistics"}, {"msgspec"}),
    "datasets": (BASE | {"files", "scoring"}, {"msgspec"}),
    "building": (
        BASE | {"comparison", "files", "judges", "measures", "scoring", "statistics"},
        {"numpy", "msgspec"},
    ),
    "testing": (BASE | {"scoring", "judges", "measures"}, set()),
    "statistics": (BASE, {"numpy"}),
    "comparison": (
        BASE | {"scoring", "files", "judges", "measures"} | {"statistics"},
        {"numpy", "msgspec"},
    ),
    "views": (BASE | {"comparison", "files", "measures", "scoring", "statistics"}, {"numpy"}),
    "pages": (
        BASE | {"comparison", "files", "judges", "measures", "scoring", "statistics", "views"},
        {"numpy", "msgspec"},
    ),
    "checking": (BASE | {"building", "files", "judges", "logs", "measures", "scoring"}, {"msgspec"}),
    "track": (
        BASE
        | {"building", "checking", "comparison", "files", "judges", "logs", "measures", "pages"}
        | {"scoring", "statistics", "views"},
        {"msgspec"},
    ),
    "published": (BASE | {"building", "comparison", "files", "scoring"}, {"msgspec"}),
    "interop": (BASE | {"scoring", "measures"}, set()),
    "autojudge": (BASE | {"judges", "measures", "verbs"}, set()),
    "trajectories": (BASE | {"measures", "scoring"}, set()),
    "typing": ({"files", "options"}, set()),
    "policy": (BASE | {"files"}, set()),
    "logs": (BASE | {"files"}, {"msgspec"}),
    "precommit": (BASE | {"checking", "files", "measures", "policy", "scoring"}, set()),
    "pytest_plugin": (BASE, set()),
    "pytest_gates": (BASE | {"cli", "files", "policy", "pytest_plugin", "typing", "verbs"}, set()),
    "verbs": (BASE | {"comparison", "files", "judges", "logs", "measures", "pages", "scoring"}, set()),
    "parallel": (
        BASE | {"files", "measures", "scoring"},
        set(),
    ),
    "__init__": (BASE, set()),
    "__main__": ({"cli"}, set()),
    "cli": (
        BASE
        | {"building", "checking", "comparison", "datasets", "files", "judges", "logs", "measures", "pages"}
        | {"parallel", "policy", "published", "samples", "scoring", "spans", "track", "verbs", "views"},
        {"click", "msgspec"},
    ),
}
FOREIGN = {
    "numpy",
    "msgspec",
    "click",
    "pandas",
    "scipy",
    "ir_measures",
    "ir_datasets",
    "autojudge_base",
    "pyarrow",
    "fsspec",
    "distributed",
    "openai",
    "anthropic",
    "jinja2",
    "matplotlib",
}


# Of the standard library, what costs more than it is worth to a command that does not need it.
HEAVY = FOREIGN - {"click"} | {
    *("asyncio", "bz2", "concurrent.futures", "csv", "ctypes", "dataclasses", "decimal", "difflib", "email"),
    *("hashlib", "http", "importlib.metadata", "ipaddress", "json", "logging", "lzma", "multiprocessing"),
    *("pathlib", "pickle", "random", "shutil", "socket", "sqlite3", "ssl", "statistics", "subprocess"),
    *("tempfile", "tomllib", "unittest", "urllib", "xml", "zipfile"),
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imports_when_loaded(path: Path) -> set[str]:
    """Dotted names a module imports at module level, but for type checkers only."""
    found: set[str] = set()
    for node in parsed(path).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "rageval":
            found |= {f"rageval.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_each_room_imports_only_what_it_may() -> None:
    wrong = []
    for path in modules():
        rooms, packages = LAYERS[room(path)]
        for name in imports_when_loaded(path):
            head, _, rest = name.partition(".")
            may = rest.partition(".")[0] in rooms | {room(path)} if head == "rageval" else head in packages
            if not may and head in {"rageval", *FOREIGN}:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert wrong == []


def test_the_table_names_every_room_and_no_other() -> None:
    assert {room(path) for path in modules()} == set(LAYERS)


@cache
def all_imports(path: Path, types: bool = False) -> set[str]:
    """Modules of rageval that a module imports, within functions too; those of its types, if asked."""
    left_out = [
        node
        for node in nodes(path)
        if not types and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    ]
    skipped = {id(inner) for node in left_out for inner in ast.walk(node)}
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import) and id(node) not in skipped:
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and id(node) not in skipped:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in NAMES else node.module for name in names}
    return found & NAMES.keys()


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


NAMES = {dotted(path): path for path in modules()}


def test_a_file_with_an_underscore_is_for_its_own_room() -> None:
    for name, path in NAMES.items():
        for other in all_imports(path):
            if other.rpartition(".")[2].startswith("_"):
                assert room(path) == room(NAMES[other]), f"{name} imports {other}"


def test_a_name_with_an_underscore_is_for_its_own_room() -> None:
    for name, path in NAMES.items():
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and node.module in NAMES:
                private = [alias.name for alias in node.names if alias.name.startswith("_")]
                private = [each for each in private if not each.startswith("__")]
                home = room(NAMES[str(node.module)])
                assert not private or home in (room(path), "__init__"), f"{name} imports {private}"


@pytest.mark.parametrize("types", [False, True], ids=["run", "types"])
def test_no_imports_go_round_in_a_circle(types: bool) -> None:
    # The `__init__` of a package imports its modules for type checkers, and is no part of their order.
    packages = {name for name, path in NAMES.items() if path.name == "__init__.py"} if types else set[str]()
    reach = {name: all_imports(path, types) - {name} - packages for name, path in NAMES.items()}
    for through in NAMES:
        for found in reach.values():
            if through in found:
                found |= reach[through]
    circles = {frozenset(other for other in reach[name] if name in reach[other]) for name in NAMES}
    assert circles <= {frozenset()}


def test_no_room_imports_what_imports_it() -> None:
    """Within functions, too: what a room leaves to one above it is found by name, in one table."""
    below = {room(path): set[str]() for path in NAMES.values()}
    for path in NAMES.values():
        below[room(path)] |= {room(NAMES[name]) for name in all_imports(path)} - {room(path), "__init__"}
    while ready := [name for name, needed in below.items() if not needed & below.keys()]:
        for name in ready:
            del below[name]
    assert below == {}


HOOKS = {name: hook for name, hook in vars(hooks).items() if isinstance(hook, Hook)}


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_takes_what_its_function_takes(name: str) -> None:
    function = HOOKS[name].load()
    assert callable(function)
    types, _ = HOOKS[name].__orig_class__.__args__  # type: ignore[attr-defined]  # Hook[types, result]
    if types is not ...:
        inspect.signature(function).bind(*types)


# Where modules stand in strings: what is asked for by need, and the kinds of subjects.
TABLES = ("rageval.hooks", "rageval.subjects")


def test_only_two_tables_name_modules_that_stand_above() -> None:
    for name, path in NAMES.items():
        texts = {node.value for node in nodes(path) if is_text(node)}
        named = {text.partition(":")[0] for text in texts} & NAMES.keys() - {"rageval", "rageval.version"}
        above_it = {module for module in named if room(NAMES[module]) != room(path)}
        assert not above_it or name in TABLES, f"{name} names {above_it}"


def is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def modules_loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_importing_rageval_imports_nothing_heavy() -> None:
    heavy = HEAVY | {"click", "inspect"}
    assert not (modules_loaded_by("import rageval") - modules_loaded_by("pass")) & heavy


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A run and judgements."""
    (tmp_path / "run").write_text("q Q0 a 1 2.5 r\nq Q0 b 2 1e-1 r\n")
    (tmp_path / "qrels").write_text("q 1 a 1\nq 2 b 1\nq 2 c 0\n")
    return [str(tmp_path / "run"), str(tmp_path / "qrels")]


def loaded_by_command(*words: str) -> set[str]:
    """The modules that a command imports and `import click` does not."""
    code = (
        f"from rageval.cli import main\ntry: main({words!r})\nexcept SystemExit as done: assert not done.code"
    )
    return modules_loaded_by(code) - modules_loaded_by("import click")


@pytest.mark.parametrize("compiled", ["0", "1"])
def test_the_plain_command_imports_nothing_heavy(
    files: list[str], compiled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGEVAL_KERNEL", compiled)
    for measures in ("alpha_ndcg@10", "R@50 nDCG@10,judged@3"):
        assert loaded_by_command(*files, "-m", measures) & HEAVY <= {"dataclasses"}


@pytest.mark.parametrize("command", [(), ("compare",)], ids=["score", "compare"])
def test_runs_are_scored_and_compared_without_judges_and_logs(
    files: list[str], command: tuple[str, ...]
) -> None:
    run, qrels = files
    shutil.copy(run, f"{run}2")
    modules = loaded_by_command(*command, run, f"{run}2", qrels, "-m", "rr")
    rooms = {name.split(".")[1] for name in modules if name.startswith("rageval.")}
    assert not rooms & {"judges", "logs", "datasets", "building", "pages", "track"}


def test_short_options_are_known_at_once(files: list[str]) -> None:
    """click looks for `-m` among the long options first, and loads difflib to suggest another one."""
    assert "difflib" not in loaded_by_command(*files, "-q", "-m", "rr", "-p", "3", "-l", "1")


RUN_MEASURES = "α-nDCG(alpha=0.7)@5 R@50 ndcg_cut_10 coverage P.5,10 map official:ndeval"


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        ("--help", set()),
        ("--version", set()),
        ("compare --help", {"msgspec", "numpy"}),
        ("judge --help", {"asyncio", "logging", "msgspec", "numpy", "sqlite3", "ssl", "subprocess"}),
        ("measures", {"importlib.metadata"}),
        ("measures alpha_ndcg", set()),
        ("rubrics crag", {"msgspec"}),
        ("datasets", {"importlib.metadata", "msgspec"}),
    ],
)
def test_what_only_lists_imports_no_more_than_it_needs(words: str, needed: set[str]) -> None:
    large = FOREIGN | {"asyncio", "http", "importlib.metadata", "logging", "sqlite3", "ssl", "subprocess"}
    assert loaded_by_command(*words.split()) & (large - {"click"}) == needed


@pytest.mark.parametrize(
    ("names", "heavy"),
    [
        (RUN_MEASURES, {"ir_measures", "importlib.metadata", "msgspec", "numpy"}),
        ("v_strict accuracy length official:support", {"ir_measures", "importlib.metadata", "msgspec"}),
    ],
)
def test_names_of_our_measures_are_read_without_ir_measures_and_plug_ins(names: str, heavy: set[str]) -> None:
    code = f"from rageval.measures.parsing import parse_measures\nparse_measures({names!r})"
    assert not modules_loaded_by(code) & heavy


def test_a_measure_imports_its_family_and_no_other() -> None:
    code = "from rageval import alpha_ndcg, parse_measure\nparse_measure('alpha_ndcg@10'), alpha_ndcg @ 10"
    families = {f"rageval.measures.{name}" for name in ("_sets", "_ranks", "_citations", "_grades", "_words")}
    assert not modules_loaded_by(code) & families


def test_scoring_imports_nothing_heavy() -> None:
    code = (
        "import rageval\n"
        "rageval.evaluate('alpha_ndcg@10, recall, judged', {'q': {'a': 1.0}}, {'q': {'n': {'a': 1}}})"
    )
    assert modules_loaded_by(code) & FOREIGN == set()


def test_scoring_answers_imports_msgspec_and_nothing_heavier() -> None:
    code = (
        "import rageval\n"
        "rows = [{'query_id': 'q', 'run_id': 'r', 'aspect': 'n', 'label': 'support'}]\n"
        "rageval.evaluate_answers('a_strict, nugget_density', rows, answers=[{**rows[0], 'answer': 'x'}])"
    )
    assert modules_loaded_by(code) & FOREIGN == {"msgspec"}


def test_judging_imports_no_sdk_and_no_cluster_before_it_asks() -> None:
    code = (
        "from rageval.cli.judge import judge\n"
        "from rageval.judges.panel import Settings, judged_by, model_named\n"
        "model_named('openai:m@http://127.0.0.1:9/v1')"
    )
    assert modules_loaded_by(code) & FOREIGN == {"click", "msgspec", "numpy"}


def test_help_and_version_do_without_numpy() -> None:
    code = "from rageval.cli import main\ntry: main(['--version'])\nexcept SystemExit: pass"
    assert modules_loaded_by(code) & FOREIGN == {"click"}
