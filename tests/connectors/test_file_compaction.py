"""Compaction: what several checkpoints wrote becomes one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millrace.common import Encoder, Types
from millrace.common.errors import JobDefinitionError
from millrace.common.types.batch import RowBatch
from millrace.connectors import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    RollingPolicy,
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.formats import CsvEncoder, ParquetBulkWriters
from millrace.testing import run_local

CONCAT = FileCompactor.concat_file_compactor()
ON_CHECKPOINT = RollingPolicy.on_checkpoint_rolling_policy()


def every(checkpoints: int) -> FileCompactStrategy:
    return FileCompactStrategy.builder().enable_compaction_on_checkpoint(checkpoints).build()


def builder(path: Path, encoder: Encoder[Any] | None = None) -> Any:
    made = FileSink.for_row_format(path, encoder or Encoder.simple_string_encoder())
    made.with_rolling_policy(ON_CHECKPOINT)
    return made.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())


def checkpoint(harness: Any, values: list[Any], end_of_input: bool = False) -> None:
    """An epoch after which there is a checkpoint."""
    harness.epoch += 1
    writer = harness.writer()
    if harness.epoch > 1:
        writer.notify_checkpoint_complete(harness.epoch - 1)
    writer.write(RowBatch(values))
    harness.committables += writer.prepare_commit(end_of_input)
    harness.states[0] = writer.snapshot_state()
    harness.wakeup = writer.next_wakeup()
    writer.close()
    harness.commit()


def files(path: Path) -> list[str]:
    return [f.read_text() for f in sorted(path.iterdir()) if not f.name.startswith(".")]


def test_several_checkpoints_make_one_file(sink_harness, output) -> None:
    """Nothing of it is seen before, and nothing is left over."""
    harness = sink_harness(builder(output.path).enable_compact(every(3), CONCAT).build())
    seen = []
    for number in range(7):
        checkpoint(harness, [number], end_of_input=number == 6)
        seen.append(len(output.visible()))
    assert seen == [0, 0, 1, 1, 1, 2, 3]
    assert files(output.path) == ["0\n1\n2\n", "3\n4\n5\n", "6\n"]
    assert output.hidden() == []


def test_what_stands_between_files(sink_harness, output) -> None:
    """A header is written once for all of them."""
    compactor = FileCompactor.concat_file_compactor(b"--\n")
    encoder = CsvEncoder.for_columns("n")
    harness = sink_harness(
        builder(output.path, encoder).enable_compact(every(2), compactor).build()
    )
    checkpoint(harness, [{"n": 1}])
    checkpoint(harness, [{"n": 2}])
    assert files(output.path) == ["n\n1\n--\n2\n"]


def test_files_are_joined_up_to_a_size(sink_harness, output) -> None:
    """However many checkpoints that takes; not for ever if nothing comes."""
    strategy = (
        FileCompactStrategy.builder().set_size_threshold(6).set_num_compact_threads(4).build()
    )
    harness = sink_harness(builder(output.path).enable_compact(strategy, CONCAT).build())
    for number in range(4):
        checkpoint(harness, [number])
    assert files(output.path) == ["0\n1\n2\n"]
    assert harness.wakeup == harness.clock.now + 60_000
    harness.clock.now += 60_000
    checkpoint(harness, [])
    assert files(output.path) == ["0\n1\n2\n", "3\n"]


@pytest.mark.parametrize("switch", ["identical", "disabled"])
def test_files_stay_as_they_are(switch: str, sink_harness, output) -> None:
    """With the compactor that copies, and when compaction is switched off again."""
    if switch == "identical":
        made = builder(output.path).enable_compact(
            every(2), FileCompactor.identical_file_compactor()
        )
    else:
        made = builder(output.path).enable_compact(every(2), CONCAT).disable_compact()
    harness = sink_harness(made.build())
    for number in range(3):
        checkpoint(harness, [number])
    assert files(output.path) == ["0\n", "1\n", "2\n"]


def test_a_job_with_compaction(tmp_path: Path) -> None:
    """Every line is there once, in fewer files than checkpoints."""
    with run_local(epoch_records=5, checkpoint_dir=str(tmp_path / "checkpoints")) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment().enable_checkpointing(0)
        sink = builder(tmp_path / "out").enable_compact(every(4), CONCAT).build()
        env.from_collection(range(100)).sink_to(sink)
        env.execute()
    found = files(tmp_path / "out")
    assert sorted(int(line) for text in found for line in text.split()) == list(range(100))
    assert 1 < len(found) < len(cluster.progress) / 2


def test_refusals(tmp_path: Path) -> None:
    """A strategy without an end, and files that cannot be concatenated."""
    with pytest.raises(JobDefinitionError, match="needs enable_compaction_on_checkpoint or"):
        FileCompactStrategy.Builder().build()
    with pytest.raises(JobDefinitionError, match="must be positive, not 0"):
        every(0)
    bulk = FileSink.for_bulk_format(
        tmp_path, ParquetBulkWriters.for_row_type(Types.ROW_NAMED(["a"], [Types.INT()]))
    )
    with pytest.raises(JobDefinitionError, match="cannot be concatenated"):
        bulk.enable_compact(every(2), CONCAT)
    assert bulk.enable_compact(every(2), FileCompactor.identical_file_compactor()) is bulk
    with pytest.raises(JobDefinitionError, match="takes a FileCompactStrategy and a FileCompactor"):
        builder(tmp_path).enable_compact(2, CONCAT)
