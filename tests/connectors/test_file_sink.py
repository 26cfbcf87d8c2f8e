"""FileSink: every record in exactly one visible part, whatever fails."""

import contextlib
import errno
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import Encoder
from millrace.common.types.batch import BatchForm, ColumnBatch, RowBatch
from millrace.connectors import (
    BucketAssigner,
    ConnectorError,
    FileSink,
    OutputFileConfig,
    PartFileError,
    RollingPolicy,
    StreamingFileSink,
    work_files_in_use,
)
from millrace.connectors.part_file import Chunk, FileWriterState, OpenPart
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.formats import CsvEncoder, ParquetBulkWriters

reuse = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
ON_CHECKPOINT = RollingPolicy.on_checkpoint_rolling_policy()


def first_letter(value: str, context: Any) -> str:
    return f"letter={value[0]}"


def bad_bucket(value: str, context: Any) -> str:
    return "_hidden"


def text_sink(path: Path, policy: RollingPolicy | None = None, bucket: Any = None) -> FileSink:
    return (
        FileSink.for_row_format(path, Encoder.simple_string_encoder())
        .with_bucket_assigner(bucket or BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(policy or RollingPolicy.default_rolling_policy())
        .with_output_file_config(OutputFileConfig.builder().with_part_suffix(".txt").build())
        .build()
    )


def test_nothing_is_visible_before_the_commit(sink_harness, output) -> None:
    harness = sink_harness(text_sink(output.path, ON_CHECKPOINT))
    harness.write_epoch(["a", "b"])
    assert output.visible() == []
    assert len(output.hidden()) == 1
    harness.commit()
    assert output.visible() == ["part-run-0-0.txt"]
    assert output.hidden() == []
    assert output.lines() == ["a", "b"]


def test_the_clock_goes_on_within_an_epoch(sink_harness, output) -> None:
    """Resident tasks keep an epoch open while records arrive."""
    policy = RollingPolicy.default_rolling_policy(rollover_interval=10_000)
    buckets = BucketAssigner.date_time_bucket_assigner("ss", "UTC")
    harness = sink_harness(text_sink(output.path, policy, buckets))
    harness.clock.now = 0
    writer = harness.writer()
    writer.write(RowBatch(["first"]))
    harness.clock.now = 5_000
    writer.write(RowBatch(["second"]))
    harness.clock.now = 10_000
    committables = writer.prepare_commit(False)  # the first part is old enough, the second is not
    assert len(committables) == 1
    assert [part.bucket for part in writer.snapshot_state().parts] == ["05"]
    assert writer.next_wakeup() == 15_000


def test_a_part_grows_over_epochs_until_it_is_old(sink_harness, output) -> None:
    policy = RollingPolicy.default_rolling_policy(rollover_interval=10_000)
    harness = sink_harness(text_sink(output.path, policy))
    start = harness.clock.now
    for i in range(5):
        harness.run_epoch([f"line {i}"])
        assert harness.wakeup == start + 10_000
        harness.clock.now += 1000
    assert output.visible() == []
    harness.clock.now = start + 9_999
    harness.run_epoch([])
    assert output.visible() == []
    harness.clock.now = start + 10_000
    harness.run_epoch([])
    assert (output.path / "part-run-0-0.txt").read_text() == "".join(
        f"line {i}\n" for i in range(5)
    )
    assert output.hidden() == []
    assert harness.wakeup is None


def test_a_part_without_new_records_ends_after_a_while(sink_harness, output) -> None:
    policy = RollingPolicy.default_rolling_policy(inactivity_interval=2000)
    harness = sink_harness(text_sink(output.path, policy))
    harness.run_epoch(["a"])
    harness.clock.now += 1500
    harness.run_epoch(["b"])
    assert harness.wakeup == harness.clock.now + 2000
    harness.clock.now += 2000
    harness.run_epoch([])
    assert output.lines() == ["a", "b"]


def test_a_big_part_ends_within_an_epoch(sink_harness, output) -> None:
    harness = sink_harness(text_sink(output.path, RollingPolicy.default_rolling_policy(10)))
    harness.epoch += 1
    writer = harness.writer()
    for batch in (["12345"], ["67890"], ["x"]):
        writer.write(RowBatch(batch))
    harness.committables += writer.prepare_commit(False)
    harness.states[0] = writer.snapshot_state()
    harness.commit()
    assert output.visible() == ["part-run-0-0.txt"]
    harness.run_epoch(["y"], end_of_input=True)
    assert output.visible() == ["part-run-0-0.txt", "part-run-0-1.txt"]
    assert output.lines() == ["12345", "67890", "x", "y"]


def test_the_end_of_input_ends_all_parts(sink_harness, output) -> None:
    harness = sink_harness(text_sink(output.path, bucket=first_letter))
    harness.run_epoch(["a1", "b1", "a2"])
    harness.run_epoch(["c1", "a3"])
    assert output.visible() == []
    harness.run_epoch([], end_of_input=True)
    assert output.lines() == ["a1", "a2", "a3", "b1", "c1"]
    assert output.hidden() == []
    assert {os.path.dirname(file) for file in output.visible()} == {
        "letter=a",
        "letter=b",
        "letter=c",
    }


def test_subtasks_and_runs_do_not_collide(sink_harness, output) -> None:
    for run_id in ("run-1", "run-2"):
        harness = sink_harness(text_sink(output.path, ON_CHECKPOINT), run_id)
        for subtask in (0, 1):
            harness.run_epoch([f"{run_id} {subtask}"], subtask)
    assert len(output.visible()) == 4


def test_a_part_keeps_its_name_when_another_subtask_goes_on_with_it(sink_harness, output) -> None:
    harness = sink_harness(text_sink(output.path))
    harness.run_epoch(["a"], subtask=1)
    harness.states[0] = harness.states.pop(1)
    harness.run_epoch(["b"], subtask=0, end_of_input=True)
    assert output.visible() == ["part-run-1-0.txt"]
    assert output.lines() == ["a", "b"]


STEPS = st.sampled_from(
    ["epoch", "epoch", "failed write", "failed prepare", "commit twice", "zombie", "wait"]
)


@reuse
@given(
    st.lists(st.tuples(STEPS, st.integers(0, 1), st.integers(0, 4)), max_size=25),
    st.sampled_from(["checkpoint", "default", "tiny"]),
    st.booleans(),
)
def test_every_record_is_visible_exactly_once_whatever_fails(
    sink_harness,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, int, int]],
    policy_name: str,
    buckets: bool,
) -> None:
    from_name = {
        "checkpoint": ON_CHECKPOINT,
        "default": RollingPolicy.default_rolling_policy(rollover_interval=3000),
        "tiny": RollingPolicy.default_rolling_policy(part_size=20),
    }
    path = tmp_path_factory.mktemp("out")
    sink = text_sink(path, from_name[policy_name], first_letter if buckets else None)
    harness = sink_harness(sink)
    expected: list[str] = []
    zombies = []
    for number, (step, subtask, count) in enumerate(steps):
        values = [f"{'ab'[i % 2]} {number} {i}" for i in range(count)]
        if step == "zombie":
            zombies.append((harness.writer(subtask), values))
        elif step.startswith("failed"):
            harness.fail_epoch(values, subtask, prepare=step == "failed prepare")
        elif step == "wait":
            harness.clock.now += 2000
        else:
            committables = harness.write_epoch(values, subtask)
            expected += values
            harness.commit()
            if step == "commit twice":
                harness.committables = committables
                harness.commit()
    for writer, values in zombies:
        # It may find that the chunks it was to go on with were finished without it.
        with contextlib.suppress(PartFileError):
            writer.write(RowBatch(values))
            writer.prepare_commit(False)
    for subtask in (0, 1):
        harness.run_epoch([], subtask, end_of_input=True)
    files = [p for p in path.rglob("*") if p.is_file() and not p.name.startswith(".")]
    assert sorted(line for p in files for line in p.read_text().splitlines()) == sorted(expected)


