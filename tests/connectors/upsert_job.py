"""A sum per key, upserted into a database at least once: each driver resumes what it finds.

Usage: ``upsert_job.py DATABASE PLACE DIRECTORY COUNT [logged]``, with a place as the database's
sink has it. ``logged``: each number is written under a key that is drawn, exactly once.
"""

from __future__ import annotations

import sys
import uuid
from functools import partial
from typing import Any

from resumed_job import SMALL_EPOCHS, run_resumed
from wall_clock import WallClock

from millrace.common import Row, Types, WatermarkStrategy
from millrace.common.sink import DeliveryGuarantee
from millrace.connectors import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment

KEYS = 7


def sums_of(count: int) -> dict[str, int]:
    """What the job leaves."""
    return {f"key-{key}": sum(range(key, count, KEYS)) for key in range(KEYS)}


def guarantee(logged: bool) -> DeliveryGuarantee:
    return DeliveryGuarantee.EXACTLY_ONCE if logged else DeliveryGuarantee.AT_LEAST_ONCE


def mongodb(place: str, logged: bool) -> Any:
    """``URI DATABASE COLLECTION``"""
    from millrace.connectors.mongodb import MongoSink

    uri, database, collection = place.split(" ")
    builder = MongoSink.builder().set_uri(uri).set_database(database)
    builder.set_delivery_guarantee(guarantee(logged))
    return builder.set_collection(collection).set_key("key").build()


def elasticsearch(place: str, logged: bool) -> Any:
    """``HOST INDEX``"""
    from millrace.connectors.elasticsearch import Elasticsearch7SinkBuilder, ElasticsearchEmitter

    host, index = place.split(" ")
    builder = Elasticsearch7SinkBuilder().set_hosts(host)
    builder.set_emitter(ElasticsearchEmitter.static_index(index, "key"))
    return builder.set_delivery_guarantee(guarantee(logged)).build()


def cassandra(place: str, logged: bool) -> Any:
    """``PORT USER PASSWORD TABLE``"""
    from millrace.connectors.cassandra import CassandraSink

    port, user, password, table = place.split(" ")
    builder = CassandraSink.builder().set_host("127.0.0.1", int(port))
    builder.set_delivery_guarantee(guarantee(logged))
    return builder.set_credentials(user, password).set_table(table).build()


def build(env: StreamExecutionEnvironment, sink: Any, count: int) -> None:
    numbers = env.from_source(
        NumberSequenceSource(0, count - 1, splits=2), WatermarkStrategy.no_watermarks(), "numbers"
    )
    pairs = numbers.map(
        lambda number: Row(key=f"key-{number % KEYS}", total=number),
        Types.ROW_NAMED(["key", "total"], [Types.STRING(), Types.LONG()]),
    )
    keyed = pairs.key_by(lambda row: row["key"], Types.STRING())
    sums = keyed.reduce(lambda one, other: Row(key=one["key"], total=one["total"] + other["total"]))
    sums.sink_to(sink).uid("sums")


def build_drawn(env: StreamExecutionEnvironment, sink: Any, count: int) -> None:
    """Each number under a key of its own, which no other attempt draws: what a lost epoch has
    written, stays."""
    numbers = env.from_source(
        NumberSequenceSource(0, count - 1, splits=2), WatermarkStrategy.no_watermarks(), "numbers"
    )
    drawn = numbers.map(
        lambda number: Row(key=uuid.uuid4().hex, total=number),
        Types.ROW_NAMED(["key", "total"], [Types.STRING(), Types.LONG()]),
    )
    drawn.sink_to(sink).uid("drawn")


def main(database: str, place: str, directory: str, count: str, logged: str = "") -> None:
    settings = {
        "execution.checkpointing.dir": directory,
        "execution.checkpointing.interval": "1 ms",
        **SMALL_EPOCHS,
    }
    sink = globals()[database](place, bool(logged))
    build_it = partial(build_drawn if logged else build, sink=sink, count=int(count))
    run_resumed("sums", build_it, settings, clock=WallClock())


if __name__ == "__main__":
    main(*sys.argv[1:])
