"""The Firehose sink, through Amazon's client, against a server that speaks Firehose's protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millrace.common import SimpleStringSchema
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.kinesis import KinesisError, KinesisFirehoseSink
from millrace.connectors.kinesis.firehose_sink import FirehoseWriter
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

from .firehose_server import FirehoseServer, firehose_server


@pytest.fixture
def server() -> Iterator[FirehoseServer]:
    with firehose_server("totals") as running:
        yield running


def builder(server: FirehoseServer, stream: str = "totals") -> Any:
    return (
        KinesisFirehoseSink.builder()
        .set_firehose_client_properties(server.properties)
        .set_delivery_stream_name(stream)
        .set_serialization_schema(SimpleStringSchema())
    )


def write(sink: Any, values: list[str]) -> list[float]:
    """An epoch; what was waited."""
    waits: list[float] = []
    context = WriterContext(1, 2, "run")
    writer = FirehoseWriter(sink._writing, context, waits.append)
    writer.write(RowBatch(values))
    writer.flush(False)
    return waits


def test_records_arrive(server: FirehoseServer) -> None:
    values = [f"total {i}" for i in range(1200)]
    with run_local(epoch_records=700):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        env.from_collection(values).sink_to(builder(server).build())
        env.execute("write")
    assert [data.decode() for data in server.taken] == values
    assert max(map(len, server.requests)) == 500


def test_only_what_was_refused_is_sent_again(server: FirehoseServer) -> None:
    server.script = [{1, 3}, {0}, {0}]
    waits = write(builder(server).build(), list("abcd"))
    assert server.requests == [[b"a", b"b", b"c", b"d"], [b"b", b"d"], [b"b"], [b"b"]]
    assert sorted(server.taken) == [b"a", b"b", b"c", b"d"]
    assert waits == [0.05, 0.05, 0.1]


def test_it_gives_up_after_a_minute(server: FirehoseServer) -> None:
    server.script = [{0}] * 1000
    said = "1 records were not accepted by the Firehose delivery stream 'totals': Service.*quota"
    with pytest.raises(KinesisError, match=said):
        write(builder(server).build(), ["a"])
    assert 20 < len(server.requests) < 60


def test_a_job_can_fail_at_once(server: FirehoseServer) -> None:
    server.script = [{0}]
    with pytest.raises(KinesisError, match="were not accepted"):
        write(builder(server).set_fail_on_error(True).build(), ["a"])
    assert len(server.requests) == 1


def test_requests_have_limits(server: FirehoseServer) -> None:
    sink = builder(server).set_max_batch_size(3).set_max_batch_size_in_bytes(40).build()
    write(sink, ["x" * 10] * 7 + ["y" * 38])
    assert [len(request) for request in server.requests] == [3, 3, 1, 1]
    server.requests.clear()
    write(builder(server).build(), ["x" * (1000 << 10)] * 5)
    assert [len(request) for request in server.requests] == [4, 1]


def test_a_record_that_is_too_large(server: FirehoseServer) -> None:
    with pytest.raises(KinesisError, match="has 1024001 bytes; at most 1024000 can be"):
        write(builder(server).build(), ["x" * 1024001])
    assert server.requests == []


def test_a_missing_delivery_stream(server: FirehoseServer) -> None:
    said = "cannot write to the Firehose delivery stream 'nowhere': there is no such stream"
    with pytest.raises(KinesisError, match=said):
        write(builder(server, "nowhere").build(), ["a"])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda b: b.set_delivery_stream_name(""), r"set_delivery_stream_name\(\) takes the name"),
        (lambda b: b.set_serialization_schema(str), "takes a SerializationSchema"),
        (lambda b: b.set_firehose_client_properties({"aws.regoin": "x"}), "no Kinesis property"),
        (lambda b: b.set_max_batch_size(0), "takes a positive number"),
        (lambda b: b.build(), r"needs set_delivery_stream_name\(\)"),
        (lambda b: b.set_delivery_stream_name("t").build(), r"needs set_serialization_schema\(\)"),
    ],
)
def test_what_the_builder_refuses(make: Any, said: str) -> None:
    with pytest.raises(JobDefinitionError, match=said):
        make(KinesisFirehoseSink.builder())
