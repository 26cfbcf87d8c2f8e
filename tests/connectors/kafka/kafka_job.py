"""Kafka to keyed state to Kafka, exactly once: the n-th record of a key gives ``key:n``.

Usage: ``kafka_job.py SERVERS SOURCE SINK DIRECTORY (local | spark) [HISTORY]``. Resumes what it
finds. HISTORY is a directory of files that have what came first; the name of each, ``P-N``, says
that it has the records of partition P below offset N.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from resumed_job import SMALL_EPOCHS, run_resumed
from wall_clock import WallClock

from millrace.common import SimpleStringSchema, Types, WatermarkStrategy
from millrace.common.serialization import SerializationSchema
from millrace.common.sink import DeliveryGuarantee
from millrace.common.source import Boundedness, Source
from millrace.connectors import FileSource, HybridSource
from millrace.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor
from millrace.formats import StreamFormat


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: Any) -> Iterable[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value}:{count}"


class Word(SerializationSchema[str]):
    def serialize(self, value: str) -> bytes:
        return value.partition(":")[0].encode()


def kafka(servers: str, topic: str, starting: KafkaOffsetsInitializer) -> KafkaSource[str]:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_group_id(f"group-{topic}")
        .set_starting_offsets(starting)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )


def history_first(servers: str, topic: str, history: str) -> Source[str]:
    files = FileSource.for_record_stream_format(StreamFormat.text_line_format(), history)

    def rest(covered: list[tuple[int, int]]) -> KafkaSource[str]:
        offsets = {KafkaTopicPartition(topic, number): offset for number, offset in covered}
        return kafka(servers, topic, KafkaOffsetsInitializer.offsets(offsets))

    hybrid = HybridSource.builder(files.build())
    return hybrid.add_source(rest, Boundedness.BOUNDED, switch_position=covered_by_files).build()


def covered_by_files(enumerator: Any) -> list[tuple[int, int]]:
    """Each partition and where its history ends."""
    names = [Path(path).name.split("-") for path in enumerator.files]
    return [(int(partition), int(offset)) for partition, offset in names]


def build(
    env: StreamExecutionEnvironment,
    read: Source[str],
    servers: str,
    sink: str,
    brake: Callable[[str], str] | None = None,
) -> None:
    """The pipeline. The brake is called with each word, and returns it."""
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(sink)
        .set_key_serialization_schema(Word())
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    written = (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(schema)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(f"job-{sink}")
        .build()
    )
    words = env.from_source(read, WatermarkStrategy.no_watermarks(), "read").uid("read")
    if brake is not None:
        words = words.map(brake, Types.STRING()).uid("brake")
    counted = words.key_by(lambda word: word).process(Count(), Types.STRING()).uid("count")
    counted.sink_to(written).uid("write")


def main(
    servers: str, source: str, sink: str, directory: str, where: str, history: str = ""
) -> None:
    settings = {
        "execution.checkpointing.dir": directory,
        "execution.checkpointing.interval": "1 ms",
        "execution.checkpointing.tolerable-failed-checkpoints": "1",
        "millrace.epoch.min-interval": "40 ms",  # so that commits fall in between
        **SMALL_EPOCHS,
    }
    read: Source[str] = kafka(servers, source, KafkaOffsetsInitializer.earliest())
    if history:
        read = history_first(servers, source, history)
    build_it = partial(build, read=read, servers=servers, sink=sink)
    run_resumed("kafka-to-kafka", build_it, settings, where, clock=WallClock())


if __name__ == "__main__":
    main(*sys.argv[1:])
