"""How long the Kinesis sink waits for a service that takes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError

from millrace.common import SimpleStringSchema
from millrace.common.sink import WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.kinesis import KinesisStreamsSink, PartitionKeyGenerator
from millrace.connectors.kinesis.client import KinesisError
from millrace.connectors.kinesis.writer import KinesisWriter


class Away:
    """A client whose requests take half a minute to fail."""

    def __init__(self) -> None:
        self.now = 0.0
        self.requests = 0

    def put_records(self, **request: Any) -> dict[str, Any]:
        self.now += 30
        self.requests += 1
        raise ConnectTimeoutError(endpoint_url="https://kinesis")

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_the_time_of_requests_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute, not a minute of pauses between requests of half a minute."""
    away = Away()
    monkeypatch.setattr("time.monotonic", lambda: away.now)
    sink = (
        KinesisStreamsSink.builder()
        .set_stream_name("totals")
        .set_serialization_schema(SimpleStringSchema())
        .set_partition_key_generator(PartitionKeyGenerator.fixed())
        .build()
    )
    context = WriterContext(0, 1, "run")
    writer = KinesisWriter(sink._writing, context, away.sleep, away)
    writer.write(RowBatch(["a"]))
    with pytest.raises(KinesisError, match="1 records were not accepted by the Kinesis stream"):
        writer.flush(False)
    assert away.requests == 2
