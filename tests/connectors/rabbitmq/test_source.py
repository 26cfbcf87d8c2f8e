"""The RabbitMQ source against a real server: what is acknowledged when, and what comes again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from rabbitmq_server import RabbitMQServer

from millrace.common import SimpleStringSchema, Types
from millrace.common.error_policy import ErrorPolicy
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import DeserializationSchema
from millrace.common.source import AssignedSplit, ReaderContext, SourceReader, SourceSplit
from millrace.common.types.batch import Batch, RowBatch
from millrace.connectors.rabbitmq import RabbitMQError, RMQConnectionConfig, RMQSource
from millrace.datastream.formats.json import JsonRowDeserializationSchema

Make = Callable[..., SourceReader[Any]]

pytestmark = pytest.mark.connectors


@pytest.fixture
def reader(queue: Any) -> Iterator[Make]:
    made = []

    def make(position: Any = None, by_id: bool = True, **more: Any) -> SourceReader[Any]:
        source = RMQSource(queue.config, queue.name, by_id, SimpleStringSchema(), **more)
        opened = source.create_reader(ReaderContext(0, 1, lambda: time.time_ns() // 1_000_000))
        made.append(opened)
        opened.add_splits([AssignedSplit(SourceSplit("consumer-0"), position)])
        return opened

    yield make
    for opened in made:
        opened.close()


def take(reader: SourceReader[Any], count: int) -> list[Any]:
    """As many records as that, however many polls it takes."""
    found: list[Any] = []
    until = time.monotonic() + 30
    while len(found) < count:
        assert time.monotonic() < until, found
        for records in reader.poll(count - len(found)):
            found += records.batch.to_rows().values
        time.sleep(0.01)
    return found


def position(reader: SourceReader[Any]) -> Any:
    return reader.snapshot_state()["consumer-0"]


@pytest.mark.parametrize("by_id", [True, False])
def test_what_is_in_no_checkpoint_comes_again(queue: Any, reader: Make, by_id: bool) -> None:
    queue.send("a", "b", "c")
    first = reader(by_id=by_id)
    assert take(first, 2) == ["a", "b"]
    first.close()
    second = reader(by_id=by_id)
    assert sorted(take(second, 3)) == ["a", "b", "c"]
    second.notify_checkpoint_complete(1)
    second.close()
    assert queue.left() == []


def test_what_is_in_the_checkpoint_is_not_processed_again(queue: Any, reader: Make) -> None:
    """The job ended between the checkpoint and the acknowledgement."""
    queue.send("a", "b", "c")
    first = reader()
    assert take(first, 2) == ["a", "b"]
    kept = position(first)
    first.close()
    second = reader(kept)
    assert take(second, 1) == ["c"]
    until = time.monotonic() + 30
    while second.poll(10) and time.monotonic() < until:
        pass
    second.notify_checkpoint_complete(2)
    second.close()
    assert queue.left() == [], "those that came again are acknowledged, too"


def test_without_ids_it_is_processed_again(queue: Any, reader: Make) -> None:
    queue.send("a")
    first = reader(by_id=False)
    assert take(first, 1) == ["a"]
    kept = position(first)
    first.close()
    assert take(reader(kept, by_id=False), 1) == ["a"]


def test_a_publisher_that_repeats_itself(queue: Any, reader: Make) -> None:
    """Within what is not acknowledged; it counts as read."""
    queue.send("a", "b", "a", "c")
    opened = reader()
    assert take(opened, 3) == ["a", "b", "c"]


def test_two_readers_from_one_position_have_others_afterwards(queue: Any, reader: Make) -> None:
    """So that one whose epoch failed is not taken for the one whose epoch counts."""
    queue.send("a")
    first = reader(by_id=False)
    start = position(first)
    take(first, 1)
    second = reader(start, by_id=False)
    assert start == position(second)
    queue.send("b", "c")  # in turn
    take(second, 1)
    assert position(first) != position(second) != start


def test_as_many_as_may_be_unacknowledged(rabbitmq: RabbitMQServer, queue: Any) -> None:
    builder = RMQConnectionConfig.Builder().set_uri(rabbitmq.url).set_prefetch_count(2)
    source = RMQSource(builder.build(), queue.name, True, SimpleStringSchema())
    opened = source.create_reader(ReaderContext(0, 1, lambda: 0))
    opened.add_splits([AssignedSplit(SourceSplit("consumer-0"))])
    queue.send("a", "b", "c")
    assert take(opened, 2) == ["a", "b"]
    time.sleep(0.3)
    assert opened.poll(10) == []
    opened.notify_checkpoint_complete(1)
    assert take(opened, 1) == ["c"]
    opened.close()


def test_a_message_without_an_id(queue: Any, reader: Make) -> None:
    queue.send("a", ids=[""])
    with pytest.raises(RabbitMQError, match=r"queue-\w+' of RabbitMQ at .* has no correlation id"):
        take(reader(), 1)


def test_messages_that_cannot_be_read(queue: Any) -> None:
    queue.send('{"n": 1}', "{broken", '{"n": 2}')
    schema = (
        JsonRowDeserializationSchema.builder()
        .type_info(Types.ROW_NAMED(["n"], [Types.LONG()]))
        .build()
    )
    for policy, expected in ((ErrorPolicy.skip(), [1, 2]), (ErrorPolicy.fail(), [])):
        source = RMQSource(queue.config, queue.name, True, schema, policy)
        opened = source.create_reader(ReaderContext(0, 1, lambda: 0))
        opened.add_splits([AssignedSplit(SourceSplit("consumer-0"))])
        if expected:
            assert [row.n for row in take(opened, 2)] == expected
        else:
            with pytest.raises(RabbitMQError, match=r"cannot be read: .*broken.*error_policy"):
                take(opened, 2)
        opened.close()


def test_a_message_that_is_several_records(queue: Any) -> None:
    class Words(DeserializationSchema[str]):
        def deserialize(self, message: bytes) -> str:
            raise NotImplementedError

        def deserialize_flat(self, messages: Sequence[bytes]) -> tuple[Batch, list[int]]:
            found = [(w, i) for i, m in enumerate(messages) for w in m.decode().split()]
            return RowBatch([word for word, _ in found]), [origin for _, origin in found]

    queue.send("a b", " ", "c")
    source = RMQSource(queue.config, queue.name, True, Words())
    opened = source.create_reader(ReaderContext(0, 1, lambda: 0))
    opened.add_splits([AssignedSplit(SourceSplit("consumer-0"))])
    assert take(opened, 3) == ["a", "b", "c"]
    opened.close()


def test_a_queue_that_is_not_there_is_made(queue: Any, reader: Make) -> None:
    queue.delete()
    opened = reader()
    queue.send("a")
    assert take(opened, 1) == ["a"]


def test_a_queue_that_is_deleted(queue: Any, reader: Make) -> None:
    opened = reader()
    queue.delete()
    with pytest.raises(RabbitMQError, match="of RabbitMQ at .* is lost"):
        take(opened, 1)


def test_the_server_is_restarted(rabbitmq: RabbitMQServer, queue: Any, reader: Make) -> None:
    """The reader says so; the next one goes on, and processes nothing twice."""
    queue.send(*map(str, range(100)))
    opened = reader()
    first = take(opened, 60)
    kept = position(opened)
    rabbitmq.restart()
    with pytest.raises(RabbitMQError, match=r"is lost|acknowledgements"):
        opened.notify_checkpoint_complete(1)
    with pytest.raises(RabbitMQError, match="is lost"):
        take(opened, 100)
    rest = take(reader(kept), 40)
    assert sorted(map(int, first + rest)) == list(range(100))


def test_the_server_forgets_acknowledgements(
    rabbitmq: RabbitMQServer, queue: Any, reader: Make
) -> None:
    """It may, when it is killed right behind them."""
    queue.send(*map(str, range(100)))
    opened = reader()
    first = take(opened, 60)
    opened.notify_checkpoint_complete(1)
    kept = position(opened)
    rabbitmq.restart()
    rest = take(reader(kept), 40)
    assert sorted(map(int, first + rest)) == list(range(100))


def test_a_server_that_is_not_there(queue: Any) -> None:
    config = RMQConnectionConfig.Builder().set_host("127.0.0.1").set_port(1).build()
    opened = RMQSource(config, "q", True, SimpleStringSchema()).create_reader(
        ReaderContext(0, 1, lambda: 0)
    )
    with pytest.raises(RabbitMQError, match="cannot connect to RabbitMQ at 127.0.0.1:1: "):
        opened.add_splits([AssignedSplit(SourceSplit("consumer-0"))])


def test_a_wrong_password_is_not_shown(rabbitmq: RabbitMQServer) -> None:
    uri = rabbitmq.url.replace("guest:guest", "guest:hidden-word")
    config = RMQConnectionConfig.Builder().set_uri(uri).build()
    assert "hidden-word" not in repr(config)
    opened = RMQSource(config, "q", True, SimpleStringSchema()).create_reader(
        ReaderContext(0, 1, lambda: 0)
    )
    with pytest.raises(RabbitMQError, match=r"ACCESS_REFUSED|AuthenticationError") as refused:
        opened.add_splits([AssignedSplit(SourceSplit("consumer-0"))])
    assert "hidden-word" not in str(refused.value)


def test_a_source_with_ids_has_one_consumer(queue: Any) -> None:
    from millrace.common.source import EnumeratorContext

    for by_id, count in ((True, 1), (False, 3)):
        enumerator = RMQSource(queue.config, "q", by_id, SimpleStringSchema()).create_enumerator()
        enumerator.start(EnumeratorContext(3))
        assert len(enumerator.discover(0)) == count
        assert enumerator.discover(1) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RMQConnectionConfig.Builder().build(), r"needs set_uri\(\) or set_host\(\)"),
        (lambda: RMQConnectionConfig.Builder().set_uri("localhost"), "the URI of a RabbitMQ"),
        (lambda: RMQConnectionConfig.Builder().set_prefetch_count(0), "the prefetch count must be"),
        (lambda: RMQSource("host", "q", True, SimpleStringSchema()), "RMQConnectionConfig"),  # type: ignore[arg-type]
    ],
)
def test_sources_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        make()
