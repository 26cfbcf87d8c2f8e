"""The Kinesis sink against an emulator, some of whose answers are refusals."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from kinesalite import Kinesalite

from millrace.common import SimpleStringSchema
from millrace.common.errors import MillraceError
from millrace.common.sink import WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.kinesis import KinesisError, KinesisStreamsSink, PartitionKeyGenerator
from millrace.connectors.kinesis.writer import KinesisWriter
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

pytestmark = pytest.mark.connectors


@pytest.fixture
def stream(kinesalite: Kinesalite) -> str:
    return kinesalite.create_stream(f"test-{uuid.uuid4().hex[:12]}", 3)


def builder(server: Kinesalite, stream: str, keys: PartitionKeyGenerator | None = None) -> Any:
    return (
        KinesisStreamsSink.builder()
        .set_kinesis_client_properties(server.properties)
        .set_stream_name(stream)
        .set_serialization_schema(SimpleStringSchema())
        .set_partition_key_generator(keys or PartitionKeyGenerator.of(lambda value: value[:5]))
    )


class Refusing:
    """A client that refuses some records of each request, as the script says."""

    def __init__(self, client: Any, script: list[Any]) -> None:
        self.client = client
        self.script = script
        self.requests: list[list[bytes]] = []

    def put_records(self, StreamName: str, Records: list[Any]) -> Any:
        self.requests.append([record["Data"] for record in Records])
        step = self.script.pop(0) if self.script else ()
        if isinstance(step, Exception):
            raise step
        taken = [record for i, record in enumerate(Records) if i not in step]
        if taken:
            self.client.put_records(StreamName=StreamName, Records=taken)
        code = "ProvisionedThroughputExceededException"
        results = [{"ErrorCode": code} if i in step else {} for i in range(len(Records))]
        return {"FailedRecordCount": len(step), "Records": results}


def write(sink: Any, values: list[str], client: Any) -> list[float]:
    """An epoch; what was waited."""
    waits: list[float] = []
    context = WriterContext(1, 2, "run")
    writer = KinesisWriter(sink._writing, context, waits.append, client)
    writer.write(RowBatch(values))
    writer.flush(False)
    return waits


def test_records_and_keys_arrive(kinesalite: Kinesalite, stream: str) -> None:
    values = [f"key-{i % 5} {i}" for i in range(1200)]
    with run_local(epoch_records=700):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        env.from_collection(values).sink_to(builder(kinesalite, stream).build())
        env.execute("write")
    found = kinesalite.read(stream)
    assert sorted(data.decode() for _, data in found) == sorted(values)
    assert all(data.decode().startswith(key) for key, data in found)
    for key in {key for key, _ in found}:
        numbers = [int(data.decode().split()[1]) for k, data in found if k == key]
        assert numbers == sorted(numbers)


@pytest.mark.parametrize(("keys", "distinct"), [("fixed", 1), ("random", 50)])
def test_keys_that_are_made(kinesalite: Kinesalite, stream: str, keys: str, distinct: int) -> None:
    generator = getattr(PartitionKeyGenerator, keys)()
    write(builder(kinesalite, stream, generator).build(), ["x"] * 50, kinesalite.client)
    assert len({key for key, _ in kinesalite.read(stream)}) == distinct


def test_only_what_was_refused_is_sent_again(kinesalite: Kinesalite, stream: str) -> None:
    nobody = EndpointConnectionError(endpoint_url=kinesalite.endpoint)
    client = Refusing(kinesalite.client, [nobody, {1, 3}, {0}, {0}])
    waits = write(builder(kinesalite, stream).build(), list("abcd"), client)
    assert client.requests[2:] == [[b"b", b"d"], [b"b"], [b"b"]]
    assert sorted(data for _, data in kinesalite.read(stream)) == [b"a", b"b", b"c", b"d"]
    assert waits == [0.05, 0.05, 0.05, 0.1]


def test_it_gives_up_after_a_minute(kinesalite: Kinesalite, stream: str) -> None:
    client = Refusing(kinesalite.client, [{0}] * 1000)
    with pytest.raises(KinesisError, match="1 records were not accepted .*Throughput.*add some"):
        write(builder(kinesalite, stream).build(), ["a"], client)
    assert 20 < len(client.requests) < 60


def test_a_job_can_fail_at_once(kinesalite: Kinesalite, stream: str) -> None:
    client = Refusing(kinesalite.client, [{0}])
    with pytest.raises(KinesisError, match="were not accepted"):
        write(builder(kinesalite, stream).set_fail_on_error(True).build(), ["a"], client)
    assert len(client.requests) == 1


def test_requests_have_limits(kinesalite: Kinesalite, stream: str) -> None:
    client = Refusing(kinesalite.client, [])
    sink = builder(kinesalite, stream).set_max_batch_size(3).set_max_batch_size_in_bytes(40)
    write(sink.build(), ["x" * 10] * 7 + ["y" * 30], client)
    assert [len(request) for request in client.requests] == [2, 2, 2, 1, 1]


@pytest.mark.parametrize(
    ("value", "said"),
    [("x" * (1 << 20), "has 1048581 bytes with its key; at most 1048576"), ("", "partition key")],
)
def test_records_that_cannot_be_sent(
    kinesalite: Kinesalite, stream: str, value: str, said: str
) -> None:
    with pytest.raises(MillraceError, match=said):
        write(builder(kinesalite, stream).build(), [value], kinesalite.client)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("UnrecognizedClientException", "AWS refuses the credentials"),
        ("ResourceNotFoundException", "there is no such stream"),
        ("ValidationException", "ValidationException what it is"),
    ],
)
def test_refusals_are_explained(kinesalite: Kinesalite, stream: str, code: str, said: str) -> None:
    error = ClientError({"Error": {"Code": code, "Message": "what it is"}}, "PutRecords")
    with pytest.raises(KinesisError, match=said):
        write(builder(kinesalite, stream).build(), ["a"], Refusing(kinesalite.client, [error]))


def test_a_missing_stream(kinesalite: Kinesalite) -> None:
    with pytest.raises(KinesisError, match="cannot write to the Kinesis stream 'nowhere'"):
        write(builder(kinesalite, "nowhere").build(), ["a"], kinesalite.client)
