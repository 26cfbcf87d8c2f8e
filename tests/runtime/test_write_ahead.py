"""Writes that wait until their checkpoint is complete."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from millrace.common.config.restart_strategy import RestartStrategies
from millrace.common.errors import JobExecutionError
from millrace.common.sink import (
    CommitMode,
    CommitRequest,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
    WriterEpoch,
)
from millrace.common.types.batch import BatchForm, ColumnBatch, RowBatch
from millrace.common.types.row import Row, RowKind
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.write_ahead import WriteAheadSink, WriteAheadWriter
from millrace.testing import Faults, run_local
from millrace.testing.resident_tasks import local_resident_executor


class Target:
    """What was written, and the calls of the writers."""

    rows: ClassVar[list[Any]] = []
    calls: ClassVar[list[str]] = []
    failures: ClassVar[int] = 0


class DirectWriter(SinkWriter[Any]):
    def begin_epoch(self, epoch: WriterEpoch) -> None:
        Target.calls.append("begin")

    def write(self, batch: RowBatch[Any]) -> None:
        if Target.failures:
            Target.failures -= 1
            raise OSError("the server is away")
        Target.rows += batch.values

    def write_columns(self, batch: ColumnBatch) -> None:
        Target.rows += batch.to_rows().values

    def flush(self, end_of_input: bool) -> None:
        Target.calls.append("flush")

    def close(self) -> None:
        Target.calls.append("close")


class Direct(Sink[Any]):
    takes = BatchForm.EITHER

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return DirectWriter()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    Target.rows, Target.calls, Target.failures = [], [], 0


def writer() -> WriteAheadWriter:
    made = WriteAheadSink(Direct()).create_writer(WriterContext(0, 1, "run"), None)
    assert isinstance(made, WriteAheadWriter)
    return made


def commit(made: WriteAheadWriter, committables: Sequence[Any]) -> None:
    committer = WriteAheadSink(Direct()).create_committer(CommitterContext(0, 1, made))
    assert committer is not None
    committer.commit([CommitRequest(each) for each in committables])


def test_batches_of_both_forms_are_written_in_order_when_they_are_committed() -> None:
    made = writer()
    made.begin_epoch(WriterEpoch(3, "run-3", 0))
    deleted = Row.of_kind(RowKind.DELETE, 1, "a")
    made.write(RowBatch([deleted, {"n": [1]}], [5, 6]))
    made.write_columns(ColumnBatch(pa.record_batch({"x": [1, 2]}), form="tuple"))
    made.write_columns(ColumnBatch(pa.record_batch({"x": [3]}), form="tuple"))
    made.write_columns(ColumnBatch(pa.record_batch({"y": ["z"]}), form="tuple"))
    made.write(RowBatch(["end"]))
    committables = pickle.loads(pickle.dumps(made.prepare_commit(False)))
    assert Target.rows == []
    assert made.prepare_commit(False) == ()
    commit(made, committables)
    assert Target.rows == [deleted, {"n": [1]}, (1,), (2,), (3,), ("z",), "end"]
    assert Target.rows[0].get_row_kind() is RowKind.DELETE
    assert Target.calls == ["begin", "flush"]
    made.close()
    assert Target.calls[-1] == "close"


def test_a_later_change_of_a_logged_record_is_not_written() -> None:
    made, record = writer(), {"n": 1}
    made.write(RowBatch([record]))
    record["n"] = 2
    commit(made, made.prepare_commit(False))
    assert Target.rows == [{"n": 1}]


def test_a_write_that_fails_fails_the_job_so_that_later_writes_do_not_overtake_it() -> None:
    made = writer()
    made.write(RowBatch([1]))
    Target.failures = 1
    with pytest.raises(JobExecutionError, match="OSError: the server is away"):
        commit(made, made.prepare_commit(False))


def test_the_wrapped_sink_keeps_its_form() -> None:
    sink = WriteAheadSink(Direct())
    assert sink.takes is BatchForm.EITHER
    assert sink.commit_mode is CommitMode.IN_SUBTASK


@pytest.mark.parametrize("resident", [False, True])
def test_a_job_writes_all_in_the_order_of_each_key(tmp_path: Path, resident: bool) -> None:
    Target.failures = 1
    with run_local(
        2,
        3,
        epoch_records=7,
        checkpoint_dir=str(tmp_path),
        faults=None if resident else Faults(0.2, 0.2, in_a_row=2),
        executor=local_resident_executor if resident else None,
    ):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        env.enable_checkpointing(1)
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
        numbers = env.from_collection([(n % 5, n) for n in range(100)])
        numbers.key_by(lambda pair: pair[0]).map(lambda pair: pair).sink_to(
            WriteAheadSink(Direct())
        )
        env.execute("logged")
    last = dict(Target.rows)
    assert last == {key: 95 + key for key in range(5)}
    assert set(Target.rows) == {(n % 5, n) for n in range(100)}