def test_a_long_part_in_short_epochs_has_few_chunks(sink_harness, output) -> None:
    harness = sink_harness(text_sink(output.path))
    for i in range(200):
        harness.run_epoch([str(i)])
        assert len(output.hidden()) < 2 * 32
        in_use = {
            os.path.relpath(p, output.path) for p in work_files_in_use(harness.states.values(), [])
        }
        assert in_use == set(output.hidden())
    harness.run_epoch([], end_of_input=True)
    assert (output.path / "part-run-0-0.txt").read_text().split() == [str(i) for i in range(200)]
    assert output.hidden() == []


def test_a_failed_attempt_that_is_closed_leaves_nothing(sink_harness, output) -> None:
    harness = sink_harness(text_sink(output.path))
    harness.run_epoch(["a"])
    before = output.hidden()
    writer = harness.writer()
    writer.write(RowBatch(["x"]))
    writer.close()
    assert output.hidden() == before


def test_an_epoch_without_records_writes_no_file(sink_harness, output) -> None:
    harness = sink_harness(text_sink(output.path, ON_CHECKPOINT))
    harness.run_epoch([])
    harness.run_epoch([], end_of_input=True)
    assert not output.path.exists()


def test_restoring_an_old_checkpoint_names_the_missing_piece(sink_harness, output) -> None:
    harness = sink_harness(text_sink(output.path))
    harness.run_epoch(["a"])
    old = harness.states[0]
    harness.run_epoch(["b"], end_of_input=True)
    harness.states[0] = old
    with pytest.raises(PartFileError, match="restore from the newest"):
        harness.run_epoch(["b"], end_of_input=True)


