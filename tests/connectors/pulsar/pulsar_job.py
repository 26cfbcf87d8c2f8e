"""Pulsar to keyed state to Pulsar, exactly once: the n-th message of a word gives ``word:n``.

Usage: ``pulsar_job.py URL ADMIN_URL SOURCE SINK DIRECTORY (local | spark) [N [together]]``. Resumes
what it finds, with N subtasks. ``together``: only contents are written, which go together.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from typing import Any

from resumed_job import SMALL_EPOCHS, run_resumed
from wall_clock import WallClock

from millrace.common import SimpleStringSchema, Types, WatermarkStrategy
from millrace.common.sink import DeliveryGuarantee
from millrace.connectors.pulsar import (
    PulsarMessage,
    PulsarSerializationSchema,
    PulsarSink,
    PulsarSource,
    StopCursor,
    TopicRoutingMode,
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: Any) -> Iterable[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value}:{count}"


class ByWord(PulsarSerializationSchema[str]):
    def serialize(self, record: str) -> PulsarMessage:
        return PulsarMessage(record.encode(), key=record.partition(":")[0])


def build(
    env: StreamExecutionEnvironment,
    url: str,
    admin_url: str,
    source: str,
    sink: str,
    together: bool,
) -> None:
    read = (
        PulsarSource.builder()
        .set_service_url(url)
        .set_topics(source)
        .set_subscription_name(f"of-{sink}")
        .set_bounded_stop_cursor(StopCursor.latest())
        .set_deserialization_schema(SimpleStringSchema())
        .build()
    )
    written = (
        PulsarSink.builder()
        .set_service_url(url)
        .set_admin_url(admin_url)
        .set_topics(sink)
        .set_producer_name(f"job-{sink}")
        .set_topic_routing_mode(TopicRoutingMode.MESSAGE_KEY_HASH)
        .set_serialization_schema(SimpleStringSchema() if together else ByWord())
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .build()
    )
    words = env.from_source(read, WatermarkStrategy.no_watermarks(), "read").uid("read")
    counted = words.key_by(lambda word: word).process(Count(), Types.STRING()).uid("count")
    counted.sink_to(written).uid("write")


def main(
    url: str,
    admin_url: str,
    source: str,
    sink: str,
    directory: str,
    where: str,
    parallelism: str = "2",
    kind: str = "",
) -> None:
    settings = {
        "execution.checkpointing.dir": directory,
        "execution.checkpointing.interval": "1 ms",
        "millrace.epoch.min-interval": "40 ms",  # so that commits fall in between
        **SMALL_EPOCHS,
    }
    together = kind == "together"
    names = {"url": url, "admin_url": admin_url, "source": source, "sink": sink}
    build_it = partial(build, **names, together=together)
    run_resumed("pulsar-to-pulsar", build_it, settings, where, int(parallelism), clock=WallClock())


if __name__ == "__main__":
    main(*sys.argv[1:])
