"""Savepoints of all versions of the format are opened by this one, to the last value."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from millrace.engine.executor import Executor
from millrace.engine.resident.tasks import ResidentSettings
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.snapshot_reader import SnapshotReader
from millrace.testing.resident_tasks import local_resident_executor

FIXTURES = Path(__file__).parents[1] / "fixtures"
sys.path.insert(0, str(FIXTURES))
VERSIONS = sorted(path.name for path in FIXTURES.glob("savepoint-v*"))
ARCHIVES = sorted(FIXTURES.glob("savepoint-v*/*.zip"))
"""Savepoints of jobs of other APIs and backends, since 0.1.0."""
archives = pytest.mark.parametrize(
    "archive", ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
LATER = 10**9
"""Time in ms at which what waited in a savepoint is due."""


def test_there_is_one_for_each_version() -> None:
    """A list that is empty by mistake would test nothing."""
    assert {"savepoint-v2", "savepoint-v0.1.0"} <= set(VERSIONS)
    kept = {path.parent.name: set[str]() for path in ARCHIVES}
    for path in ARCHIVES:
        kept[path.parent.name].add(path.stem)
    assert kept["savepoint-v0.1.0"] == {"patterns", "rocksdb", "sql", "statefun"}


@pytest.mark.turns(7)
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


def resident_tasks() -> Executor:
    return local_resident_executor(2, ResidentSettings(barrier_interval=20), lambda: LATER)


@pytest.mark.turns(7)
@archives
@pytest.mark.parametrize("executor", ["epochs", "resident"])
def test_a_job_of_another_api_or_backend_goes_on(
    archive: Path, executor: str, tmp_path: Path
) -> None:
    """Its results before and after the savepoint are those of one run."""
    from saved_jobs import run, texts_of

    shutil.unpack_archive(archive, tmp_path / "savepoint")
    left, whole = texts_of(archive.with_suffix(".txt"))
    by = resident_tasks if executor == "resident" else None
    run(archive.stem, tmp_path, left, 3, start_from=tmp_path / "savepoint", executor=by)
    assert +left == whole


def test_state_of_rocksdb_is_restored_into_memory(tmp_path: Path) -> None:
    from saved_jobs import texts_of
    from savepoint_job import run

    archive = FIXTURES / "savepoint-v0.1.0" / "rocksdb.zip"
    shutil.unpack_archive(archive, tmp_path / "savepoint")
    left, whole = texts_of(archive.with_suffix(".txt"))
    rest, _ = run(str(tmp_path), 2, start_from=str(tmp_path / "savepoint"))
    assert left + Counter(rest) == whole


STATES = {
    "sql": {
        "@groups", "@values-1", "@left", "@right", "@rows", "@running", "@slices", "@sessions",
        "@partial-matches", "@matched-events", "sums", "@event-timers",
    },
    "patterns": {"@partial-matches", "@matched-events", "@waiting-events"},
    "statefun": {"states", "delayed", "@feedback"},
    "rocksdb": {"value", "@reduce"},
}  # fmt: skip


@archives
def test_archives_have_every_kind_of_state(archive: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(archive, tmp_path)
    reader = SnapshotReader(open_snapshot(tmp_path))
    names = {info.name for info in reader.states() if list(reader.entries(info))}
    assert STATES[archive.stem] <= names
