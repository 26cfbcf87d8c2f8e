"""The Kafka source against a real broker, in whole jobs of this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from confluent_kafka import Consumer

from millrace.common import SimpleStringSchema, Types, WatermarkStrategy
from millrace.common.error_policy import DeadLetter, ErrorPolicy
from millrace.common.errors import JobDefinitionError, MillraceError
from millrace.common.functions.output_tag import OutputTag
from millrace.common.serialization import ByteArraySchema
from millrace.common.source import AssignedSplit, ReaderContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from millrace.connectors.kafka.partition_split import KafkaPartitionSplit
from millrace.connectors.kafka.subscription import KafkaSubscription
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.formats.json import JsonRowDeserializationSchema
from millrace.testing import Faults, run_local

LATEST = KafkaOffsetsInitializer.latest()


@pytest.fixture
def builder(topics: Any) -> Callable[[], KafkaSourceBuilder[Any]]:
    def build() -> KafkaSourceBuilder[Any]:
        servers = topics.bootstrap_servers
        made = KafkaSource.builder().set_bootstrap_servers(servers).set_bounded(LATEST)
        return made.set_value_only_deserializer(SimpleStringSchema())

    return build


def read(
    source: KafkaSource[Any], clock: Any, strategy: Any = None, parallelism: int = 2, **local: Any
) -> list[Any]:
    """What a job gives that does nothing but read."""
    with run_local(clock=clock, **local):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        strategy = strategy or WatermarkStrategy.no_watermarks()
        return list(env.from_source(source, strategy, "kafka").execute_and_collect())


def test_all_partitions_are_read_each_in_its_order(
    topics: Any, builder: Any, wall_clock: Any
) -> None:
    topic = topics.create(partitions=3)
    for partition in range(3):
        topics.send(topic, [f"{partition}:{i:04}" for i in range(500)], partition)
    found = read(builder().set_topics(topic).build(), wall_clock)
    assert len(found) == 1500
    for partition in range(3):
        mine = [value for value in found if value.startswith(f"{partition}:")]
        assert mine == [f"{partition}:{i:04}" for i in range(500)]


def test_topics_by_name_pattern_and_partition(topics: Any, builder: Any, wall_clock: Any) -> None:
    first, second = topics.create(name="some-first"), topics.create(2, name="some-second")
    topics.create(name="not-some-first")
    topics.send(first, ["a"])
    topics.send(second, ["b"], 0)
    topics.send(second, ["c"], 1)
    assert sorted(read(builder().set_topics(first, second).build(), wall_clock)) == ["a", "b", "c"]
    by_pattern = builder().set_topic_pattern("some-.*").build()
    assert sorted(read(by_pattern, wall_clock)) == ["a", "b", "c"]
    places = {KafkaTopicPartition(first, 0), KafkaTopicPartition(second, 1)}
    assert sorted(read(builder().set_partitions(places).build(), wall_clock)) == ["a", "c"]


def test_a_pattern_does_not_mean_the_brokers_own_topics(topics: Any) -> None:
    topic = topics.create()
    topics.commit("group", topic, 0)
    consumer = Consumer({"bootstrap.servers": topics.bootstrap_servers, "group.id": "group"})
    assert "__consumer_offsets" in consumer.list_topics(timeout=30).topics
    found = {place.topic for place in KafkaSubscription(pattern=".*").find(consumer)}
    consumer.close()
    assert topic in found
    assert "__consumer_offsets" not in found


def test_every_starting_and_stopping_offset(topics: Any, builder: Any, wall_clock: Any) -> None:
    topic, group = topics.create(), "offsets-group"
    for i in range(10):
        topics.send(topic, [str(i)], timestamp=1_000 + i)
    topics.commit(group, topic, 6)
    place, initializer = KafkaTopicPartition(topic, 0), KafkaOffsetsInitializer

    def found(start: Any, stop: Any = LATEST) -> str:
        made = builder().set_topics(topic).set_group_id(group)
        made.set_property("commit.offsets.on.checkpoint", "false")
        return "".join(read(made.set_starting_offsets(start).set_bounded(stop).build(), wall_clock))

    assert found(initializer.earliest()) == "0123456789"
    assert found(initializer.latest()) == ""
    assert found(initializer.committed_offsets()) == "6789"
    assert found(initializer.timestamp(1_004)) == "456789"
    assert found(initializer.timestamp(9_999)) == ""
    assert found(initializer.offsets({place: 8})) == "89"
    assert found(initializer.offsets({})) == "0123456789"
    assert found(initializer.offsets({}, KafkaOffsetResetStrategy.LATEST)) == ""
    assert found(initializer.earliest(), initializer.offsets({place: 3})) == "012"
    assert found(initializer.earliest(), initializer.timestamp(1_002)) == "01"
    assert found(initializer.earliest(), initializer.committed_offsets()) == "012345"
    assert found(initializer.offsets({place: 5}), initializer.offsets({place: 5})) == ""


def test_committed_offsets_without_any(topics: Any, builder: Any, wall_clock: Any) -> None:
    topic = topics.create()
    topics.send(topic, ["a"])
    source = builder().set_topics(topic).set_group_id("has-none")
    source.set_property("commit.offsets.on.checkpoint", "false")
    earliest = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST)
    assert read(source.set_starting_offsets(earliest).build(), wall_clock) == ["a"]
    source.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
    with pytest.raises(MillraceError, match="there is no committed offset of topic-"):
        read(source.build(), wall_clock)


def test_marks_of_transactions_at_the_end_are_no_records(
    topics: Any, builder: Any, wall_clock: Any
) -> None:
    from confluent_kafka import Producer

    topic = topics.create()
    config = {"bootstrap.servers": topics.bootstrap_servers, "transactional.id": "marks"}
    producer = Producer(config)
    producer.init_transactions(30)
    for commit, value in ((True, b"seen"), (False, b"aborted"), (True, b"also"), (False, b"not")):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush()
        producer.commit_transaction(30) if commit else producer.abort_transaction(30)
    assert read(builder().set_topics(topic).build(), wall_clock) == ["seen", "also"]


def test_new_partitions_and_topics_are_found_while_the_job_runs(
    topics: Any, builder: Any, wall_clock: Any
) -> None:
    topics.send(topics.create(name="grow-1"), ["first"])
    servers = topics.bootstrap_servers
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topic_pattern("grow-[0-9]")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_property("partition.discovery.interval.ms", "200")
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    with run_local(clock=wall_clock):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
        with stream.execute_and_collect() as results:
            assert next(results) == "first"
            topics.add_partitions("grow-1", 2)
            topics.send("grow-1", ["second"], 1)
            assert next(results) == "second"
            topics.send(topics.create(name="grow-2"), ["third"])
            assert next(results) == "third"


def test_an_idle_topic_needs_no_epochs(
    topics: Any, builder: Any, wall_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millrace.connectors.kafka.reader._EXPECTANT_EPOCHS", 3)
    monkeypatch.setattr("millrace.connectors.kafka.reader.SAFETY_MS", 3_600_000)
    topic = topics.create(partitions=2)
    topics.send(topic, ["first"])
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(topics.bootstrap_servers)
        .set_topics(topic)
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    with run_local(clock=wall_clock) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
        with stream.execute_and_collect() as results:
            assert next(results) == "first"
            until, before = time.monotonic() + 60, -1
            while before != (before := len(cluster.progress)):
                assert time.monotonic() < until, "epochs without records"
                time.sleep(1.5)
            topics.send(topic, ["second"], 1)
            assert next(results) == "second", "not for an epoch that was due anyway"


def test_nothing_is_lost_or_doubled_when_epochs_and_workers_are_lost(
    topics: Any, builder: Any, wall_clock: Any
) -> None:
    topic = topics.create(partitions=3)
    for partition in range(3):
        topics.send(topic, [f"{partition}:{i}" for i in range(700)], partition)
    source = builder().set_topics(topic).build()
    faults = Faults(lost_epochs=0.2, lost_workers=0.2)
    found = read(source, wall_clock, workers=3, seed=5, faults=faults, epoch_records=50)
    assert sorted(found) == sorted(f"{p}:{i}" for p in range(3) for i in range(700))


def test_time_stamps_are_event_times(topics: Any, builder: Any, wall_clock: Any) -> None:
    from millrace.datastream.functions import ProcessFunction

    class Times(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield value, ctx.timestamp()

    topic = topics.create()
    topics.send(topic, ["a"], timestamp=5_000)
    topics.send(topic, ["b"], timestamp=6_000)
    with run_local(clock=wall_clock):
        env = StreamExecutionEnvironment.get_execution_environment()
        source = builder().set_topics(topic).build()
        stream = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "kafka")
        found = list(stream.process(Times()).execute_and_collect())
    assert found == [("a", 5_000), ("b", 6_000)]


def test_aligned_partitions_wait_for_each_other(topics: Any, builder: Any, wall_clock: Any) -> None:
    from millrace.common import Duration

    topic = topics.create(partitions=2)
    for i in range(200):
        topics.send(topic, [f"fast {i}"], 0, timestamp=1_000_000 * (i + 1))
        topics.send(topic, [f"slow {i}"], 1, timestamp=1_000_000 + i)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment(
        "group", Duration.of_seconds(10), Duration.of_millis(1)
    )
    source = builder().set_topics(topic).build()
    found = read(source, wall_clock, strategy, parallelism=1, epoch_records=20)
    assert len(found) == 400
    ahead = found.index("fast 100")
    assert found.index("slow 199") < ahead, "the fast partition did not wait"


def test_rows_in_columns(topics: Any, builder: Any, wall_clock: Any) -> None:
    row_type = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
    topic = topics.create()
    topics.send(topic, ['{"id": 1, "name": "a"}', '{"name": null, "id": 2, "more": []}'])
    schema = JsonRowDeserializationSchema.builder().type_info(row_type).build()
    source = builder().set_topics(topic).set_value_only_deserializer(schema).build()
    assert [tuple(row) for row in read(source, wall_clock)] == [(1, "a"), (2, None)]
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
    assert stream.get_type() == row_type
    with run_local(clock=wall_clock):
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
        columns = stream.map_batches(lambda batch: batch.select(["id"]))
        assert len(list(columns.execute_and_collect())) == 2


def test_poison_values_go_to_the_side_output_with_their_place(
    topics: Any, builder: Any, wall_clock: Any
) -> None:
    row_type = Types.ROW_NAMED(["id"], [Types.LONG()])
    topic, tag = topics.create(), OutputTag("dead letters")
    values = [b'{"id": %d}' % i if i % 7 else b"\xffpoison %d" % i for i in range(50)]
    topics.send(topic, values)
    schema = JsonRowDeserializationSchema.builder().type_info(row_type).build()
    source = builder().set_topics(topic).set_value_only_deserializer(schema)
    with run_local(clock=wall_clock):
        env = StreamExecutionEnvironment.get_execution_environment()
        made = source.set_error_policy(ErrorPolicy.side_output(tag)).build()
        rows = env.from_source(made, WatermarkStrategy.no_watermarks(), "kafka")
        good = rows.map(lambda row: row[0])
        found = list(good.union(rows.get_side_output(tag)).execute_and_collect())
    letters = sorted((v for v in found if isinstance(v, DeadLetter)), key=lambda v: v.offset)
    assert sorted(v for v in found if isinstance(v, int)) == [i for i in range(50) if i % 7]
    assert [letter.offset for letter in letters] == list(range(0, 50, 7))
    assert {letter.source for letter in letters} == {f"{topic}-0"}
    assert letters[1].raw == b"\xffpoison 7"
    with pytest.raises(MillraceError, match=rf"the record at offset 0 of {topic}-0 cannot be read"):
        read(source.set_error_policy(ErrorPolicy.fail()).build(), wall_clock)
    assert len(read(source.set_error_policy(ErrorPolicy.skip()).build(), wall_clock)) == 42


class KeyAndHeaders(KafkaRecordDeserializationSchema[Any]):
    def deserialize(self, record: KafkaRecord) -> Any:
        return record.key, record.value, record.headers, record.offset


def test_keys_headers_and_origins(topics: Any, builder: Any, wall_clock: Any) -> None:
    topic = topics.create(partitions=2)
    topics.send(topic, ["v"], 1, key=b"k", headers=[("h", b"x"), ("h", None)], timestamp=77)
    topics.send(topic, [None], 1, key=b"gone")
    whole = builder().set_topics(topic).set_deserializer(KeyAndHeaders()).build()
    assert read(whole, wall_clock) == [
        (b"k", b"v", (("h", b"x"), ("h", None)), 0),
        (b"gone", None, (), 1),
    ]
    assert read(builder().set_topics(topic).build(), wall_clock) == ["v"]
    [(value, origin)] = read(builder().set_topics(topic).with_origin().build(), wall_clock)
    assert value == "v"
    assert origin == (topic, 1, 0, 77, b"k", (("h", b"x"), ("h", None)))
    raw = builder().set_topics(topic).set_value_only_deserializer(ByteArraySchema()).build()
    assert read(raw, wall_clock) == [b"v"]


def test_offsets_are_committed_for_monitoring_and_lag_is_told(
    topics: Any, builder: Any, wall_clock: Any, tmp_path: Any
) -> None:
    topic, group = topics.create(), f"monitored-{time.time_ns()}"
    topics.send(topic, [str(i) for i in range(100)])
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(topics.bootstrap_servers)
        .set_topics(topic)
        .set_group_id(group)
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    lags: list[int] = []
    with run_local(clock=wall_clock, epoch_records=30, checkpoint_dir=str(tmp_path)) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(1)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")

        def watch(job: Any) -> None:
            for subtasks in job.metrics.values():
                lags.extend(m["pendingRecords"] for m in subtasks.values() if "pendingRecords" in m)

        cluster.listeners.append(watch)
        with stream.execute_and_collect() as results:
            assert [next(results) for _ in range(100)] == [str(i) for i in range(100)]
            until = time.monotonic() + 180
            while topics.committed(group, topic) != 100 and time.monotonic() < until:
                time.sleep(0.05)
    assert topics.committed(group, topic) == 100
    assert 70 in lags
    assert lags[-1] == 0


def test_a_topic_that_is_not_there(topics: Any, builder: Any, wall_clock: Any) -> None:
    with pytest.raises(MillraceError, match="there is no topic 'nowhere': create it first"):
        read(builder().set_topics("nowhere").build(), wall_clock)
    topic = topics.create()
    missing = {KafkaTopicPartition(topic, 7)}
    with pytest.raises(MillraceError, match=rf"there is no partition {topic}-7"):
        read(builder().set_partitions(missing).build(), wall_clock)


def test_an_unknown_property_is_refused(topics: Any, builder: Any, wall_clock: Any) -> None:
    source = builder().set_topics("t").set_property("no.such.thing", "1").build()
    with pytest.raises(MillraceError, match=r"no\.such\.thing"):
        read(source, wall_clock)


def test_what_builders_refuse() -> None:
    with pytest.raises(JobDefinitionError, match=r"needs set_bootstrap_servers\(\)"):
        KafkaSource.builder().build()
    builder = KafkaSource.builder().set_bootstrap_servers("localhost:9092")
    with pytest.raises(JobDefinitionError, match=r"needs set_topics\(\)"):
        builder.build()
    with pytest.raises(JobDefinitionError, match="call one of"):
        builder.set_topics("a").set_topic_pattern("b")
    with pytest.raises(JobDefinitionError, match=r"needs set_value_only_deserializer\(\)"):
        builder.build()
    builder.set_value_only_deserializer(SimpleStringSchema())
    builder.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
    with pytest.raises(JobDefinitionError, match=r"needs set_group_id\(\)"):
        builder.build()
    assert builder.set_group_id("g").build().boundedness.name == "CONTINUOUS_UNBOUNDED"
    with pytest.raises(JobDefinitionError, match="regular expression"):
        KafkaSource.builder().set_topic_pattern("(")
    with pytest.raises(JobDefinitionError, match="KafkaTopicPartition"):
        KafkaSource.builder().set_partitions({("a", 1)})  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match="KafkaOffsetsInitializer"):
        builder.set_bounded("latest")  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match="ms since the epoch"):
        KafkaOffsetsInitializer.timestamp(-1)
    with pytest.raises(JobDefinitionError, match="a Kafka property is a name"):
        builder.set_property("a", None)  # type: ignore[arg-type]


class Dropping(SimpleStringSchema):
    """Leaves records out as it must not: nobody could tell which time stamps are whose."""

    def deserialize_batch(self, messages: Sequence[bytes]) -> RowBatch[str]:
        return RowBatch([message.decode() for message in messages if message != b"b"])


def test_a_schema_that_gives_too_few_records(topics: Any, builder: Any, wall_clock: Any) -> None:
    topic = topics.create()
    topics.send(topic, ["a", "b", "c"])
    source = builder().set_topics(topic).set_value_only_deserializer(Dropping()).build()
    with pytest.raises(MillraceError, match="records for . messages of topic-.*None leaves"):
        read(source, wall_clock)


def test_the_next_run_goes_on_where_this_one_ends(topics: Any, builder: Any) -> None:
    """Though the consumer had more to give."""
    topic = topics.create()
    topics.send(topic, [str(i) for i in range(10)])
    reader = builder().set_topics(topic).build().create_reader(ReaderContext(0, 1, lambda: 0))
    split = KafkaPartitionSplit(f"{topic}-0", topic, 0, 0, None)
    reader.add_splits([AssignedSplit(split, None, 6)])
    found, until = list[str](), time.monotonic() + 180
    while time.monotonic() < until:
        given = reader.poll(100)
        found += [value for part in given for value in part.batch.to_rows().values]
        if any(part.at_end for part in given):
            break
    assert found == [str(i) for i in range(6)]
    assert reader.snapshot_state() == {split.split_id: 6}
    reader.close()
