"""What Kinesis sources and sinks refuse before anything runs, in sentences."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from millrace.common import SimpleStringSchema
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import WriterContext
from millrace.connectors.kinesis import (
    FlinkKinesisConsumer,
    KinesisError,
    KinesisStreamsSink,
    PartitionKeyGenerator,
)

TEXT = SimpleStringSchema()


def complete() -> Any:
    return (
        KinesisStreamsSink.builder()
        .set_stream_name("s")
        .set_serialization_schema(TEXT)
        .set_partition_key_generator(PartitionKeyGenerator.random())
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FlinkKinesisConsumer([], TEXT, {}), "names of Kinesis streams"),
        (lambda: FlinkKinesisConsumer("s", str, {}), "needs a DeserializationSchema"),
        (lambda: FlinkKinesisConsumer("s", TEXT, {"aws.regoin": "x"}), "no Kinesis property"),
        (lambda: FlinkKinesisConsumer("s", TEXT, []), "are a dict"),
        (
            lambda: FlinkKinesisConsumer("s", TEXT, {"flink.stream.initpos": "FIRST"}),
            "one of LATEST, TRIM_HORIZON, AT_TIMESTAMP",
        ),
        (
            lambda: FlinkKinesisConsumer("s", TEXT, {"flink.stream.initpos": "AT_TIMESTAMP"}),
            "AT_TIMESTAMP needs flink.stream.initpos.timestamp",
        ),
        (
            lambda: FlinkKinesisConsumer(
                "s", TEXT, {"flink.shard.getrecords.intervalmillis": "soon"}
            ),
            "must be a number, not 'soon'",
        ),
        (lambda: complete().set_stream_name(["s"]), "takes the name of a stream"),
        (lambda: complete().set_serialization_schema(str), "takes a SerializationSchema"),
        (lambda: complete().set_partition_key_generator(str), "PartitionKeyGenerator.random"),
        (lambda: complete().set_max_batch_size(0), "takes a positive number"),
        (lambda: PartitionKeyGenerator.of("key"), "takes a function"),
        (lambda: KinesisStreamsSink.builder().build(), r"needs set_stream_name\(\)"),
    ],
)
def test_what_cannot_be(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(JobDefinitionError, match=said):
        make()


def test_times_to_begin_at() -> None:
    for text in ("1767225600", "1767225600.0", "2026-01-01T00:00:00+00:00"):
        initial = {
            "flink.stream.initpos": "AT_TIMESTAMP",
            "flink.stream.initpos.timestamp": text,
        }
        assert FlinkKinesisConsumer("s", TEXT, initial)._timestamp == 1_767_225_600_000


def context() -> WriterContext:
    return WriterContext(0, 1, "run")


def test_without_the_package_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.config", None)
    with pytest.raises(KinesisError, match=r"pip install 'millrace\[kinesis\]'"):
        complete().build().create_writer(context(), None)


def test_without_a_region_or_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(KinesisError, match="no AWS credentials: set AWS_ACCESS_KEY_ID"):
        complete().build().create_writer(context(), None)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    with pytest.raises(KinesisError, match="the region is the property aws.region"):
        complete().build().create_writer(context(), None)
