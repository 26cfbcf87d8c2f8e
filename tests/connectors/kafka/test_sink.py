"""The Kafka sink against a real broker: guarantees under faults, what committers recognise."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from millrace.common import SimpleStringSchema, WatermarkStrategy
from millrace.common.errors import JobDefinitionError, JobExecutionError, MillraceError
from millrace.common.serialization import RowFieldExtractorSchema
from millrace.common.sink import (
    CommitRequest,
    CommitState,
    CommitterContext,
    DeliveryGuarantee,
    WriterContext,
    WriterEpoch,
)
from millrace.common.types.batch import RowBatch
from millrace.connectors.kafka import (
    KafkaError,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaTopicSelector,
)
from millrace.connectors.kafka.producer import BatchProducer
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

GUARANTEES = list(DeliveryGuarantee)
EXACTLY_ONCE = DeliveryGuarantee.EXACTLY_ONCE
COMPACTED = {"cleanup.policy": "compact"}


def strings(topic: str) -> KafkaRecordSerializationSchema:
    builder = KafkaRecordSerializationSchema.builder().set_topic(topic)
    return builder.set_value_serialization_schema(SimpleStringSchema()).build()


@pytest.fixture
def sink(topics: Any) -> Callable[..., KafkaSink]:
    def build(
        schema: Any, guarantee: DeliveryGuarantee = EXACTLY_ONCE, prefix: str = "", **more: str
    ) -> KafkaSink:
        builder = KafkaSink.builder().set_bootstrap_servers(topics.bootstrap_servers)
        builder.set_record_serializer(schema).set_delivery_guarantee(guarantee)
        builder.set_transactional_id_prefix(prefix or f"sink-{time.time_ns()}")
        for key, value in more.items():
            builder.set_property(key.replace("_", "."), value)
        return builder.build()

    return build


def write(values: Sequence[Any], sink: KafkaSink, **local: Any) -> None:
    """A job that writes the values."""
    with run_local(**local):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        env.enable_checkpointing(1)
        env.from_collection(list(values)).rebalance().sink_to(sink)
        env.execute("write")


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_records_arrive(topics: Any, sink: Any, guarantee: DeliveryGuarantee) -> None:
    topic = topics.create(partitions=2)
    values = [f"value {i}" for i in range(1000)]
    write(values, sink(strings(topic), guarantee), epoch_records=100)
    assert sorted(topics.values(topic)) == sorted(values)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_keys_headers_time_stamps_and_topics(
    topics: Any, sink: Any, guarantee: DeliveryGuarantee
) -> None:
    from millrace.common import Row

    class Selector(KafkaTopicSelector):
        def apply(self, data: Any) -> str:
            return even if data[2] % 2 == 0 else odd

    even, odd = topics.create(partitions=3), topics.create()
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic_selector(Selector())
        .set_key_serialization_schema(RowFieldExtractorSchema(0))
        .set_value_serialization_schema(RowFieldExtractorSchema(1))
        .set_header_provider(lambda row: [("n", str(row[2]).encode()), ("none", None)])
        .build()
    )
    rows = [Row(b"key %d" % (i % 5), b"value %d" % i, i) for i in range(40)]
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(1)
        timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda row, _: 1_000 + row[2]
        )
        stream = env.from_collection(rows).assign_timestamps_and_watermarks(timed)
        stream.sink_to(sink(schema, guarantee))
        env.execute("write")
    for topic, rest in ((even, 0), (odd, 1)):
        found = topics.read(topic)
        assert sorted(message.value() for message in found) == sorted(
            row[1] for row in rows if row[2] % 2 == rest
        )
        partitions: dict[bytes, set[int]] = {}
        for message in found:
            number = int(message.value().split()[1])
            assert message.headers() == [("n", str(number).encode()), ("none", None)]
            assert message.key() == b"key %d" % (number % 5)
            assert message.timestamp()[1] == 1_000 + number
            partitions.setdefault(message.key(), set()).add(message.partition())
        assert all(len(numbers) == 1 for numbers in partitions.values())


def test_exactly_once_when_epochs_and_workers_are_lost(
    topics: Any, sink: Any, tmp_path: Any
) -> None:
    topic = topics.create(partitions=2)
    values = [f"value {i}" for i in range(2000)]
    faults = Faults(lost_epochs=0.2, lost_workers=0.2, repeated_tasks=0.2)
    local = {"workers": 3, "seed": 7, "faults": faults, "checkpoint_dir": str(tmp_path)}
    write(values, sink(strings(topic)), epoch_records=50, **local)
    assert sorted(topics.values(topic)) == sorted(values)


def test_at_least_once_when_epochs_and_workers_are_lost(
    topics: Any, sink: Any, tmp_path: Any
) -> None:
    topic = topics.create()
    values = [f"value {i}" for i in range(300)]
    faults = Faults(lost_epochs=0.4)
    local = {"workers": 2, "seed": 3, "faults": faults, "checkpoint_dir": str(tmp_path)}
    write(values, sink(strings(topic), DeliveryGuarantee.AT_LEAST_ONCE), epoch_records=50, **local)
    found = topics.values(topic)
    assert set(found) == set(values)
    assert len(found) > len(values), "no epoch was lost"


# -- committers, by hand ---------------------------------------------------------------


class Epochs:
    """Stages epochs as the writers of a job do, and commits them as its driver does."""

    def __init__(self, sink: KafkaSink) -> None:
        self.sink = sink
        self.committer = sink.create_committer(CommitterContext())

    def stage(self, run: str, epoch: int, *values: str, subtask: int = 0) -> Any:
        writer = self.sink.create_writer(WriterContext(subtask, 2, run), None)
        writer.begin_epoch(WriterEpoch(epoch, f"{run}-{epoch}-{subtask}", 0))
        writer.write(RowBatch(list(values)))
        [committable] = writer.prepare_commit(False)
        return committable

    def begin(self, *committables: Any) -> list[CommitRequest[Any]]:
        """Requests that the committer has begun with, before their checkpoint is complete."""
        requests = [CommitRequest(item) for item in committables]
        self.committer.begin_commit(requests)
        return requests

    def begin_refused(self, run: str, epoch: int) -> list[CommitRequest[Any]]:
        """Begin with an epoch of two records, of which the broker refuses the second: at once, or
        in the background."""
        writer = self.sink.create_writer(WriterContext(0, 1, run), None)
        writer.begin_epoch(WriterEpoch(epoch, f"{run}-{epoch}", 0))
        tomorrow = (time.time_ns() // 1_000_000) + 86_400_000
        writer.write(RowBatch(["now", "tomorrow"], [0, tomorrow]))
        [committable] = writer.prepare_commit(False)
        with suppress(KafkaError):
            return self.begin(committable)
        return [CommitRequest(committable)]

    def wait_until_sent(self) -> None:
        """Wait until the brokers have what was begun."""
        self.committer._producer.flush()

    def commit(self, *committables: Any) -> list[CommitState]:
        """States afterwards; tries again as the engine does."""
        return self.commit_requests([CommitRequest(item) for item in committables])

    def commit_requests(self, requests: list[CommitRequest[Any]]) -> list[CommitState]:
        for _ in range(20):
            try:
                self.committer.commit(requests)
            except ConnectionError:
                time.sleep(0.1)
            else:
                return [request.state for request in requests]
        raise AssertionError("never committed")


NEW, OLD = CommitState.RECEIVED, CommitState.ALREADY_COMMITTED


def test_a_repeated_commit_is_recognised(topics: Any, sink: Any) -> None:
    topic, prefix = topics.create(), f"repeated-{time.time_ns()}"
    first = Epochs(sink(strings(topic), prefix=prefix))
    one = first.stage("A", 1, "a"), first.stage("A", 1, "b", subtask=1)
    two = first.stage("A", 2, "c")
    assert first.commit(*one) == [NEW, NEW]
    assert first.commit(*one, two) == [OLD, OLD, NEW]
    # the driver dies, and the job goes on in another run from the checkpoint of epoch 2
    second = Epochs(sink(strings(topic), prefix=prefix))
    three = second.stage("B", 3, "d")
    assert second.commit(two, three) == [OLD, NEW]
    # and from the checkpoint of epoch 3, which named both, in a third one
    third = Epochs(sink(strings(topic), prefix=prefix))
    assert third.commit(two, three) == [OLD, OLD]
    # somebody goes back to the checkpoint of epoch 2: these are other records
    assert third.commit(two, third.stage("C", 3, "e")) == [OLD, NEW]
    assert topics.values(topic) == ["a", "b", "c", "d", "e"]


def test_a_topic_of_marks_that_somebody_made_with_several_partitions(
    topics: Any, sink: Any
) -> None:
    topic, prefix = topics.create(), f"wide-{time.time_ns()}"
    topics.create(2, f"{prefix}-commits", config=COMPACTED)
    first = Epochs(sink(strings(topic), prefix=prefix))
    one = first.stage("A", 1, "a")
    assert first.commit(one) == [NEW]
    assert Epochs(sink(strings(topic), prefix=prefix)).commit(one) == [OLD]
    assert topics.values(topic) == ["a"]


@pytest.mark.parametrize("guarantee", [EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE])
def test_the_program_chooses_partitions(
    topics: Any, sink: Any, guarantee: DeliveryGuarantee
) -> None:
    topic = topics.create(partitions=3)
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic_selector(lambda record: topic)
        .set_key_serialization_schema(SimpleStringSchema())
        .set_value_serialization_schema(SimpleStringSchema())
        .set_partitioner(lambda record, key, value, name, all_: all_[len(key) % len(all_)])
        .build()
    )
    write(["a", "bb", "ccc", "d", "eeeee"], sink(schema, guarantee))
    found = {(m.partition(), m.value()) for m in topics.read(topic)}
    assert found == {(1, b"a"), (2, b"bb"), (0, b"ccc"), (1, b"d"), (2, b"eeeee")}


def test_a_partition_that_is_not_there(topics: Any, sink: Any) -> None:
    builder = KafkaRecordSerializationSchema.builder().set_topic(topics.create())
    builder.set_value_serialization_schema(SimpleStringSchema())
    with pytest.raises(JobDefinitionError, match="takes a function"):
        builder.set_partitioner(1)
    schema = builder.set_partitioner(lambda *record: 7).build()
    with pytest.raises(Exception, match=r"the partitioner gave 7 for 'a'; .* partitions 0"):
        Epochs(sink(schema)).stage("A", 1, "a")


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_topic_of_marks_that_forgets_is_refused(topics: Any, sink: Any, policy: str) -> None:
    """At once: nothing is written, and the checkpoint keeps the records."""
    topic, prefix = topics.create(), f"forgets-{time.time_ns()}"
    topics.create(name=f"{prefix}-commits", config={"cleanup.policy": policy})
    epochs = Epochs(sink(strings(topic), prefix=prefix))
    with pytest.raises(KafkaError, match=f"'{prefix}-commits' has cleanup.policy={policy}: "):
        epochs.committer.commit([CommitRequest(epochs.stage("A", 1, "a"))])
    assert topics.values(topic, "read_uncommitted") == []


def test_a_big_epoch_has_the_time_that_it_needs(
    topics: Any, sink: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction of so many bytes could expire before all were sent, again and again."""
    module = "millrace.connectors.kafka.transaction_committer"
    monkeypatch.setattr(f"{module}._SLOWEST_BYTES_PER_S", 1)
    topic = topics.create()
    epochs = Epochs(sink(strings(topic)))
    staged = epochs.stage("A", 1, *(f"record {n * 7919 % 1000}" for n in range(100)))
    assert epochs.commit(staged) == [NEW]
    timeout = int(epochs.committer._producer_config["transaction.timeout.ms"])
    assert 60_000 < timeout <= 900_000
    assert len(topics.values(topic)) == 100
    given = Epochs(sink(strings(topic), transaction_timeout_ms="70000"))
    assert given.commit(given.stage("A", 1, "a" * 10_000, "b")) == [NEW]
    assert given.committer._producer_config["transaction.timeout.ms"] == "70000"


