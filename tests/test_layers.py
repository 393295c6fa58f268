"""Who may import whom, and that nothing heavy is imported that the command at hand does not need."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "rageval"

# A room may import the rooms named here (and itself); packages outside the standard library after the bar.
BASE = {"errors", "records", "text", "names", "version"}
LAYERS: dict[str, tuple[set[str], set[str]]] = {
    "errors": (set(), set()),
    "records": (set(), set()),
    "text": (set(), set()),
    "names": (set(), set()),
    "version": (set(), set()),
    "kernel": (set(), set()),
    "tables": (BASE, {"numpy"}),
    "counting": (BASE, set()),
    "files": (BASE | {"counting", "tables"}, {"numpy", "msgspec"}),
    "plugins": (BASE, set()),
    "measures": (BASE | {"tables", "plugins"}, {"numpy"}),
    "scoring": (BASE | {"kernel", "measures", "tables"}, {"numpy"}),
    "compat": (BASE | {"measures", "tables"}, set()),
    "scores": (BASE, {"numpy"}),
    "sources": (BASE | {"files", "tables"}, set()),
    "plots": (BASE | {"files"}, {"numpy"}),
    "uncertainty": (BASE | {"answers", "intervals", "measures", "scores", "tables"}, {"numpy"}),
    "evaluation": (
        BASE | {"compat", "measures", "scores", "scoring", "sources", "tables", "uncertainty"},
        {"numpy"},
    ),
    "answers": (BASE | {"files", "measures", "scores", "slices", "tables"}, {"numpy"}),
    "judges": (BASE | {"clusters", "files", "plugins"}, {"msgspec"}),
    "datasets": (BASE | {"files", "plugins", "sources"}, {"msgspec"}),
    "building": (
        BASE | {"answers", "files", "intervals", "judges", "sources", "tables"},
        {"numpy", "msgspec"},
    ),
    "testing": (BASE | {"judges"}, set()),
    "agreement": (BASE | {"files", "intervals", "judges", "tables"}, {"numpy"}),
    "arena": (BASE | {"measures", "tables"}, {"numpy"}),
    "intervals": (BASE | {"scores"}, {"numpy"}),
    "slices": (BASE | {"intervals", "scores"}, set()),
    "comparison": (BASE | {"evaluation", "intervals", "measures", "scores", "sources", "tables"}, {"numpy"}),
    "report": (
        BASE
        | {"agreement", "comparison", "files", "intervals", "judges", "measures", "scores", "slices"}
        | {"sources", "tables"},
        {"numpy", "msgspec"},
    ),
    "validation": (BASE | {"counting", "files", "sources"}, {"msgspec"}),
    "diagnosis": (BASE | {"files", "validation"}, {"msgspec"}),
    "conformance": (BASE | {"answers", "evaluation", "measures"}, {"msgspec"}),
    "interop": (BASE | {"measures"}, set()),
    "clusters": (BASE, set()),
    "parallel": (
        BASE | {"clusters", "files", "measures", "scores", "scoring", "sources", "tables"},
        set(),
    ),
    "__init__": (BASE, set()),
    "__main__": ({"cli"}, set()),
    "cli": (
        BASE
        | {"answers", "arena", "evaluation", "files", "measures", "parallel", "plugins", "scores"}
        | {"comparison", "plots", "slices", "sources", "tables", "validation"},
        {"click"},
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
    "pyarrow",
    "fsspec",
    "distributed",
    "openai",
    "anthropic",
    "jinja2",
    "matplotlib",
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_when_loaded(path: Path) -> set[str]:
    """Dotted names a module imports at module level, but for type checkers only."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "rageval":
            found |= {f"rageval.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_room_imports_only_what_it_may(path: Path) -> None:
    rooms, packages = LAYERS[room(path)]
    for name in imports_when_loaded(path):
        head, _, rest = name.partition(".")
        if head == "rageval":
            assert rest.partition(".")[0] in rooms | {room(path)}, f"{path.name} imports {name}"
        elif head in FOREIGN:
            assert head in packages, f"{path.name} imports {name}"


def test_the_table_names_every_room_and_no_other() -> None:
    assert {room(path) for path in modules()} == set(LAYERS)


def modules_loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_rageval_imports_nothing_heavy() -> None:
    assert not modules_loaded_by("import rageval") & (FOREIGN | {"dataclasses"})


def test_scoring_imports_numpy_and_nothing_heavier() -> None:
    code = (
        "import rageval\n"
        "rageval.evaluate('alpha_ndcg@10, recall, judged', {'q': {'a': 1.0}}, {'q': {'n': {'a': 1}}})"
    )
    assert modules_loaded_by(code) & FOREIGN == {"numpy"}


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
