"""Looking into somebody's savepoint runs nothing of his."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Types
from millrace.datastream import KeyedProcessFunction
from millrace.datastream.state import ValueStateDescriptor
from millrace.state.canonical.savepoint import write_canonical_savepoint
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.testing import MiniJob


class Bomb:
    """Whoever unpickles it leaves a directory behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.makedirs, (str(self.path), 0o777, True)


class Wrapped:
    """Becomes a bomb when the savepoint is made."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Bomb, (self.path,)


class Keep(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.kept = runtime_context.get_state(
            ValueStateDescriptor("kept", Types.PICKLED_BYTE_ARRAY())
        )
        self.number = runtime_context.get_state(ValueStateDescriptor("number", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.kept.update(Wrapped(value) if isinstance(value, Path) else value)
        self.number.update((self.number.value() or 0) + 1)
        yield 0


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    return tmp_path / "trap"


@pytest.fixture
def foreign(tmp_path: Path, trap: Path) -> Path:
    """A savepoint with such a thing in it."""
    return savepoint_of(tmp_path / "jobs", trap, trap)


def savepoint_of(directory: Path, trap: Path, *values: Any) -> Path:
    """A savepoint of a job that has kept these values."""
    with MiniJob(checkpoint_dir=str(directory)) as job:
        source = job.source()
        job.collect(source.stream.key_by(lambda v: 1).process(Keep()).name("keep").uid("keep"))
        source.push(*values)
        job.process()
    if trap.exists():
        trap.rmdir()
    [job_dir] = directory.iterdir()
    found = open_snapshot(job_dir)
    path = directory / "savepoint"
    deltas = found.deltas.by_subtask()
    write_canonical_savepoint(path, str(job_dir), found.manifest, deltas, {})
    return path


def test_show_tells_all_but_the_number_of_these(foreign: Path, trap: Path, millrace: Any) -> None:
    told = millrace("savepoint", "show", foreign)
    assert told.code == 0
    assert "    kept (value)" in told.out.splitlines()
    assert "    number (value of LONG): 1 entry" in told.out.splitlines()
    assert "keep/kept was not counted" in told.err
    assert "--allow-pickle" in told.err
    assert not trap.exists()


def test_diff_leaves_them_out(foreign: Path, trap: Path, millrace: Any) -> None:
    """Not a checkpoint against itself, which needs no reading."""
    told = millrace("savepoint", "diff", foreign, foreign)
    assert (told.code, told.out) == (0, "no state differs\n")
    other = foreign.parent / "other"
    directory = savepoint_of(other, trap, 2, 3)
    told = millrace("savepoint", "diff", foreign, directory)
    assert told.code == 1
    assert told.out.splitlines() == [
        "keep (keep)",
        "  kept (value): not compared",
        "  number (value): 0 added, 1 changed, 0 removed",
        "    ~ 1: 1 -> 2",
    ]
    assert "keep/kept was not compared" in told.err
    assert "--allow-pickle" in told.err
    assert not trap.exists()


def test_only_who_trusts_it_reads_it(foreign: Path, trap: Path, millrace: Any) -> None:
    told = millrace("savepoint", "show", "--allow-pickle", foreign)
    assert "    kept (value): 1 entry" in told.out.splitlines()
    assert trap.exists()


def test_names_do_not_command_the_terminal(place: Any, millrace: Any) -> None:
    """Whoever made the savepoint chose the job's name."""
    path = place.savepoint(name="count\x1b[2J")
    for command in (("show", path), ("list",), ("tree",), ("diff", path, path)):
        told = millrace("savepoint", *command)
        assert told.code == 0, told.err
        assert "\x1b" not in told.out + told.err
    assert "\ufffd[2J" in millrace("savepoint", "show", path).out
