"""Lists first lines of docstrings, or draws a sample, for readers who are new to the code.

A reader says what each line means without looking at its code; a line that cannot be understood
after one reading is rewritten (CONTRIBUTING.md, "Plain English").

    python scripts/first_lines.py                                  # all lines
    python scripts/first_lines.py src/millrace/cep                 # the lines of a room
    python scripts/first_lines.py --sample 200 --seed 20261127     # the same sample in each run

Counted are modules, classes, and public functions and methods.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class FirstLine(NamedTuple):
    """The first line of a docstring."""

    path: Path
    line: int
    name: str
    """Qualified name in the module; the module's own name for its docstring."""
    text: str


def first_lines(paths: list[Path]) -> Iterator[FirstLine]:
    """Yield the first lines in modules, in the order of the paths and of the source."""
    for path in paths:
        module = ast.parse(path.read_text("utf-8"))
        yield from own_line(path, module, path.stem)
        yield from lines_within(path, module, "")


def lines_within(path: Path, parent: ast.Module | ast.ClassDef, prefix: str) -> Iterator[FirstLine]:
    """Yield the first lines of the classes and public functions in a module or class."""
    for node in parent.body:
        if isinstance(node, ast.ClassDef):
            yield from own_line(path, node, prefix + node.name)
            yield from lines_within(path, node, f"{prefix}{node.name}.")
        elif isinstance(node, FUNCTIONS) and "._" not in f".{prefix}{node.name}":
            yield from own_line(path, node, prefix + node.name)


def own_line(
    path: Path, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, name: str
) -> Iterator[FirstLine]:
    """Yield the first line of a node's docstring; nothing if the node has no docstring."""
    docstring = ast.get_docstring(node)
    if docstring:
        paragraph = docstring.split("\n\n", maxsplit=1)[0]
        yield FirstLine(path, node.body[0].lineno, name, " ".join(paragraph.split()))


def modules_below(paths: list[Path]) -> list[Path]:
    """Modules below folders, and the modules among the paths, sorted."""
    return sorted(
        module for path in paths for module in (path.rglob("*.py") if path.is_dir() else [path])
    )


def main(arguments: list[str]) -> int:
    """Print the first lines of the arguments' paths, or a sample of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT / "src" / "millrace"])
    parser.add_argument("--sample", type=int, help="number of lines to draw")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    options = parser.parse_args(arguments)
    lines = list(first_lines(modules_below([path.resolve() for path in options.paths])))
    if options.sample:
        drawn = random.Random(options.seed).sample(range(len(lines)), options.sample)
        lines = [lines[index] for index in drawn]
    for number, line in enumerate(lines, start=1):
        place = f"{line.path.relative_to(ROOT)}:{line.line}"
        print(f"{number:4} {line.text}\n     {place} {line.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