def test_who_may_not_create_topics_finds_that_of_the_marks(
    topics: Any, sink: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Any, new: Any, **more: Any) -> Any:
        future: Future[None] = Future()
        code = confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED
        future.set_exception(confluent_kafka.KafkaException(confluent_kafka.KafkaError(code)))
        return {new[0].topic: future}

    topic, prefix = topics.create(), f"poor-{time.time_ns()}"
    monkeypatch.setattr(AdminClient, "create_topics", refused)
    epochs = Epochs(sink(strings(topic), prefix=prefix))
    one = epochs.stage("A", 1, "a")
    with pytest.raises(KafkaError, match=f"'{prefix}-commits', which cannot be created"):
        epochs.committer.commit([CommitRequest(one)])
    monkeypatch.undo()
    topics.create(name=f"{prefix}-commits", config=COMPACTED)
    monkeypatch.setattr(AdminClient, "create_topics", refused)
    assert epochs.commit(one) == [NEW]


def test_a_zombie_writes_nothing_twice(topics: Any, sink: Any) -> None:
    topic, prefix = topics.create(), f"zombie-{time.time_ns()}"
    zombie, heir = (Epochs(sink(strings(topic), prefix=prefix)) for _ in range(2))
    zombie.commit(zombie.stage("A", 1, "a"))
    two = zombie.stage("A", 2, "b")
    assert heir.commit(two) == [NEW]
    # each is fenced by the other, asks what is there, and goes on
    assert zombie.commit(two) == [OLD]
    assert heir.commit(two, heir.stage("B", 3, "c")) == [OLD, NEW]
    assert topics.values(topic) == ["a", "b", "c"]


