"""What only some systems have stands in the source behind a guard; what they do otherwise, nowhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "rageval").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
# Modules, functions and signals that Windows (or a Mac) lacks.
MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix", "msvcrt", "winreg"}
NAMES = {
    "os": {
        *("fork", "forkpty", "getuid", "geteuid", "getgid", "getegid", "chown", "fchown", "lchown", "mkfifo"),
        *("mknod", "posix_fallocate", "posix_fadvise", "sched_getaffinity", "uname", "setsid", "killpg"),
        *("getpgid", "getppid", "getloadavg", "nice", "wait", "waitpid", "kill", "fchmod", "umask"),
        *("sendfile", "O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "O_NONBLOCK", "openpty", "link", "symlink"),
    },
    "signal": {
        *("SIGHUP", "SIGPIPE", "SIGKILL", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD", "SIGBREAK"),
        *("alarm", "setitimer", "pthread_sigmask", "pthread_kill", "sigwait", "pause"),
    },
    "time": {"tzset", "clock_gettime", "pthread_getcpuclockid"},
    "socket": {"AF_UNIX", "SO_REUSEPORT", "fromfd"},
}
WORDS = "|".join(
    [
        rf"import (?:{'|'.join(MODULES)})\b",
        rf"from (?:{'|'.join(MODULES.union(NAMES))}) import",
        *(rf"\b{name}\.(?:{'|'.join(of)})\b" for name, of in NAMES.items()),
    ]
)
OPENERS = {"open", "fdopen", "read_text", "write_text", "TextIOWrapper", "run", "Popen", "check_output"}
OPENERS |= {"NamedTemporaryFile", "ProcessPoolExecutor", "Pool", "Process"}
GUARDS = ("sys.platform", "os.name", "hasattr(os,", "get_all_start_methods", "except ImportError")
# Where the guard stands in who calls: `processes` knows who forks, and `is_near` who may ask for a process.
GUARDED_BY_CALLER = {
    ("parallel/_engines.py", "_block_signals"),
    ("parallel/_engines.py", "_unblock_signals"),
    ("judges/store.py", "is_dead"),
}
# Paths that only Linux has; each is looked at with care for its absence.
PLACES = {
    "judges/store.py": {"/proc/self/mounts", "/proc/self/ns/pid", "/sbin/mount"},
    "files/whole.py": {"/dev/fd/", "/proc/self/fd/"},
}


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def functions(path: Path) -> list[tuple[str, ast.AST]]:
    """The functions of a module with their names, and last what stands outside of them."""
    tree = ast.parse(text_of(path))
    found = [(node.name, node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [*found, ("", tree)]


def uses(tree: ast.AST) -> Iterator[str]:
    """What a piece of source uses that not all systems have."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module in MODULES or node.module in NAMES):
            names = {alias.name for alias in node.names}
            yield from names if node.module in MODULES else names & NAMES[str(node.module)]
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr in NAMES.get(node.value.id, ())
        ):
            yield f"{node.value.id}.{node.attr}"


def short(path: Path) -> str:
    return path.relative_to(ROOT / "rageval").as_posix()


def test_what_a_system_may_lack_stands_behind_a_guard() -> None:
    unguarded, callers = [], set()
    for path in SOURCES:
        if not re.search(WORDS, text_of(path)):  # to read all as a tree takes seconds
            continue
        *within, (_, whole) = functions(path)
        inside: set[str] = set()
        for name, tree in within:
            found = set(uses(tree))
            inside |= found
            if found and not any(guard in ast.unparse(tree) for guard in GUARDS):
                callers.add((short(path), name))
        unguarded += [f"{short(path)}: {use} when it is loaded" for use in set(uses(whole)) - inside]
    assert unguarded == []
    assert callers == GUARDED_BY_CALLER