def test_two_sinks_with_one_name_are_told_apart_or_refused(sink_harness, output) -> None:
    sink = text_sink(output.path)
    first, second = sink_harness(sink), sink_harness(sink)
    first.write_epoch(["a"])
    with pytest.raises(PartFileError, match="Do two sinks"):
        second.write_epoch(["b"])


def test_a_csv_header_begins_each_part_once(sink_harness, output) -> None:
    sink = (
        FileSink.for_row_format(output.path, CsvEncoder.for_columns("a", "b"))
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    harness = sink_harness(sink)
    harness.run_epoch([{"a": 1, "b": 2}])
    harness.run_epoch([{"a": 3, "b": 4}], end_of_input=True)
    harness.run_epoch([{"a": 5, "b": 6}], end_of_input=True)
    contents = [(output.path / name).read_text() for name in output.visible()]
    assert contents == ["a,b\n1,2\n3,4\n", "a,b\n5,6\n"]


def test_parquet_parts_end_with_each_epoch(sink_harness, output) -> None:
    import pyarrow.parquet as pq

    sink = (
        FileSink.for_bulk_format(output.path, ParquetBulkWriters.for_row_type())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    harness = sink_harness(sink)
    harness.fail_epoch([{"a": 0}], prepare=False)
    for i in range(3):
        harness.run_epoch([{"a": i, "b": str(i)}])
    assert len(output.visible()) == 3
    rows = pq.read_table(output.path).to_pylist()
    assert rows == [{"a": i, "b": str(i)} for i in range(3)]


def test_wrong_arguments_are_refused(output) -> None:
    with pytest.raises(JobDefinitionError, match="takes an Encoder"):
        FileSink.for_row_format(output.path, str)  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match="takes a BulkWriterFactory"):
        FileSink.for_bulk_format(output.path, Encoder.simple_string_encoder())  # type: ignore[arg-type]
    builder = FileSink.for_bulk_format(output.path, ParquetBulkWriters.for_row_type())
    with pytest.raises(JobDefinitionError, match="on_checkpoint_rolling_policy"):
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy())
    with pytest.raises(JobDefinitionError, match="not a bucket assigner"):
        builder.with_bucket_assigner("day")  # type: ignore[arg-type]


def test_a_bucket_that_readers_ignore_is_refused(sink_harness, output) -> None:
    harness = sink_harness(text_sink(output.path, bucket=bad_bucket))
    with pytest.raises(ConnectorError, match="cannot be a bucket"):
        harness.write_epoch(["a"])


def test_the_older_name_works() -> None:
    assert StreamingFileSink is FileSink


@pytest.mark.parametrize(
    ("bucket", "path"),
    [
        ("", "{other}/.part-0-0.inprogress.run-1"),
        ("", "{out}/../other/.part-0-0.inprogress.run-1"),
        ("", "{out}/secret"),
        ("../other", "{out}/.part-0-0.inprogress.run-1"),
        ("{other}", "{out}/.part-0-0.inprogress.run-1"),
    ],
)
def test_restored_parts_are_of_the_sink(
    sink_harness, output, tmp_path: Path, bucket: str, path: str
) -> None:
    """A snapshot of somebody else may name any path: it is neither read nor written."""
    other = tmp_path / "other"
    harness = sink_harness(text_sink(output.path))
    chunk = Chunk(path.format(out=output.path, other=other), 4, 0)
    part = OpenPart(bucket.format(other=other), 0, 0, (chunk,), 0, 0)
    harness.states[0] = FileWriterState(1, (part,))
    with pytest.raises(ConnectorError):
        harness.writer()
    harness.states[0] = FileWriterState(1, (OpenPart("", "/../../x", 0, (), 0, 0),))  # type: ignore[arg-type]
    with pytest.raises(ConnectorError):
        harness.writer()


