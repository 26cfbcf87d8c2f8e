"""Kafka to keyed state to Kafka, while `kafka_load.py` sends and times.

    python kafka_paced.py SERVERS SOURCE SINK --checkpoint-dir DIR --seconds S --warm-up W
        [--executor resident] [--guarantee at-least-once] [--commit-ms C]

Prints what that prints, and how long epochs took.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millrace.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from millrace.connectors.kafka import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from millrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.connectors.base import DeliveryGuarantee
from millrace.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: Any) -> Iterator[str]:
        key, _, due = value.partition(",")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{key},{count},{due}"


def build(
    env: StreamExecutionEnvironment, servers: str, source: str, sink: str, guarantee: str
) -> None:
    text = SimpleStringSchema()
    read = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(source)
        .set_property("fetch.wait.max.ms", "10")
        .set_value_only_deserializer(text)
        .build()
    )
    schema = KafkaRecordSerializationSchema.builder().set_topic(sink)
    written = (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(schema.set_value_serialization_schema(text).build())
        .set_delivery_guarantee(DeliveryGuarantee(guarantee))
        .set_transactional_id_prefix("paced")
        .build()
    )
    records = env.from_source(read, WatermarkStrategy.no_watermarks(), "read")
    keyed = records.key_by(lambda value: value[: value.index(",")])
    keyed.process(Count(), Types.STRING()).sink_to(written)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("servers", "source", "sink"):
        parser.add_argument(name)
    for name in ("--checkpoint-dir", "--seconds", "--warm-up"):
        parser.add_argument(name, required=True)
    parser.add_argument("--executor", default="epochs")
    guarantees = [guarantee.value for guarantee in DeliveryGuarantee]
    parser.add_argument("--guarantee", default="exactly-once", choices=guarantees)
    parser.add_argument("--commit-ms", default="0")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    config = Configuration()
    config.set_string("execution.checkpointing.dir", args.checkpoint_dir)
    config.set_string("execution.checkpointing.interval", f"{args.commit_ms} ms")
    config.set_string("millrace.executor", args.executor)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(2)
    build(env, args.servers, args.source, args.sink, args.guarantee)
    epoch_ms: list[float] = []
    env.launcher.listeners.append(lambda job: epoch_ms.append(round(job.epoch_ms, 1)))
    client = env.execute_async("paced")
    places = [args.servers, args.source, args.sink]
    times = ["--seconds", args.seconds, "--warm-up", args.warm_up]
    load = [sys.executable, str(Path(__file__).with_name("kafka_load.py")), *places, *times]
    done = subprocess.run(load, check=True, capture_output=True, text=True)
    client.cancel().result()
    print(json.dumps({**json.loads(done.stdout), "epoch_ms": epoch_ms}))


if __name__ == "__main__":
    main()
