"""A divided run in which files are collected when it is their turn."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from by_file import CollectsByFile

RUNS = Path(__file__).parent

CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def server(tmp_path_factory):
    # once in a process
    yield open(tmp_path_factory.getbasetemp() / "server", "x")
"""
USES = """
import pytest

@pytest.mark.parametrize("n", range(3))
def test_use(n, server):
    assert not server.closed

def test_that_fails():
    assert {fails} is False

@pytest.mark.skip
def test_skipped():
    pass

class Doc:
    '''
    >>> 1 + 1
    2
    '''
"""
FILES = {
    "conftest.py": CONFTEST,
    "part/test_a.py": USES.format(fails=False),
    "part/test_empty.py": "",
    "test_a.py": USES.format(fails=True),
    "test_b.py": USES.format(fails=False),
    "test_cannot_be_imported.py": "import nothing_of_that_name",
    "test_empty.py": "",
    "test_z.py": USES.format(fails=False),
    "pytest.ini": "[pytest]\naddopts = --doctest-modules --import-mode=importlib\n",
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def divided(directory: Path, processes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    plugins = ["-p", "xdist", "-p", "by_file", "-n", str(processes)]
    plugins += ["--dist", "loadfile", "--no-loadscope-reorder"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "-rfE", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(RUNS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("processes", [1, 2])
def test_all_tests_run_once_and_are_reported(processes: int, files: Path) -> None:
    done = divided(files, processes)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "1 failed, 19 passed, 4 skipped, 1 error" in done.stdout
    assert "FAILED test_a.py::test_that_fails" in done.stdout
    assert "ERROR test_cannot_be_imported.py" in done.stdout


def test_single_tests_can_be_named(files: Path) -> None:
    done = divided(files, 2, "test_a.py::test_use", "test_b.py::test_that_fails")
    assert done.returncode == pytest.ExitCode.OK, done.stdout + done.stderr
    assert "4 passed" in done.stdout


def test_slow_files_are_first_and_properties_before_the_rest(tmp_path: Path) -> None:
    texts = {
        "a": "def test(): pass",
        "b": "from hypothesis import given",
        "c": "@pytest.mark.fault",
        "d": "from hypothesis import given; pytestmark = pytest.mark.spark",
        "e": "",
    }
    items: list[Any] = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        items.append(SimpleNamespace(path=tmp_path / name))
    CollectsByFile().pytest_collection_modifyitems(items)
    assert "".join(item.path.name for item in items) == "dcbae"
