"""Savepoints of all versions of the format are opened by this one, to the last value."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.snapshot_reader import SnapshotReader

FIXTURES = Path(__file__).parents[1] / "fixtures"
sys.path.insert(0, str(FIXTURES))
VERSIONS = sorted(path.name for path in FIXTURES.glob("savepoint-v*"))


def test_there_is_one_for_each_version() -> None:
    """A list that is empty by mistake would test nothing."""
    assert "savepoint-v2" in VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("parallelism", [2, 3])
def test_the_job_goes_on(version: str, parallelism: int, tmp_path: Path) -> None:
    """With all its state, at the same and at another parallelism."""
    from savepoint_job import run

    moved = shutil.copytree(FIXTURES / version / "savepoint", tmp_path / "moved")
    rest, _ = run(str(tmp_path), parallelism, start_from=str(moved))
    assert rest == (FIXTURES / version / "expected.txt").read_text().splitlines()


@pytest.mark.parametrize("version", VERSIONS)
def test_all_states_can_be_looked_into(version: str) -> None:
    """Without the job."""
    reader = SnapshotReader(open_snapshot(FIXTURES / version / "savepoint"))
    names = {(info.uid, info.name) for info in reader.states()}
    assert {
        ("remember", "value"), ("remember", "expiring-map"), ("judge", "rules"),
        ("counted", "split"), ("sums", "@reduce"), ("remember", "@event-timers"),
    } <= names  # fmt: skip
    for info in reader.states():
        assert list(reader.entries(info)) or info.internal
