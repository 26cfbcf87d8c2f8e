"""Python files that a program adds to its jobs, in the local executor."""

from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local


def added(value: int) -> int:
    from searched_rules import add  # type: ignore[import-not-found]

    result: int = add(value)
    return result


@pytest.mark.parametrize("kind", ["file", "directory", "zip"])
@pytest.mark.parametrize("amount", [2, 3])
def test_functions_import_from_them(tmp_path: Path, kind: str, amount: int) -> None:
    """They are forgotten behind the context: the next job may have another file of the name."""
    file = tmp_path / "searched_rules.py"
    file.write_text(f"def add(value): return value + {amount}", encoding="utf-8")
    packed = tmp_path / "rules.zip"
    with ZipFile(packed, "w") as archive:
        archive.write(file, file.name)
    before = list(sys.path)
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.add_python_file(str({"file": file, "directory": tmp_path, "zip": packed}[kind]))
        numbers = env.from_collection([1, 2]).map(added)
        assert sorted(numbers.execute_and_collect()) == [1 + amount, 2 + amount]
    assert sys.path == before
    assert "searched_rules" not in sys.modules
