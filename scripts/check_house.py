"""Checks the house rules no other tool knows. Run by ``make lint``; exits 1 if any is broken.

Rules:
    size      no module under src has more than 800 lines, no function more than 60 without its
              docstring
    names     no module is called utils.py: a module is named after its concept
    locals    no local variable under src is called found or each: it is named after what it holds
    mirror    every package under src with modules of its own has a folder of tests
    imports   folders of tests are no packages (pytest imports them by path)
    todo      a to-do comment gives its reason: ``TODO: why, and when it goes away``
    paths     no path of somebody's machine in src or docs
    classes   no two public classes of modules under src share a name
    circles   modules under src do not import each other in a circle, type annotations included
    undo      undo logs of tables are written by the state room alone
    targets   every name that tests, scripts, examples and benchmarks import from millrace exists
              (mypy looks at src alone, and tests tell of it minutes later)
"""

from __future__ import annotations

import ast
import re
import runpy
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

MAX_LINES = 800
MAX_FUNCTION_LINES = 60
MIN_REASON_WORDS = 3
PYTHON_FOLDERS = ("src", "tests", "scripts", "examples", "benchmarks")
MARKER = re.compile(r"\b(TODO|FIXME|XXX)\b(?:\([^)]*\))?:?\s*(?P<reason>.*)")
VAGUE = frozenset({"found", "each"})
"""Names that do not tell what a local variable holds."""
MAY_BIND = re.compile(
    r"\bfor\s[^\n]*?\b(?:found|each)\b[\w\s,()*]*\bin\b|\bas (?:found|each)\b"
    r"|\b(?:found|each)\b[^\n=!<>]*=(?!=)"
)
"""Text of a module that may bind one of these names; sentences of docstrings may match, too."""
MACHINE_PATH = re.compile(r"(?<![\w.-])/(work|tmp|root|home|Users)/")
CIRCLES = (
    # streams make streams of other kinds, and know their environment, which makes streams
    re.compile(
        r"millrace\.datastream\.(stream_execution_environment|operator_settings|iterative_stream"
        r"|stream|(keyed|connected|joined|windowed|all_windowed)_streams?)"
    ),
    # a function is given a context, which gives state for descriptors, some of which have functions
    re.compile(r"millrace\.common\.(functions\.(base|runtime_context)|state\.descriptors)"),
)
"""Modules that import each other because the API of Flink does: each set counts as one module."""
TO_UNTIE = frozenset(
    {
        ("millrace.common.types.type_information", "millrace.common.types.plain_data"),
        ("millrace.common.types.type_information", "millrace.common.types.type_check"),
    }
)
"""Imports inside functions that close a circle and are still to be untied: which module imports
which. No new ones are added."""
SAME_NAMES = frozenset(
    {
        "AggregateFunction",
        "BatchGatherFunction",
        "GatherFunction",
    }
)
"""Classes that share a name: what PyFlink calls the same in its two APIs, and Gelly's
``GatherFunction`` of two models of iteration."""
TEXT_SUFFIXES = frozenset({".css", ".html", ".js", ".md", ".py", ".toml", ".txt", ".yml"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule: where (1-based line, 0 for a whole file or folder), and what to do."""

    path: Path
    line: int
    message: str

    def relative_to(self, root: Path) -> Finding:
        return Finding(self.path.relative_to(root), self.line, self.message)

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{place}: {self.message}"


def check(root: Path) -> list[Finding]:
    """Return every finding in the work tree at ``root``, in the order of the rules."""
    return [
        *check_size(root),
        *check_functions(root),
        *check_names(root),
        *check_locals(root),
        *check_mirror(root),
        *check_imports(root),
        *check_todo(root),
        *check_paths(root),
        *check_classes(root),
        *check_circles(root),
        *check_undo(root),
        *check_targets(root),
    ]


def check_size(root: Path) -> Iterator[Finding]:
    for path in python_files(root, ["src"]):
        count = len(read_lines(path))
        if count > MAX_LINES:
            yield Finding(path, 0, f"has {count} lines, at most {MAX_LINES} allowed: split it")


def check_functions(root: Path) -> Iterator[Finding]:
    for path in python_files(root, ["src"]):
        for function in outline_of(path).functions:
            if function.lines > MAX_FUNCTION_LINES:
                too_many = f"has {function.lines} lines, at most {MAX_FUNCTION_LINES} allowed"
                yield Finding(path, function.line, f"{function.name} {too_many}")


def lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Number of lines of a function, its docstring left out."""
    count = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        count -= (first.end_lineno or first.lineno) - first.lineno + 1
    return count


def check_names(root: Path) -> Iterator[Finding]:
    for path in python_files(root, PYTHON_FOLDERS):
        if path.name == "utils.py":
            yield Finding(path, 0, "name the module after its one concept, not utils")


def check_locals(root: Path) -> Iterator[Finding]:
    for path in python_files(root, ["src"]):
        text = path.read_text(encoding="utf-8")
        if not MAY_BIND.search(text):
            continue  # to walk through all trees takes ten times as long
        for name in local_names(ast.parse(text)):
            if name.id in VAGUE:
                yield Finding(path, name.lineno, f"name {name.id!r} after what it holds")


def local_names(node: ast.AST, in_class: bool = False) -> Iterator[ast.Name]:
    """The names that are bound inside a tree, except fields of classes."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner
        elif not (in_class and isinstance(inner, ast.AnnAssign)):
            yield from local_names(inner, isinstance(inner, ast.ClassDef))


def check_mirror(root: Path) -> Iterator[Finding]:
    source = root / "src" / "millrace"
    packages = {path.parent for path in python_files(root, ["src"]) if is_own_module(path)}
    for package in sorted(packages - {source}):
        tests = root / "tests" / package.relative_to(source)
        if not any(tests.glob("test_*.py")):
            yield Finding(package, 0, f"has no tests: add {tests.relative_to(root)}/test_*.py")


def check_imports(root: Path) -> Iterator[Finding]:
    for path in python_files(root, ["tests"]):
        if path.name == "__init__.py":
            yield Finding(path, 0, "folders of tests are no packages: remove this file")


def check_todo(root: Path) -> Iterator[Finding]:
    for path in python_files(root, PYTHON_FOLDERS):
        if not MARKER.search(path.read_text(encoding="utf-8")):
            continue  # to find the comments takes a hundred times as long
        for line, comment in comments(path):
            match = MARKER.search(comment)
            if match and len(match["reason"].split()) < MIN_REASON_WORDS:
                yield Finding(path, line, f"{match[1]} without a reason: say why it is left")


def check_paths(root: Path) -> Iterator[Finding]:
    for path in files(root, ["src", "docs"]):
        if path.suffix not in TEXT_SUFFIXES:
            continue
        for number, line in enumerate(read_lines(path), start=1):
            match = MACHINE_PATH.search(line)
            if match:
                yield Finding(path, number, f"path of somebody's machine: {match[0]}")


def check_classes(root: Path) -> Iterator[Finding]:
    known: dict[str, Path] = {}
    for path in python_files(root, ["src"]):
        for name, line in outline_of(path).classes:
            if name.startswith("_") or name in SAME_NAMES:
                continue
            other = known.setdefault(name, path)
            if other != path:
                where = other.relative_to(root)
                yield Finding(path, line, f"class {name} is in {where}, too")


def check_circles(root: Path) -> Iterator[Finding]:
    modules = modules_of(root)
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        named = {each for each in imports(path, modules) if (name, each) not in TO_UNTIE}
        found = set(map(circle_of, named))
        graph.setdefault(circle_of(name), set()).update(found - {circle_of(name)})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = list(dict.fromkeys(error.args[1]))
        path = modules.get(circle[0], root / "src")
        yield Finding(path, 0, f"modules import each other: {' and '.join(circle)}")


def check_undo(root: Path) -> Iterator[Finding]:
    for path in python_files(root, ["src"]):
        if "state" in path.relative_to(root).parts:
            continue
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "undo" in text else ():
            if isinstance(node, ast.Attribute) and node.attr == "undo":
                yield Finding(path, node.lineno, "leave undo logs to the methods of tables")


def check_targets(root: Path) -> Iterator[Finding]:
    modules = modules_of(root)
    explained = missing_names(modules.get("millrace.missing_modules"))
    for path in python_files(root, [each for each in PYTHON_FOLDERS if each != "src"]):
        for module, name, line in outline_of(path).imports:
            if module.split(".")[0] != "millrace" or f"{module}.{name}" in modules:
                continue
            target = modules.get(module)
            if target is None:
                yield Finding(path, line, f"there is no module {module}")
            elif not {name, "*", "__getattr__"} & outline_of(target).names and (
                module not in explained or name not in explained[module]
            ):
                yield Finding(path, line, f"{module} has no {name}")


def missing_names(path: Path | None) -> dict[str, frozenset[str]]:
    """The names that modules explain and do not have: `MISSING_NAMES` of the module that says so,
    which imports nothing of ours."""
    if path is None:
        return {}
    found: dict[str, dict[str, str]] = runpy.run_path(str(path))["MISSING_NAMES"]
    return {module: frozenset(names) for module, names in found.items()}


def modules_of(root: Path) -> dict[str, Path]:
    """Our modules by name."""
    return {module_name(path, root / "src"): path for path in python_files(root, ["src"])}


def module_name(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method: name, first line, and number of lines without its docstring."""

    name: str
    line: int
    lines: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The parts of a module that several rules read."""

    functions: tuple[Function, ...]
    classes: tuple[tuple[str, int], ...]
    """Names and first lines of those that are in no other class or function."""
    imports: tuple[tuple[str, str, int], ...]
    """Modules, the names imported from them, and the lines: when the module is loaded, for type
    annotations, and inside functions."""
    names: frozenset[str]
    """Names that the module has. `*` if it takes all names of another one."""


@cache
def outline_of(path: Path) -> Outline:
    tree = ast.parse(path.read_bytes())
    functions: list[Function] = []
    imported: list[tuple[str, str, int]] = []
    for node in statements(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append(Function(node.name, node.lineno, lines_of_code(node)))
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            imported.extend((node.module, alias.name, node.lineno) for alias in node.names)
    classes = ((node.name, node.lineno) for node in tree.body if isinstance(node, ast.ClassDef))
    names = frozenset(bound_names(tree))
    return Outline(tuple(functions), tuple(classes), tuple(imported), names)


def bound_names(node: ast.AST) -> Iterator[str]:
    """Names that a module binds when it is loaded."""
    for inner in direct_statements(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield inner.name
            continue
        if isinstance(inner, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.split(".")[0] for alias in inner.names)
        elif isinstance(inner, ast.Assign | ast.AnnAssign):
            targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
            for target in targets:
                yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))
        yield from bound_names(inner)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements in a module, and the handlers and cases between them; no expressions, which
    are most of a tree."""
    for inner in direct_statements(node):
        yield inner
        yield from statements(inner)


def direct_statements(node: ast.AST) -> Iterator[ast.AST]:
    for part in ("body", "handlers", "orelse", "finalbody", "cases"):
        yield from getattr(node, part, ())


def imports(path: Path, modules: Iterable[str]) -> Iterator[str]:
    """Our modules that a module imports."""
    for module, name, _ in outline_of(path).imports:
        inner = f"{module}.{name}"
        if inner in modules or module in modules:
            yield inner if inner in modules else module


def circle_of(module: str) -> str:
    return next((circle.pattern for circle in CIRCLES if circle.fullmatch(module)), module)


def files(root: Path, folders: Iterable[str]) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def python_files(root: Path, folders: Iterable[str]) -> Iterator[Path]:
    return (path for path in files(root, folders) if path.suffix == ".py")


def is_own_module(path: Path) -> bool:
    return path.name not in {"__init__.py", "__main__.py"}


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def comments(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    findings = check(root)
    for finding in findings:
        print(finding.relative_to(root))
    print(f"house rules: {len(findings)} broken" if findings else "house rules: kept")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
