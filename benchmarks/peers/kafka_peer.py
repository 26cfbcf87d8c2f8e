"""PyFlink's side of the Kafka measurements.

    python kafka_peer.py read  JAR SERVERS TOPIC MODE N
    python kafka_peer.py paced JAR SERVERS SOURCE SINK MODE

MODE is ``thread`` or ``process`` (where Python functions run), or ``jvm``: no Python function sees
a record. ``read`` reads N records of 200 bytes of JSON from the two partitions of a topic, a Python
function drops them; it prints one JSON line. ``paced`` counts per key from topic to topic, exactly
once with a checkpoint every 100 ms, until it is killed; it prints a line when it runs.
"""

from __future__ import annotations

import os
import sysconfig

# see pyflink_peer.py
os.environ.setdefault("_python_worker_execution_mode", "process")
os.environ["PYTHONPATH"] = sysconfig.get_path("purelib")

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyflink.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors import DeliveryGuarantee, Sink
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from pyflink.datastream.formats.json import JsonRowDeserializationSchema
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.java_gateway import get_gateway

PARTITIONS = 2
ORDER = Types.ROW_NAMED(
    ["id", "customer", "amount", "currency", "at", "paid", "note"],
    [
        Types.LONG(),
        Types.STRING(),
        Types.DOUBLE(),
        Types.STRING(),
        Types.LONG(),
        Types.BOOLEAN(),
        Types.STRING(),
    ],
)


def environment(jar: str, mode: str, bundle_ms: int) -> StreamExecutionEnvironment:
    config = Configuration()
    config.set_string("python.executable", sys.executable)
    config.set_string("python.execution-mode", "process" if mode == "jvm" else mode)
    config.set_string("python.fn-execution.bundle.size", "100000" if bundle_ms > 100 else "1000")
    config.set_string("python.fn-execution.bundle.time", str(bundle_ms))
    config.set_string("pipeline.object-reuse", "true")
    config.set_string("pipeline.jars", Path(jar).as_uri())
    config.set_string("rest.port", "0")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(2)
    return env


def nowhere() -> Sink:
    jvm = get_gateway().jvm
    return Sink(jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink())


def read(jar: str, servers: str, topic: str, mode: str, count: str) -> None:
    env = environment(jar, mode, 1000)
    ends = {KafkaTopicPartition(topic, p): int(count) // PARTITIONS for p in range(PARTITIONS)}
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.offsets(ends))
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(ORDER).build()
        )
        .build()
    )
    orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    if mode != "jvm":
        orders = orders.filter(lambda order: order[2] < 0)
    orders.sink_to(nowhere())
    start = time.perf_counter()
    env.execute("reading")
    report = {"seconds": round(time.perf_counter() - start, 3), "records": int(count)}
    print(json.dumps(report))


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: Any) -> Iterator[str]:
        key, _, due = value.partition(",")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{key},{count},{due}"


def paced(jar: str, servers: str, source: str, sink: str, mode: str) -> None:
    env = environment(jar, mode, 10)
    env.enable_checkpointing(100)
    read_from = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(source)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_property("fetch.max.wait.ms", "10")
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(sink)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    write_to = (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(schema)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix("peer")
        .set_property("transaction.timeout.ms", "60000")
        .build()
    )
    records = env.from_source(read_from, WatermarkStrategy.no_watermarks(), "read")
    keyed = records.key_by(lambda value: value[: value.index(",")], key_type=Types.STRING())
    keyed.process(Count(), Types.STRING()).sink_to(write_to)
    env.execute_async("paced")
    print("running", flush=True)
    time.sleep(3600)


if __name__ == "__main__":
    {"read": read, "paced": paced}[sys.argv[1]](*sys.argv[2:])