def at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported: all but the bodies of functions."""
    yield tree
    for name, child in ast.iter_fields(tree):
        if not (isinstance(tree, ast.FunctionDef | ast.Lambda) and name == "body"):
            for node in child if isinstance(child, list) else [child]:
                if isinstance(node, ast.AST):
                    yield from at_import(node)


def test_a_file_of_tests_can_be_imported_everywhere() -> None:
    found = []
    for path in TESTS:
        if "faults" in path.parts or not re.search(WORDS, text_of(path)):
            continue
        for node in at_import(functions(path)[-1][1]):
            if isinstance(node, ast.Import | ast.ImportFrom | ast.Attribute):
                found += [(path.name, use) for use in uses(node)]
    # those ask for the system first
    assert [each for each in found if each[1] not in ("os.geteuid", "os.getuid")] == []


def mode_of(call: ast.Call, name: str) -> str:
    """The mode in which a call opens a file; "b" where it opens something else."""
    plain = name in ("open", "io.open", "os.fdopen")
    place = 1 if plain else 0
    given = next((each.value for each in call.keywords if each.arg == "mode"), None)
    given = given or (call.args[place] if len(call.args) > place else None)
    if given is None:
        return "r"
    is_mode = isinstance(given, ast.Constant) and isinstance(given.value, str)
    return str(given.value) if is_mode else "r" if plain else "b"  # `transport.open(url)`


def faults_of(call: ast.Call, name: str) -> Iterator[str]:
    """What a call takes from the system: the encoding of a text, its line ends, how processes begin."""
    last, said = name.rpartition(".")[2], {keyword.arg for keyword in call.keywords}
    if last == "read_text" and "encoding" not in said and not call.args:
        yield "read_text without encoding"
    if last == "write_text" and not {"encoding", "newline"} <= said:
        yield "write_text without encoding and newline"
    if (
        last in ("open", "fdopen")
        and name not in ("os.open", "tarfile.open")
        and "b" not in mode_of(call, name)
    ):
        if "encoding" not in said:
            yield "a text opened without encoding"
        if set(mode_of(call, name)) & set("wax+") and "newline" not in said:
            yield "a text opened to write without newline"
    if last == "TextIOWrapper" and "encoding" not in said:
        yield "TextIOWrapper without encoding"
    if name.startswith("subprocess.") and said & {"text", "universal_newlines"} and "encoding" not in said:
        yield "a process's text without encoding"
    if last == "NamedTemporaryFile":
        yield "NamedTemporaryFile cannot be opened twice on Windows; use TemporaryDirectory"
    if last in ("ProcessPoolExecutor", "Pool", "Process") and "get_context" not in ast.unparse(call):
        yield "processes without get_context"


@pytest.mark.nightly
def test_no_text_is_in_the_encoding_or_with_the_line_ends_of_the_system() -> None:
    found = [
        f"{short(path)}:{node.lineno}: {fault}"
        for path in SOURCES
        if re.search(rf"\b(?:{'|'.join(OPENERS)})\(", text_of(path))
        for node in ast.walk(functions(path)[-1][1])
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in OPENERS
        for fault in faults_of(node, ast.unparse(node.func))
    ]
    assert found == []


def test_no_place_of_one_system_is_named() -> None:
    for path in SOURCES:
        named = set(re.findall(r"""["'](/(?:dev|proc|tmp|usr|sbin|etc)/[^"']*)["']""", text_of(path)))
        assert named == PLACES.get(short(path), set()), short(path)


def test_no_two_files_are_one_where_case_does_not_matter() -> None:
    files = [path.relative_to(ROOT).as_posix() for path in (*SOURCES, *TESTS)]
    files += [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")]
    assert len({name.casefold() for name in files}) == len(files)
    forbidden = set('<>:"|?*\\')
    assert [name for name in files if set(name) & forbidden or not name.isascii()] == []


@pytest.mark.parametrize(
    "source",
    [
        "import fcntl",
        "import os\nos.fork()",
        "def f():\n    import signal\n    return signal.SIGHUP",
        "from os import getuid",
    ],
)
def test_the_scan_sees_what_a_system_lacks(source: str) -> None:
    assert set(uses(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        *("open(path)", "path.open('w', encoding='utf-8')", "path.open(mode='a')", "os.fdopen(1, 'w')"),
        *("path.read_text()", "path.write_text(text, encoding='utf-8')", "io.TextIOWrapper(raw)"),
        *("subprocess.run(words, text=True)", "tempfile.NamedTemporaryFile()", "ProcessPoolExecutor(2)"),
    ],
)
def test_the_scan_sees_what_a_system_decides(source: str) -> None:
    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call)
    assert list(faults_of(call, ast.unparse(call.func)))
