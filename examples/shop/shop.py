"""Orders in PostgreSQL: their changes go to Kafka, and from there to a table and to Redis.

``python start.py`` starts the servers and this job. It finds them by the environment variables
``PGHOST``, ``PGPORT``, ``PGUSER``, ``PGPASSWORD``, ``PGDATABASE``, ``KAFKA_BOOTSTRAP_SERVERS`` and
``REDIS_URL``; its argument is the directory of the table.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from order_steps import (
    WINDOW,
    Record,
    Revenue,
    RevenueOfProduct,
    Step,
    StepSchema,
    cancelling,
    cancelling_alert,
    unshipped,
    unshipped_alert,
)

from millrace.cep import CEP
from millrace.common import Duration, SimpleStringSchema, Types, WatermarkStrategy
from millrace.common.serialization import SerializationSchema
from millrace.connectors import DeliveryGuarantee
from millrace.connectors.delta import DeltaSink
from millrace.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from millrace.connectors.postgres_cdc import JsonDebeziumDeserializationSchema, PostgresCdcSource
from millrace.connectors.redis import RedisMapper, RedisSink
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.window import TumblingEventTimeWindows

TOPIC = "order-changes"
REVENUE = Types.ROW_NAMED(
    ["product", "start", "orders", "cents"],
    [Types.STRING(), Types.LONG(), Types.LONG(), Types.LONG()],
)


class OrderId(SerializationSchema[str]):
    """Changes of an order stay in their order: they have one key, so they are in one partition."""

    def serialize(self, value: str) -> bytes:
        change = json.loads(value)
        row = change["after"] or change["before"]
        return str(row["id"]).encode()


def capture(env: StreamExecutionEnvironment, brokers: str) -> None:
    """PostgreSQL to Kafka."""
    source = (
        PostgresCdcSource.builder()
        .hostname(os.environ["PGHOST"])
        .port(int(os.environ["PGPORT"]))
        .database(os.environ["PGDATABASE"])
        .table_list("public.orders")
        .slot_name("shop")
        .deserializer(JsonDebeziumDeserializationSchema())
        .build()
    )
    records = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(TOPIC)
        .set_key_serialization_schema(OrderId())
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(brokers)
        .set_record_serializer(records)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix("shop")
        .build()
    )
    changes = env.from_source(source, WatermarkStrategy.no_watermarks(), "changes").uid("changes")
    changes.sink_to(sink).uid("topic")


def read_steps(env: StreamExecutionEnvironment, brokers: str) -> DataStream[Step]:
    """What Kafka has, in event time."""
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(brokers)
        .set_topics(TOPIC)
        .set_group_id("shop")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_property("isolation.level", "read_committed")
        .set_value_only_deserializer(StepSchema())
        .build()
    )
    strategy: WatermarkStrategy[Step] = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_minutes(1)
    )
    event_time = strategy.with_timestamp_assigner(lambda step, _: step.at)
    return env.from_source(source, event_time, "orders").uid("orders")


def revenues(steps: DataStream[Step]) -> DataStream[Record]:
    """What was paid for each product in ten minutes."""
    return (
        steps.filter(lambda step: step.status == "paid")
        .key_by(lambda step: step.product, key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(WINDOW))
        .aggregate(Revenue(), RevenueOfProduct())
        .uid("revenue")
    )


def alerts(steps: DataStream[Step]) -> DataStream[Record]:
    """What somebody should look at."""
    customers = steps.key_by(lambda step: step.customer, key_type=Types.STRING())
    orders = steps.key_by(lambda step: step.order, key_type=Types.LONG())
    cancelled = CEP.pattern(customers, cancelling()).select(cancelling_alert).uid("cancelling")
    waiting = CEP.pattern(orders, unshipped()).select(unshipped_alert).uid("unshipped")
    return cancelled.union(waiting)


def write_status(steps: DataStream[Step], url: str) -> None:
    """Redis knows where each order is: a hash by its number."""
    mapper = RedisMapper.set_fields(
        key=lambda step: f"order:{step.order}",
        fields=lambda step: {"customer": step.customer, "status": step.status},
    )
    sink = RedisSink.builder().set_url(url).set_mapper(mapper).build()
    steps.key_by(lambda step: step.order, key_type=Types.LONG()).sink_to(sink).uid("status")


def write_alerts(found: DataStream[Record], url: str) -> None:
    """Redis has a stream of alerts, each exactly once."""
    sink = (
        RedisSink.builder()
        .set_url(url)
        .set_mapper(RedisMapper.add_to_stream("alerts", fields=lambda alert: alert))
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_sink_id("shop-alerts")
        .build()
    )
    found.sink_to(sink).uid("alerts")


def write_revenues(found: DataStream[Record], directory: Path) -> None:
    """A table of Delta Lake, exactly once."""
    found.sink_to(DeltaSink(str(directory), REVENUE)).uid("revenues")


def build(env: StreamExecutionEnvironment, directory: Path) -> None:
    """The whole job."""
    brokers, redis = os.environ["KAFKA_BOOTSTRAP_SERVERS"], os.environ["REDIS_URL"]
    capture(env, brokers)
    steps = read_steps(env, brokers)
    write_status(steps, redis)
    write_alerts(alerts(steps), redis)
    write_revenues(revenues(steps), directory / "revenues")


def main() -> None:
    """Run until somebody stops it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    env.execute("shop")


if __name__ == "__main__":
    main()
