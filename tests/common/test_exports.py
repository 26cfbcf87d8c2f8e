"""The room's public surface is sorted, complete and free of other rooms."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import millrace.common

ROOM = Path(millrace.common.__file__).parent
MODULES = [info.name for info in pkgutil.walk_packages([str(ROOM)], "millrace.common.")]
WITH_ALL = [name for name in MODULES if hasattr(importlib.import_module(name), "__all__")]


@pytest.mark.parametrize("name", ["millrace.common", *WITH_ALL])
def test_all_is_sorted_and_importable(name: str) -> None:
    """`__all__` is sorted, has no doubles, and everything in it exists."""
    module = importlib.import_module(name)
    assert list(module.__all__) == sorted(set(module.__all__))
    assert [entry for entry in module.__all__ if not hasattr(module, entry)] == []


@pytest.mark.parametrize("path", sorted(ROOM.rglob("*.py")), ids=str)
def test_imports_only_its_own_room(path: Path) -> None:
    """The vocabulary depends on no other room."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    imported = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    ours = {name for name in imported if name.startswith("millrace")}
    assert {name for name in ours if not name.startswith("millrace.common")} == set()


def test_importing_needs_neither_spark_nor_arrow() -> None:
    """A worker or a test that needs the vocabulary must not pay for Spark."""
    code = "import sys, millrace.common; print({'pyspark', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
