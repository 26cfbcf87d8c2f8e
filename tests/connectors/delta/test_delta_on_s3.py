"""Delta tables in an object store: data files through our file systems, the log by deltalake."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from seaweedfs import SeaweedFS

from millrace.common import Types, WatermarkStrategy
from millrace.connectors.delta import DeltaSink, DeltaSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.filesystem.registry import file_system_of
from millrace.testing import run_local

ROWS = Types.ROW_NAMED(["id", "day"], [Types.LONG(), Types.STRING()])


@pytest.mark.parametrize("keys", [None, ["id"]])
def test_written_and_read(
    s3_root: str, s3_server: SeaweedFS, tmp_path: Path, keys: list[str] | None
) -> None:
    """Appended and upserted; the checkpoints of the job are on a disk."""
    file_system_of(s3_root).publish(f"{s3_root}/first", [b"the server makes the bucket"])
    options = {"AWS_ENDPOINT_URL": s3_server.endpoint, "AWS_ALLOW_HTTP": "true"}
    table = f"{s3_root}/table"
    sink = DeltaSink(table, ROWS, ["day"], keys, options)
    records = [(number, f"d {number % 2}") for number in range(20)]
    for _ in range(2):
        with run_local():
            env = StreamExecutionEnvironment.get_execution_environment()
            env.from_collection(records).sink_to(sink)
            env.execute()
    times = 1 if keys else 2
    assert DeltaTable(table, storage_options=options).to_pyarrow_table().num_rows == 20 * times
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        source = DeltaSource(table, bounded=True, storage_options=options)
        rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "table")
        with rows.map(lambda row: (row.id, row.day)).execute_and_collect() as results:
            assert sorted(results) == sorted(records * times)
