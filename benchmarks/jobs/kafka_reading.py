"""A Kafka source of JSON that is read into columns and thrown away.

    python kafka_reading.py SERVERS TOPIC --checkpoint-dir DIR [--rows]

With --rows a Python function sees each record, as a row, and drops it.

The clock starts when the first epochs are over. Prints one JSON line: records, seconds, and the
processor time of all processes meanwhile.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter

from cpu_seconds import cpu_seconds
from discarding_sink import DiscardingSink

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.formats.json import JsonRowDeserializationSchema

WARM_UP = 3
"""Epochs before the clock starts."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers")
    parser.add_argument("topic")
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--rows", action="store_true")
    args = parser.parse_args()
    config = Configuration()
    config.set_string("execution.checkpointing.dir", args.checkpoint_dir)
    config.set_string("execution.checkpointing.interval", "1 s")
    config.set_string("millrace.executor", "epochs")  # as in RESULTS.md
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(2)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(args.servers)
        .set_topics(args.topic)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(ORDER).build()
        )
        .build()
    )
    orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    if args.rows:
        orders = orders.filter(lambda order: order[2] < 0)
    orders.sink_to(DiscardingSink())
    marks: list[tuple[float, int, Counter[str]]] = []
    env.launcher.listeners.append(
        lambda job: marks.append((time.perf_counter(), job.records, cpu_seconds()))
    )
    env.execute("reading")
    (start, read, before), (end, total, after) = marks[WARM_UP - 1], marks[-1]
    report = {
        "records": total - read,
        "seconds": round(end - start, 3),
        "epochs": len(marks) - WARM_UP,
        "cpu": dict(after - before),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
