"""States are addressed by uid and name: those of operators ``a`` and ``a/b`` never interfere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.common.config.configuration import Configuration
from millrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.internal_tables import EVENT_TIMERS, PROCESSING_TIMERS
from millrace.state.snapshot_diff import diff_snapshots
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state.table_id import TableId
from millrace.testing import MiniJob

UIDS = ("a", "a/b", "a/@window")
"""Uids of operators whose states have the same names."""


class Counter(KeyedProcessFunction):
    """Counts the records of a key in steps of its own."""

    def __init__(self, step: int) -> None:
        self._step = step

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("n"))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        self._count.update((self._count.value() or 0) + self._step)
        ctx.timer_service().register_event_time_timer(1000 * self._step)
        yield value


def advanced(directory: Path, parallelism: int, records: str, resume: bool) -> None:
    """Run a job with both operators over all of ``records``, on from the last checkpoint."""
    with MiniJob(
        parallelism,
        checkpoint_dir=str(directory),
        configuration=Configuration({"pipeline.max-parallelism": 8}),
        resume=resume,
    ) as job:
        source = job.source("letters")
        stream = source.stream
        for step, uid in enumerate(UIDS, 1):
            stream = stream.key_by(str).process(Counter(step)).uid(uid)
        job.collect(stream)
        source.push(*records, timestamp=0)
        job.process()


def states(directory: Path) -> dict[TableId, dict[Any, Any]]:
    (job_dir,) = directory.iterdir()
    reader = SnapshotReader(open_snapshot(job_dir, trusted=True))
    return {
        info.table: {entry.key: entry.value for entry in reader.entries(info)}
        for info in reader.states()
        if info.uid in UIDS
    }


@pytest.mark.parametrize(("before", "after"), [(2, 2), (2, 3), (3, 1)])
def test_uids_that_begin_alike(tmp_path: Path, before: int, after: int) -> None:
    """Neither in a snapshot nor after a rescale."""
    directory = tmp_path / "job"
    for parallelism, records, resume in ((before, "xxy", False), (after, "xxyz", True)):
        advanced(directory, parallelism, records, resume)
        found = states(directory)
        assert set(found) == {
            TableId(uid, name) for uid in UIDS for name in ("n", EVENT_TIMERS, PROCESSING_TIMERS)
        }
        for step, uid in enumerate(UIDS, 1):
            counts = {key: step * records.count(key) for key in set(records)}
            assert found[TableId(uid, "n")] == counts
            assert found[TableId(uid, EVENT_TIMERS)] == dict.fromkeys(counts, 1000 * step)


def test_a_diff_of_uids_that_begin_alike(tmp_path: Path) -> None:
    """Each state is compared with itself."""
    readers = []
    for name, records in (("old", "xy"), ("new", "xxy")):
        advanced(tmp_path / name, 2, records, resume=False)
        (job_dir,) = (tmp_path / name).iterdir()
        readers.append(SnapshotReader(open_snapshot(job_dir, trusted=True)))
    diffs = {diff.table: diff for diff in diff_snapshots(*readers)}
    for step, uid in enumerate(UIDS, 1):
        table = TableId(uid, "n")
        (sample,) = diffs[table].samples
        assert (sample.change, sample.old, sample.new) == ("changed", step, 2 * step)
        assert (diffs[table].added, diffs[table].same, diffs[table].removed) == (0, 1, 0)