class ByParity(BucketAssigner[Any]):
    """Divides columns as columns."""

    takes = BatchForm.EITHER

    def get_bucket_id(self, value: Any, context: Any) -> str:
        raise AssertionError("a record was looked at")

    def group(self, batch: Any, now: int) -> dict[str, Any]:
        odd = pc.bit_wise_and(batch.data["n"], 1)
        return {
            name: ColumnBatch(batch.data.filter(pc.equal(odd, rest)))
            for rest, name in ((0, "even"), (1, "odd"))
        }


def parity(value: Any, context: Any) -> str:
    return str(value["n"] % 2)


def parquet_sink(path: Path, bucket: Any) -> FileSink:
    builder = FileSink.for_bulk_format(path, ParquetBulkWriters.for_row_type())
    return builder.with_bucket_assigner(bucket).build()


@pytest.mark.parametrize(
    ("bucket", "takes", "kind"),
    [
        (BucketAssigner.base_path_bucket_assigner(), BatchForm.EITHER, pa.int32()),
        (BucketAssigner.date_time_bucket_assigner(), BatchForm.EITHER, pa.int32()),
        (ByParity(), BatchForm.EITHER, pa.int32()),
        # records have no widths: theirs is what Arrow takes for whole numbers
        (parity, BatchForm.ROWS, pa.int64()),
    ],
)
def test_columns_stay_columns_unless_the_assigner_looks_at_records(
    sink_harness, output, bucket: Any, takes: BatchForm, kind: pa.DataType
) -> None:
    harness = sink_harness(parquet_sink(output.path, bucket))
    assert harness.sink.takes is takes
    writer = harness.writer()
    batch = ColumnBatch(pa.record_batch({"n": pa.array(range(10), pa.int32())}))
    if takes is BatchForm.ROWS:
        writer.write(batch.to_rows())
    else:
        writer.write_columns(batch)
        writer.write_columns(batch.slice(0, 0))
    harness.committables += writer.prepare_commit(True)
    harness.commit()
    tables = [pq.read_table(output.path / name, partitioning=None) for name in output.visible()]
    assert {table.schema.field("n").type for table in tables} == {kind}
    assert sorted(n for table in tables for n in table["n"].to_pylist()) == list(range(10))


def test_columns_become_rows_for_an_encoder_that_takes_rows(output) -> None:
    sink = FileSink.for_row_format(output.path, Encoder.simple_string_encoder()).build()
    assert sink.takes is BatchForm.ROWS
    assert text_sink(output.path, bucket=first_letter).takes is BatchForm.ROWS


def test_an_encoder_of_columns_gets_columns(sink_harness, output) -> None:
    builder = FileSink.for_row_format(output.path, CsvEncoder.for_columns("n"))
    sink = builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    harness = sink_harness(sink)
    writer = harness.writer()
    writer.write_columns(ColumnBatch(pa.record_batch({"n": [1, None]})))
    harness.committables += writer.prepare_commit(True)
    harness.commit()
    assert output.lines() == ['""', "1", "n"]


@pytest.mark.parametrize("chunks", [1, 2])
def test_a_failed_attempt_leaves_what_earlier_epochs_wrote(
    sink_harness, output, monkeypatch: pytest.MonkeyPatch, chunks: int
) -> None:
    harness = sink_harness(text_sink(output.path))
    for number in range(chunks):
        harness.run_epoch([str(number)])
    before = output.hidden()
    writer = harness.writer()

    def full(self: Any, locations: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(LocalFileSystem, "sync", full)
        with pytest.raises(OSError, match="No space"):
            writer.prepare_commit(end_of_input=True)
        writer.close()
    assert output.hidden() == before
    harness.run_epoch([], end_of_input=True)
    assert output.lines() == [str(number) for number in range(chunks)]


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_piece_does_not_become_a_part(sink_harness, output, damage: str) -> None:
    harness = sink_harness(text_sink(output.path))
    harness.run_epoch(["some text"])
    [chunk] = output.path.iterdir()
    if damage == "cut":
        chunk.write_text("some")
    else:
        chunk.unlink()
    with pytest.raises(PartFileError, match="this piece of an unfinished part is"):
        harness.run_epoch([], end_of_input=True)
