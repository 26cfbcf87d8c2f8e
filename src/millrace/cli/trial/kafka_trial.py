"""Sample orders for trying out Kafka, and the program that reads them."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

from millrace.cli.trial.kafka_jars import TrialError
from millrace.cli.trial.trial_broker import TrialBroker
from millrace.connectors.kafka.client import import_confluent_kafka

__all__ = ["FIRST_ORDERS", "KafkaTrial", "program", "statements"]

ORDERS, TOTALS = "orders", "totals"
FIRST_ORDERS = (("ada", 1200), ("bob", 450), ("ada", 300), ("cleo", 2000))
"""Customers and cents of the orders that are there at once."""
LATER_ORDERS = (("bob", 150), ("ada", 990), ("cleo", 60), ("dan", 730), ("bob", 310))
"""Orders that follow one after the other, again and again."""
_MOMENT_S = 0.2
_DELIVERY_S = 30.0
_PROGRAM = """\
import json

from millrace.common import SimpleStringSchema, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)

BROKERS = "{address}"


def added(total, order):
    return {{"customer": order["customer"], "cents": total["cents"] + order["cents"]}}


source = (
    KafkaSource.builder()
    .set_bootstrap_servers(BROKERS)
    .set_topics("orders")
    .set_starting_offsets(KafkaOffsetsInitializer.earliest())
    .set_value_only_deserializer(SimpleStringSchema())
    .build()
)
record = (
    KafkaRecordSerializationSchema.builder()
    .set_topic("totals")
    .set_value_serialization_schema(SimpleStringSchema())
    .build()
)
sink = KafkaSink.builder().set_bootstrap_servers(BROKERS).set_record_serializer(record).build()

env = StreamExecutionEnvironment.get_execution_environment()
orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").map(json.loads)
totals = orders.key_by(lambda order: order["customer"]).reduce(added)
totals.map(json.dumps).sink_to(sink)
env.execute("totals")
"""

_STATEMENTS = """\
CREATE TABLE orders (customer STRING, cents BIGINT) WITH (
    'connector' = 'kafka',
    'topic' = 'orders',
    'properties.bootstrap.servers' = '{address}',
    'scan.startup.mode' = 'earliest-offset',
    'format' = 'json'
);

CREATE TABLE totals (customer STRING, cents BIGINT, PRIMARY KEY (customer) NOT ENFORCED) WITH (
    'connector' = 'upsert-kafka',
    'topic' = 'totals',
    'properties.bootstrap.servers' = '{address}',
    'key.format' = 'json',
    'value.format' = 'json'
);

INSERT INTO totals SELECT customer, SUM(cents) AS cents FROM orders GROUP BY customer;
"""


def program(address: str) -> str:
    """The program that sums orders per customer, for brokers at an address."""
    return _PROGRAM.format(address=address)


def statements(address: str) -> str:
    """The statements that do the same in SQL, for brokers at an address."""
    return _STATEMENTS.format(address=address)


class KafkaTrial:
    """Topics with orders, and the records that a program writes to ``totals``.

    Args:
        rate: orders per second after the first ones.
        say: prints a line.
    """

    def __init__(self, broker: TrialBroker, rate: float, say: Callable[[str], None]) -> None:
        self._broker = broker
        self._interval = 1 / rate if rate else None
        self._say = say
        self._kafka = import_confluent_kafka()
        config = {"bootstrap.servers": broker.address, "log_level": 0}
        self._producer = self._kafka.Producer({**config, "linger.ms": 5})
        self._consumer = self._kafka.Consumer({**config, "group.id": "millrace-try"})
        self._later = itertools.cycle(LATER_ORDERS)
        self._next = 0.0

    def prepare(self) -> None:
        """Create the topics, and send the first orders."""
        self._broker.create_topics(ORDERS, TOTALS)
        for customer, cents in FIRST_ORDERS:
            self._send(customer, cents)
        if self._producer.flush(_DELIVERY_S):
            raise TrialError(f"Kafka at {self._broker.address} does not accept the first orders")
        self._consumer.assign([self._kafka.TopicPartition(TOTALS, 0, 0)])

    def run(self) -> None:
        """Send orders and print totals until interrupted.

        Raises:
            TrialError: the broker has ended by itself.
        """
        self._next = time.monotonic()
        while not self._broker.ended:
            self.step()
        raise TrialError(f"Kafka has ended:\n{self._broker.last_words()}")

    def step(self) -> None:
        """Send the orders that are due, and print the totals that have come."""
        now = time.monotonic()
        self._next = max(self._next, now - 1)  # after a pause, not all of its orders at once
        while self._interval is not None and self._next <= now:
            self._send(*next(self._later))
            self._next += self._interval
        self._producer.poll(0)
        for message in self._consumer.consume(1_000, timeout=_MOMENT_S):
            if message.error() is None and message.value() is not None:
                self._say(f"{TOTALS}: {_text(message.value())}")

    def close(self) -> None:
        """End the clients."""
        self._consumer.close()
        self._producer.flush(0)

    def _send(self, customer: str, cents: int) -> None:
        value = json.dumps({"customer": customer, "cents": cents})
        self._producer.produce(ORDERS, value, key=customer)


def _text(value: Any) -> str:
    return bytes(value).decode("utf-8", errors="replace")
