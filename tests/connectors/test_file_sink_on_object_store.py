"""A file sink on a disk and in an object store: the same tests."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest

from millrace.common.serialization import Encoder
from millrace.connectors.bucket_assigner import BucketAssigner
from millrace.connectors.errors import PartFileError
from millrace.connectors.file_sink import FileSink
from millrace.connectors.orphans import sweep_orphans
from millrace.connectors.rolling_policy import RollingPolicy
from millrace.filesystem.registry import file_system_of
from millrace.formats.parquet_writer import ParquetBulkWriters

FOR_EVER = RollingPolicy.default_rolling_policy(part_size=1 << 30)


class Output:
    """A directory as readers see it, and as it is."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.files = file_system_of(path)

    def sink(self, policy: RollingPolicy | None = None) -> FileSink:
        builder = FileSink.for_row_format(self.path, Encoder.simple_string_encoder())
        builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        return builder.with_rolling_policy(policy or FOR_EVER).build()

    def all(self) -> list[str]:
        found = self.files.list(self.path, recursive=True)
        return sorted(file.location for file in found)

    def hidden(self) -> list[str]:
        return [file for file in self.all() if "/." in file]

    def lines(self) -> list[str]:
        visible = [file for file in self.all() if "/." not in file]
        return sorted(line for file in visible for line in self.files.read(file).decode().split())


@pytest.fixture
def out(store_root: str) -> Output:
    return Output(f"{store_root}/out")


@pytest.mark.turns(5)
@pytest.mark.parametrize("policy", [None, RollingPolicy.on_checkpoint_rolling_policy()])
@pytest.mark.parametrize("again", [False, True])
def test_each_line_once(
    out: Output, sink_harness: Any, policy: RollingPolicy | None, again: bool
) -> None:
    """Over many epochs, with attempts that fail and commits that are repeated."""
    harness = sink_harness(out.sink(policy))
    expected = []
    for epoch in range(40):
        harness.fail_epoch([f"failed-{epoch}"], prepare=epoch % 2 == 0)
        harness.write_epoch([f"line-{epoch}"], end_of_input=epoch == 39)
        expected.append(f"line-{epoch}")
        if again:
            waiting = list(harness.committables)
            harness.commit()
            harness.committables = waiting
        harness.commit()
        if policy is not None:
            assert out.lines() == sorted(expected)
    assert out.lines() == sorted(expected)
    sweep_orphans(out.path, -1_000, ())
    assert out.hidden() == []
    assert list(out.files.uploads(out.path)) == []


@pytest.mark.turns(5)
def test_nothing_is_seen_before_the_commit(out: Output, sink_harness: Any) -> None:
    harness = sink_harness(out.sink())
    harness.run_epoch(["a"])
    harness.write_epoch(["b"], end_of_input=True)
    assert out.lines() == []
    harness.commit()
    assert out.lines() == ["a", "b"]
    assert out.hidden() == []


@pytest.mark.turns(5)
def test_parquet_needs_no_second_copy(out: Output, sink_harness: Any) -> None:
    """A part that ends with its epoch is uploaded under its own name from the first byte."""
    builder = FileSink.for_bulk_format(out.path, ParquetBulkWriters.for_row_type())
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    harness = sink_harness(builder.build())
    harness.write_epoch([{"n": n} for n in range(100)])
    assert out.all() == []
    assert len(list(out.files.uploads(out.path))) == 1
    harness.commit()
    [part] = out.all()
    with out.files.open(part) as file:
        assert pq.read_table(file)["n"].to_pylist() == list(range(100))


@pytest.mark.turns(5)
def test_a_part_that_is_gone(out: Output, sink_harness: Any) -> None:
    harness = sink_harness(out.sink())
    harness.write_epoch(["a"], end_of_input=True)
    [part] = harness.committables
    out.files.abort(part.pending)
    out.files.delete_all(part.obsolete)
    with pytest.raises(PartFileError, match="it is gone"):
        harness.commit()


@pytest.mark.turns(5)
def test_another_file_of_that_name(out: Output, sink_harness: Any) -> None:
    harness = sink_harness(out.sink())
    harness.write_epoch(["a"], end_of_input=True)
    [part] = harness.committables
    out.files.publish(part.final, [b"other"])
    with pytest.raises(PartFileError, match="exists already"):
        harness.commit()
    assert out.lines() == ["other"]


@pytest.mark.turns(5)
def test_only_what_runs_made_is_swept(out: Output, sink_harness: Any) -> None:
    for run in ("aa", "bb"):
        harness = sink_harness(out.sink(), run)
        harness.run_epoch(["a"])
        harness.write_epoch(["b"], end_of_input=True)
    assert sweep_orphans(out.path, -1_000, (), run_ids=["cc"]) == []
    assert len(sweep_orphans(out.path, -1_000, (), run_ids=["aa"])) == 2
    assert len(list(out.files.uploads(out.path))) == 1
