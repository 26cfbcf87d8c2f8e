"""MQTT source and sink against a real server: what is acknowledged when, and what comes again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mosquitto import Mosquitto

from millrace.common import SimpleStringSchema
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import WriterContext, WriterEpoch
from millrace.common.source import (
    AssignedSplit,
    EnumeratorContext,
    ReaderContext,
    SourceReader,
    SourceSplit,
)
from millrace.common.types.batch import RowBatch
from millrace.connectors.mqtt import MqttError, MqttSink, MqttSource, MqttSourceBuilder

Make = Callable[..., SourceReader[Any]]

pytestmark = pytest.mark.connectors


def source(url: str, topic: str) -> MqttSourceBuilder:
    builder = MqttSource.builder().set_url(url).set_topics(f"{topic}/#")
    builder.set_client_id(topic.replace("/", "-"))
    return builder.set_value_only_deserializer(SimpleStringSchema())


@pytest.fixture
def reader() -> Iterator[Make]:
    made = []

    def make(builder: MqttSourceBuilder, position: Any = None, number: int = 0) -> Any:
        opened = builder.build().create_reader(
            ReaderContext(0, 1, lambda: time.time_ns() // 1_000_000)
        )
        made.append(opened)
        opened.add_splits([AssignedSplit(SourceSplit(f"consumer-{number}"), position)])
        return opened

    yield make
    for opened in made:
        opened.close()


def send(url: str, topic: str, *values: str, retain: bool = False) -> None:
    """Publish through the sink, each to a topic of its own."""
    builder = MqttSink.builder().set_url(url).set_topic(lambda value: f"{topic}/{value}")
    builder.set_retain(retain)
    sink = builder.set_value_serialization_schema(SimpleStringSchema()).build()
    writer = sink.create_writer(WriterContext(0, 1, "run"), None)
    writer.begin_epoch(WriterEpoch(1, "run-1", 0))
    writer.write(RowBatch(list(values)))
    writer.flush(False)
    writer.close()


def take(reader: SourceReader[Any], count: int) -> list[Any]:
    """As many records as that, however many polls it takes."""
    found: list[Any] = []
    until = time.monotonic() + 60
    while len(found) < count:
        assert time.monotonic() < until, found
        for records in reader.poll(count - len(found)):
            found += records.batch.to_rows().values
        time.sleep(0.01)
    return found


def test_what_is_in_no_checkpoint_comes_again(
    mosquitto: Mosquitto, topic: str, reader: Make
) -> None:
    """And what was sent while the job was away; what was acknowledged does not."""
    first = reader(source(mosquitto.url, topic))
    send(mosquitto.url, topic, "a", "b")
    assert take(first, 1) == ["a"]
    first.notify_checkpoint_complete(1)
    assert take(first, 1) == ["b"]
    time.sleep(0.3)  # the acknowledgement is on its way
    first.close()
    send(mosquitto.url, topic, "c")
    second = reader(source(mosquitto.url, topic))
    assert sorted(take(second, 2)) == ["b", "c"]


def test_with_ids_what_is_in_the_checkpoint_is_not_processed_again(
    mosquitto: Mosquitto, topic: str, reader: Make
) -> None:
    builder = source(mosquitto.url, topic).set_message_id(lambda message: message.payload.decode())
    first = reader(builder)
    send(mosquitto.url, topic, "a", "b", "c")
    assert take(first, 2) == ["a", "b"]
    position = first.snapshot_state()["consumer-0"]
    first.close()
    assert take(reader(builder, position), 1) == ["c"]


def test_more_than_twenty_may_be_unacknowledged(
    mosquitto: Mosquitto, topic: str, reader: Make
) -> None:
    opened = reader(source(mosquitto.url, topic))
    expected = [f"{number:04}" for number in range(2_000)]
    send(mosquitto.url, topic, *expected)
    assert take(opened, 2_000) == expected


def test_whole_messages_and_what_was_retained(
    mosquitto: Mosquitto, topic: str, reader: Make
) -> None:
    """What was there before comes with the first session, and not again with the next."""
    send(mosquitto.url, topic, "before", retain=True)
    builder = source(mosquitto.url, topic).set_deserializer(
        lambda message: (message.topic.rpartition("/")[2], message.payload, message.retained)
    )
    first = reader(builder)
    send(mosquitto.url, topic, "after")
    assert take(first, 2) == [("before", b"before", True), ("after", b"after", False)]
    first.notify_checkpoint_complete(1)
    time.sleep(0.3)
    first.close()
    second = reader(builder)
    send(mosquitto.url, topic, "last")
    assert take(second, 1) == [("last", b"last", False)]


def test_subtasks_share_a_subscription(mosquitto: Mosquitto, topic: str, reader: Make) -> None:
    builder = source(mosquitto.url, topic).set_shared_group("group")
    enumerator = builder.build().create_enumerator()
    enumerator.start(EnumeratorContext(2))
    assert len(enumerator.discover(0)) == 2
    readers = [reader(builder, None, number) for number in range(2)]
    expected = [str(number) for number in range(100)]
    send(mosquitto.url, topic, *expected)
    found: list[str] = []
    until = time.monotonic() + 30
    while len(found) < 100:
        assert time.monotonic() < until, found
        for opened in readers:
            batches = opened.poll(10)
            found += [value for records in batches for value in records.batch.to_rows().values]
    assert sorted(found) == sorted(expected)


def test_the_server_is_restarted(mosquitto: Mosquitto, topic: str, reader: Make) -> None:
    builder = source(mosquitto.url, topic).set_message_id(lambda message: message.payload.decode())
    opened = reader(builder)
    expected = [f"{number:03}" for number in range(100)]
    send(mosquitto.url, topic, *expected)
    first = take(opened, 60)
    position = opened.snapshot_state()["consumer-0"]
    mosquitto.restart()
    with pytest.raises(MqttError, match=r"session 'topic-\w+' of MQTT at mqtt://.* is lost"):
        take(opened, 100)
    rest = take(reader(builder, position), 40)
    assert sorted(first + rest) == expected


def test_a_server_that_is_not_there(topic: str, reader: Make) -> None:
    with pytest.raises(MqttError, match="cannot connect to MQTT at mqtt://127.0.0.1:1: ") as error:
        reader(source("mqtt://someone:hidden-word@127.0.0.1:1", topic))
    assert "hidden-word" not in str(error.value)
    with pytest.raises(MqttError, match="cannot connect to MQTT"):
        send("mqtt://127.0.0.1:1", topic, "a")


@pytest.mark.parametrize("password", ["12#34", "12/34", "12?34", "ab#cd"])
def test_a_password_that_cuts_the_url_is_not_shown(password: str) -> None:
    with pytest.raises(JobDefinitionError, match="such as #, / and [?] are written as") as error:
        MqttSource.builder().set_url(f"mqtt://someone:{password}@localhost")
    assert password[:2] not in str(error.value)


def test_an_id_that_cannot_be_had(mosquitto: Mosquitto, topic: str, reader: Make) -> None:
    def broken(message: Any) -> str:
        raise KeyError("id")

    opened = reader(source(mosquitto.url, topic).set_message_id(broken))
    send(mosquitto.url, topic, "a")
    with pytest.raises(MqttError, match=r"set_message_id\(\) failed .*KeyError: 'id'"):
        take(opened, 1)


def test_a_message_that_the_server_refuses(mosquitto: Mosquitto, topic: str) -> None:
    """It answers to it as it does to others, with another reason: the epoch must fail."""
    send(mosquitto.url, topic, "a")
    with pytest.raises(MqttError, match="the server refuses a message: Not authorized"):
        send(mosquitto.url, "forbidden", "b")


def test_a_topic_that_is_a_filter(mosquitto: Mosquitto) -> None:
    with pytest.raises(MqttError, match="cannot publish to topic 'a/#/b'"):
        send(mosquitto.url, "a/#", "b")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda b: b.set_url("localhost"), "the URL of an MQTT server"),
        (lambda b: b.set_url("mqtt://host:many"), "the URL of an MQTT server"),
        (lambda b: b.set_url("mqtt://[host"), "the URL of an MQTT server"),
        (lambda b: b.build(), r"needs set_url\(\)"),
        (lambda b: b.set_url("mqtt://host").build(), r"needs set_client_id\(\)"),
        (lambda b: b.set_value_only_deserializer("text"), "takes a DeserializationSchema"),
        (
            lambda b: source("mqtt://h", "t").set_shared_group("g").set_message_id(str).build(),
            r"set_shared_group\(\) cannot have set_message_id\(\)",
        ),
    ],
)
def test_sources_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        make(MqttSource.builder())
