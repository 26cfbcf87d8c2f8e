"""Ingresses and egresses of Kinesis."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

import pytest
from kinesalite import Kinesalite

from millrace.common.errors import SerializationError
from millrace.connectors.kinesis import KinesisRecord
from millrace.connectors.kinesis.client import KinesisProperties, create_client
from millrace.datastream import StreamExecutionEnvironment
from millrace.statefun.address import FunctionType, TypedValue
from millrace.statefun.application.kinesis_components import (
    RoutedKinesisRecords,
    kinesis_message,
)
from millrace.statefun.application.module_job import add_module, embedded_functions
from millrace.statefun.module import Routed, read_module
from millrace.statefun.protocol import KINESIS_RECORD, KinesisEgressRecord
from millrace.testing import run_local

statefun = pytest.importorskip("statefun")
TARGETS = (FunctionType("test", "one"), FunctionType("test", "two"))
MODULE = """
kind: io.statefun.kinesis.v1/ingress
spec:
  id: test/in
  awsRegion: {{type: custom-endpoint, id: {region}, endpoint: "{endpoint}"}}
  awsCredentials: {{type: basic, accessKeyId: tests, secretAccessKey: tests}}
  startupPosition: {{type: earliest}}
  streams:
    - {{stream: {source}, valueType: test/bytes, targets: [test/counter]}}
  clientConfigProperties:
    - SocketTimeout: 9000
---
kind: io.statefun.kinesis.v1/egress
spec:
  id: test/out
  awsRegion: {{type: custom-endpoint, id: {region}, endpoint: "{endpoint}"}}
  awsCredentials: {{type: basic, accessKeyId: tests, secretAccessKey: tests}}
  maxOutstandingRecords: 3
"""


def test_a_record_is_a_message_to_each_target() -> None:
    schema = RoutedKinesisRecords([Routed("orders", "test/order", TARGETS)])
    record = KinesisRecord("orders", "shard-0", "1", "ada", 0, b"\x00x")
    messages = schema.deserialize(record)
    assert [(message.target.type, message.target.id) for message in messages] == [
        ("one", "ada"),
        ("two", "ada"),
    ]
    assert {message.argument for message in messages} == {TypedValue("test/order", True, b"\x00x")}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (TypedValue("test/x", True, b""), "takes records of type type.googleapis.com/"),
        (TypedValue(KINESIS_RECORD, True, b""), "lacks the field stream"),
    ],
)
def test_what_is_no_record_is_refused(value: TypedValue, message: str) -> None:
    with pytest.raises(SerializationError, match=message):
        kinesis_message(value)


def test_a_record_keeps_its_hash_key() -> None:
    record = KinesisEgressRecord(
        partition_key="k", value_bytes=b"v", stream="s", explicit_hash_key="7"
    )
    value = TypedValue(KINESIS_RECORD, True, record.SerializeToString())
    assert kinesis_message(value) == ("s", "k", b"v", "7")


def test_settings_of_clients_have_their_counterparts(tmp_path: Path) -> None:
    profiles = tmp_path / "profiles"
    profiles.write_text("[shop]\naws_access_key_id = own\naws_secret_access_key = secret\n")
    properties = KinesisProperties.of(
        {
            "aws.region": "eu-west-1",
            "aws.credentials.provider.profile.name": "shop",
            "aws.credentials.provider.profile.path": str(profiles),
            "aws.clientconfig.SocketTimeout": 9_000,
            "aws.clientconfig.MaxConnections": 15,
            "aws.clientconfig.ThreadingModel": "POOLED",
        }
    )
    client = create_client(properties)
    assert client._request_signer._credentials.access_key == "own"
    config = client.meta.config
    assert (config.read_timeout, config.connect_timeout) == (9.0, 10)
    assert config.max_pool_connections == 15
    client.close()


@pytest.mark.connectors
def test_a_module_reads_and_writes_streams(kinesalite: Kinesalite) -> None:
    functions = statefun.StatefulFunctions()
    source, target, other = (
        kinesalite.create_stream(f"{name}-{uuid.uuid4().hex[:8]}") for name in ("in", "out", "more")
    )

    @functions.bind("test/counter", [statefun.ValueSpec("seen", statefun.IntType)])
    def counter(context, message) -> None:
        context.storage.seen = (context.storage.seen or 0) + 1
        text = f"{message.raw_value().decode()} {context.storage.seen}"
        for stream in (target, other):
            record = statefun.kinesis_egress_message(
                typename="test/out", stream=stream, partition_key=context.address.id, value=text
            )
            context.send_egress(record)

    records = [(f"key-{n % 3}", b"m%d" % n) for n in range(30)]
    kinesalite.put(source, records)
    text = MODULE.format(source=source, region=kinesalite.region, endpoint=kinesalite.endpoint)
    with run_local(epoch_records=10):
        env = StreamExecutionEnvironment.get_execution_environment()
        embedded = embedded_functions({"functions": functions})
        add_module(env, read_module(text.encode()), embedded)
        client = env.execute_async("streams")
        deadline = time.monotonic() + 60
        while len(kinesalite.read(other)) < 30 and time.monotonic() < deadline:
            time.sleep(0.05)
        client.cancel().result()
    expected = [f"m{n} {n // 3 + 1}" for n in range(30)]
    for stream in (target, other):
        written = kinesalite.read(stream)
        assert sorted(data.decode() for _, data in written) == sorted(expected)
        assert {key for key, _ in written} == {"key-0", "key-1", "key-2"}
