"""Python files and archives that a program adds to its jobs, in the local executor."""

from __future__ import annotations

import os
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from millrace.common.errors import ConfigurationError
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


def counted(value: int) -> int:
    import searched_counts  # type: ignore[import-not-found]

    searched_counts.calls += 1
    return value


def test_modules_that_were_found_elsewhere_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project's files may lie below a directory that a job adds; of their classes there must not
    be two."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "searched_counts.py").write_text("calls = 0", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.add_python_file(str(tmp_path))
        assert sorted(env.from_collection([1, 2]).map(counted).execute_and_collect()) == [1, 2]
    assert sys.modules["searched_counts"].calls == 2
    monkeypatch.delitem(sys.modules, "searched_counts")


def read(name: str) -> str:
    return Path(name).read_text(encoding="utf-8")


def test_functions_open_what_archives_have(tmp_path: Path) -> None:
    """Each job has its own, below the working directory of its functions alone."""
    text = tmp_path / "text.txt"
    text.write_text("one", encoding="utf-8")
    with ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.write(text, "in/text.txt")
    text.write_text("two", encoding="utf-8")
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as tar:
        tar.add(text, "text.txt")
    before = os.getcwd()
    with run_local(workers=2, seed=1, epoch_records=1):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.add_python_archive(str(tmp_path / "a.zip"), "data")
        env.add_python_archive(str(tmp_path / "b.tar.gz"))
        names = env.from_collection(["data/in/text.txt", "b.tar.gz/text.txt"])
        assert sorted(names.map(read).execute_and_collect()) == ["one", "two"]
        assert os.getcwd() == before
        other = StreamExecutionEnvironment.get_execution_environment()
        there = other.from_collection(["data"]).map(os.path.exists)
        assert list(there.execute_and_collect()) == [False]
    assert os.getcwd() == before


@pytest.mark.parametrize(
    ("name", "reason"), [("none.zip", "does not exist"), ("text.txt", "is not one of the archives")]
)
def test_archives_that_cannot_be_unpacked(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "text.txt").write_text("", encoding="utf-8")
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.add_python_archive(str(tmp_path / name))
        numbers = env.from_collection([1])
        with pytest.raises(ConfigurationError, match=rf"{name}.*{reason}"):
            numbers.execute_and_collect()