def test_what_a_dead_driver_has_begun_is_not_seen(topics: Any, sink: Any) -> None:
    topic, prefix = topics.create(), f"begun-{time.time_ns()}"
    dead = Epochs(sink(strings(topic), prefix=prefix))
    one = dead.stage("A", 1, "a")
    producer, _ = dead.committer._session()
    producer.client.begin_transaction()
    producer.client.produce(topic, b"a")
    producer.client.flush()
    assert topics.values(topic, "read_uncommitted") == ["a"]
    assert Epochs(sink(strings(topic), prefix=prefix)).commit(one) == [NEW]
    assert topics.values(topic) == ["a"]
    assert topics.values(topic, "read_uncommitted") == ["a", "a"]


def test_a_transaction_that_expires_is_written_again(
    topics: Any, sink: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = topics.create()
    epochs = Epochs(sink(strings(topic), transaction_timeout_ms="1000"))
    flush, waits = BatchProducer.flush, [4.0]

    def late(self: BatchProducer) -> None:
        flush(self)
        time.sleep(waits.pop() if waits else 0)

    monkeypatch.setattr(BatchProducer, "flush", late)
    assert epochs.commit(epochs.stage("A", 1, "a", "b")) == [NEW]
    assert not waits
    assert topics.values(topic) == ["a", "b"]
    assert topics.values(topic, "read_uncommitted") == ["a", "b", "a", "b"]


# -- what is begun before the checkpoint is complete -----------------------------------


def test_what_was_begun_is_seen_when_it_is_committed(topics: Any, sink: Any) -> None:
    topic = topics.create()
    epochs = Epochs(sink(strings(topic)))
    for number in (1, 2):
        requests = epochs.begin(epochs.stage("A", number, f"{number}"))
        epochs.wait_until_sent()
        sent = [str(n + 1) for n in range(number)]
        assert topics.values(topic, "read_uncommitted") == sent
        assert topics.values(topic) == sent[:-1]
        assert epochs.commit_requests(requests) == [NEW]
        assert topics.values(topic) == sent
    assert topics.values(topic, "read_uncommitted") == ["1", "2"], "nothing was written again"


def test_what_was_begun_is_abandoned_with_its_checkpoint(topics: Any, sink: Any) -> None:
    """Readers do not wait for a transaction that nobody ends."""
    topic = topics.create()
    epochs = Epochs(sink(strings(topic)))
    one = epochs.stage("A", 1, "a")
    epochs.begin(one)
    epochs.wait_until_sent()
    epochs.committer.abandon_commit()
    topics.send(topic, ["other"])
    assert topics.values(topic) == ["other"]
    assert epochs.commit(one, epochs.stage("A", 2, "b")) == [NEW, NEW]
    assert topics.values(topic) == ["other", "a", "b"]
    epochs.begin(epochs.stage("A", 3, "c"))
    epochs.committer.close()  # the job is cancelled
    topics.send(topic, ["last"])
    assert topics.values(topic) == ["other", "a", "b", "last"]


@pytest.mark.parametrize("queue", ["100000", "7"])
def test_what_is_abandoned_while_it_is_sent_is_in_no_other_transaction(
    topics: Any, sink: Any, queue: str
) -> None:
    """Nor is what the client drops for that an error of the next commit, which would use up a try:
    a job without retries would fail after each checkpoint that failed."""
    topic = topics.create(partitions=3)
    epochs = Epochs(sink(strings(topic), queue_buffering_max_messages=queue))
    assert epochs.commit(epochs.stage("A", 1, "first")) == [NEW]
    many = 20_000 if queue == "100000" else 50
    for number in range(3):
        epochs.begin(epochs.stage("A", 2, *(f"{number}.{n}" for n in range(many))))
        epochs.committer.abandon_commit()
    requests = [CommitRequest(epochs.stage("A", 2, *(f"last.{n}" for n in range(many))))]
    epochs.committer.commit(requests)
    assert [request.state for request in requests] == [NEW]
    epochs.begin(epochs.stage("A", 3, "never"))
    epochs.committer.abandon_commit()
    requests = epochs.begin(epochs.stage("A", 3, "end"))
    epochs.committer.commit(requests)
    assert [request.state for request in requests] == [NEW]
    assert sorted(topics.values(topic)) == sorted(
        ["first", *(f"last.{n}" for n in range(many)), "end"]
    )


def test_a_full_queue_delays_a_transaction(topics: Any, sink: Any) -> None:
    topic = topics.create()
    epochs = Epochs(sink(strings(topic), queue_buffering_max_messages="7"))
    values = [str(n) for n in range(200)]
    requests = epochs.begin(epochs.stage("A", 1, *values))
    epochs.committer.commit(requests)
    assert [request.state for request in requests] == [NEW]
    assert topics.values(topic) == values


def test_a_fenced_driver_abandons_what_it_has_begun(topics: Any, sink: Any) -> None:
    topic, prefix = topics.create(), f"fenced-{time.time_ns()}"
    fenced, heir = (Epochs(sink(strings(topic), prefix=prefix)) for _ in range(2))
    fenced.begin(fenced.stage("A", 1, *(f"fenced {n}" for n in range(1_000))))
    assert heir.commit(heir.stage("B", 1, "heir")) == [NEW]
    fenced.committer.abandon_commit()
    assert topics.values(topic) == ["heir"]
    assert fenced.commit(fenced.stage("A", 1, "again")) == [NEW]
    assert topics.values(topic) == ["heir", "again"]


def test_a_transaction_that_was_begun_and_expires_is_abandoned(topics: Any, sink: Any) -> None:
    topic = topics.create()
    epochs = Epochs(sink(strings(topic), transaction_timeout_ms="1000"))
    epochs.begin(epochs.stage("A", 1, "a"))
    epochs.wait_until_sent()
    topics.send(topic, ["other"])
    while topics.values(topic) != ["other"]:  # until the broker has aborted it
        time.sleep(0.1)
    epochs.committer.abandon_commit()
    requests = [CommitRequest(epochs.stage("A", 1, "b"))]
    epochs.committer.commit(requests)
    assert [request.state for request in requests] == [NEW]
    assert topics.values(topic) == ["other", "b"]


def test_what_was_committed_before_is_not_begun_again(topics: Any, sink: Any) -> None:
    topic, prefix = topics.create(), f"again-{time.time_ns()}"
    first = Epochs(sink(strings(topic), prefix=prefix))
    one = first.stage("A", 1, "a")
    assert first.commit(one) == [NEW]
    second = Epochs(sink(strings(topic), prefix=prefix))
    assert second.commit_requests(second.begin(one)) == [OLD]
    assert second.commit_requests(second.begin(one, second.stage("B", 2, "b"))) == [OLD, NEW]
    assert topics.values(topic, "read_uncommitted") == ["a", "b"]


@pytest.mark.parametrize("is_complete", [False, True])
def test_a_driver_dies_between_the_beginning_and_the_commit(
    topics: Any, sink: Any, is_complete: bool
) -> None:
    """Its checkpoint is complete or not. If not, the epoch is repeated, with other records."""
    topic, prefix = topics.create(), f"between-{time.time_ns()}"
    dead, heir = (Epochs(sink(strings(topic), prefix=prefix)) for _ in range(2))
    requests = dead.begin(dead.stage("A", 1, "a", "b"))
    one = requests[0].committable if is_complete else heir.stage("B", 1, "b", "a")
    assert heir.commit_requests(heir.begin(one)) == [NEW]
    expected = ["a", "b"] if is_complete else ["b", "a"]
    assert topics.values(topic) == expected
    if is_complete:  # it was only asleep
        assert dead.commit_requests(requests) == [OLD]
        assert heir.commit(one, heir.stage("B", 2, "c")) == [OLD, NEW]
        assert topics.values(topic) == [*expected, "c"]


def test_a_transaction_that_was_begun_and_expires_is_written_again(topics: Any, sink: Any) -> None:
    """The checkpoint takes too long. That uses up no try of the commit: a job without retries would
    fail at each such checkpoint."""
    topic = topics.create()
    epochs = Epochs(sink(strings(topic), transaction_timeout_ms="1000"))
    requests = epochs.begin(epochs.stage("A", 1, "a", "b"))
    epochs.wait_until_sent()
    topics.send(topic, ["other"])
    while topics.values(topic) != ["other"]:  # until the broker has aborted it
        time.sleep(0.1)
    epochs.committer.commit(requests)
    assert [request.state for request in requests] == [NEW]
    assert topics.values(topic) == ["other", "a", "b"]


@pytest.mark.parametrize("is_abandoned", [False, True])
def test_a_record_that_the_broker_refuses_in_the_background(
    topics: Any, sink: Any, is_abandoned: bool
) -> None:
    """The commit names the error, and no reader waits for the end of the transaction."""
    topic = topics.create()
    epochs = Epochs(sink(strings(topic)))
    assert epochs.commit(epochs.stage("A", 1, "a")) == [NEW]
    requests = epochs.begin_refused("A", 2)
    if is_abandoned:
        epochs.committer.abandon_commit()
    else:
        with pytest.raises(ConnectionError, match=r"message\.timestamp\.after\.max\.ms"):
            epochs.committer.commit(requests)
    topics.send(topic, ["other"])
    assert topics.values(topic) == ["a", "other"]
    requests = [CommitRequest(epochs.stage("A", 2, "b"))]
    epochs.committer.commit(requests)
    assert [request.state for request in requests] == [NEW]
    assert topics.values(topic) == ["a", "other", "b"]


def test_a_refused_record_is_told_of_although_others_cannot_be_sent(topics: Any, sink: Any) -> None:
    """The client takes no more records of a transaction in which one was refused."""
    topic = topics.create()
    epochs = Epochs(sink(strings(topic), queue_buffering_max_messages="7"))
    writer = epochs.sink.create_writer(WriterContext(0, 1, "A"), None)
    writer.begin_epoch(WriterEpoch(1, "A-1", 0))
    tomorrow = (time.time_ns() // 1_000_000) + 86_400_000
    writer.write(RowBatch([str(n) for n in range(1_000)], [tomorrow, *[0] * 999]))
    with pytest.raises(ConnectionError, match=r"message\.timestamp\.after\.max\.ms"):
        epochs.committer.commit([CommitRequest(item) for item in writer.prepare_commit(False)])
    assert topics.values(topic) == []


def test_many_epochs_in_few_transactions(
    topics: Any, sink: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millrace.connectors.kafka.transaction_committer.TRANSACTION_BYTES", 100)
    topic = topics.create()
    epochs = Epochs(sink(strings(topic)))
    staged = [
        epochs.stage("A", number, f"{number}.{subtask}", subtask=subtask)
        for number in range(10)
        for subtask in range(2)
    ]
    assert set(epochs.commit(*staged)) == {NEW}
    assert topics.values(topic) == [f"{n}.{s}" for n in range(10) for s in range(2)]
    assert set(epochs.commit(*staged)) == {OLD}


# -- what goes wrong -------------------------------------------------------------------


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_record_that_is_too_large_fails_the_epoch(
    topics: Any, sink: Any, guarantee: DeliveryGuarantee
) -> None:
    topic = topics.create()
    with pytest.raises(MillraceError, match="(?s)a record for topic .*(at most|too large)"):
        write(["x" * 2_000_000], sink(strings(topic), guarantee))
    assert topics.values(topic) == []


def test_results_of_global_windows_have_no_time_stamp(topics: Any, sink: Any) -> None:
    """Brokers refuse the end of all time."""
    topic = topics.create()
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(1)
        pairs = env.from_collection(["a"] * 4).key_by(lambda value: value).count_window(2)
        pairs.reduce(lambda one, other: one + other).sink_to(sink(strings(topic)))
        env.execute("write")
    assert topics.values(topic) == ["aa", "aa"]


def test_a_time_stamp_that_the_broker_refuses_is_told_of(topics: Any, sink: Any) -> None:
    epochs = Epochs(sink(strings(topics.create())))
    writer = epochs.sink.create_writer(WriterContext(0, 1, "A"), None)
    writer.begin_epoch(WriterEpoch(1, "A-1", 0))
    tomorrow = (time.time_ns() // 1_000_000) + 86_400_000
    writer.write(RowBatch(["now", "tomorrow"], [0, tomorrow]))
    [committable] = writer.prepare_commit(False)
    with pytest.raises(ConnectionError, match=r"message\.timestamp\.after\.max\.ms"):
        epochs.committer.commit([CommitRequest(committable)])


def test_a_topic_that_is_not_there_fails_the_job(
    topics: Any, sink: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_least_once = DeliveryGuarantee.AT_LEAST_ONCE
    with pytest.raises(MillraceError, match="'nowhere' was not delivered"):
        write(
            ["a"], sink(strings("nowhere"), at_least_once, topic_metadata_propagation_max_ms="300")
        )
    epochs = Epochs(sink(strings("nowhere"), topic_metadata_propagation_max_ms="300"))
    with pytest.raises(ConnectionError, match="the transaction failed: .*nowhere"):
        epochs.committer.commit([CommitRequest(epochs.stage("A", 1, "a"))])


def test_a_record_that_was_staged_is_taken_by_the_producer(topics: Any, sink: Any) -> None:
    """What only the transaction refuses would stand in the checkpoint for good."""
    topic = topics.create()
    headers = [("name", b"x" * 100), ("none", None)]
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_value_serialization_schema(SimpleStringSchema())
        .set_header_provider(lambda value: headers if value[0] == "h" else [])
        .build()
    )
    epochs = Epochs(sink(schema, message_max_bytes="2000"))
    staged = []
    for letter in "vh":
        for size in range(1_600, 2_010):
            with suppress(KafkaError):
                staged.append(epochs.stage("A", 1, letter * size))
    assert 500 < len(staged) < 800
    assert set(epochs.commit(*staged)) == {NEW}


@pytest.mark.parametrize("name", [None, "", "two words", ".", "x" * 250])
def test_a_selector_that_gives_no_name(sink: Any, name: Any) -> None:
    builder = KafkaRecordSerializationSchema.builder().set_topic_selector(lambda value: name)
    schema = builder.set_value_serialization_schema(SimpleStringSchema()).build()
    with pytest.raises(JobExecutionError, match="it must give a name"):
        write(["a"], sink(schema))
    if name is not None:
        with pytest.raises(JobDefinitionError, match=r"set_topic\(\) takes the name"):
            strings(name)


def test_what_builders_refuse() -> None:
    with pytest.raises(JobDefinitionError, match=r"needs set_topic\(\)"):
        KafkaRecordSerializationSchema.builder().build()
    with pytest.raises(JobDefinitionError, match=r"needs set_value_serialization_schema\(\)"):
        KafkaRecordSerializationSchema.builder().set_topic("t").build()
    with pytest.raises(JobDefinitionError, match="the key is written by"):
        KafkaRecordSerializationSchema.builder().set_key_serialization_schema("k")  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match=r"needs set_bootstrap_servers\(\)"):
        KafkaSink.builder().build()
    builder = KafkaSink.builder().set_bootstrap_servers("localhost:9092")
    with pytest.raises(JobDefinitionError, match=r"needs set_record_serializer\(\)"):
        builder.build()
    builder.set_record_serializer(strings("t")).set_delivery_guarantee(EXACTLY_ONCE)
    with pytest.raises(JobDefinitionError, match=r"needs set_transactional_id_prefix\(\)"):
        builder.build()
    for prefix in ("", "two words", "a/b", "x" * 249, None):
        with pytest.raises(JobDefinitionError, match="a transactional id prefix must be a text"):
            builder.set_transactional_id_prefix(prefix)  # type: ignore[arg-type]
    builder.set_transactional_id_prefix("p").set_property("no.such.property", "1")
    with pytest.raises(KafkaError, match="no Kafka producer .*no.such.property"):
        builder.build().create_committer(CommitterContext())
    with pytest.raises(JobDefinitionError, match="DeliveryGuarantee"):
        builder.set_delivery_guarantee("exactly-once")  # type: ignore[arg-type]


def test_two_sinks_of_a_job_with_one_transactional_id(sink: Any) -> None:
    """The mark of the first would cover the second's epochs, which would be lost."""
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(["a", "b"])
    for topic in ("one", "two"):
        stream.sink_to(sink(strings(topic), prefix="shared")).name(topic)
    with pytest.raises(JobDefinitionError, match="'one' and 'two' have the same transactional id"):
        env.execute("write")
