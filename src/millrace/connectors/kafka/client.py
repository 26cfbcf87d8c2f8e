"""Kafka clients: their configuration from Kafka's properties, and the meaning of their errors."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.installation import missing_package
from millrace.common.similar_names import nearest_name
from millrace.connectors.errors import ConnectorError

__all__ = [
    "ClientLog",
    "KafkaError",
    "ask",
    "client_config",
    "create_admin",
    "create_consumer",
    "create_producer",
    "import_confluent_kafka",
    "is_transient",
    "require_properties",
]

T = TypeVar("T")
_COMMON = (
    *("bootstrap.", "broker.", "client.", "socket."),
    *("enable.sasl.", "enable.ssl.", "https.", "sasl.", "security.", "ssl."),
)

PATIENCE_S = 30.0
_MOMENT_S = 0.1
_NOTICE = 5
"""A level of syslog, as librdkafka takes it."""
JAVA_ONLY = frozenset(
    {
        "key.deserializer",
        "key.serializer",
        "max.poll.records",
        "register.consumer.metrics",
        "register.producer.metrics",
        "value.deserializer",
        "value.serializer",
    }
)
"""Properties of PyFlink programs that say nothing here."""
_OFTEN_SET = (
    *("acks", "auto.offset.reset", "batch.num.messages", "batch.size", "bootstrap.servers"),
    *("broker.address.family", "check.crcs", "client.dns.lookup", "client.id", "client.rack"),
    *("compression.level", "compression.type", "debug", "delivery.timeout.ms"),
    *("enable.auto.commit", "enable.idempotence", "enable.partition.eof"),
    *("enable.ssl.certificate.verification", "fetch.max.bytes", "fetch.message.max.bytes"),
    *("fetch.min.bytes", "fetch.wait.max.ms", "group.id", "group.instance.id"),
    *("heartbeat.interval.ms", "isolation.level", "linger.ms", "log_level", "max.in.flight"),
    *("max.partition.fetch.bytes", "max.poll.interval.ms", "message.max.bytes"),
    *("metadata.max.age.ms", "partitioner", "queue.buffering.max.kbytes"),
    *("queue.buffering.max.messages", "queued.max.messages.kbytes", "queued.min.messages"),
    *("receive.message.max.bytes", "reconnect.backoff.max.ms", "reconnect.backoff.ms"),
    *("request.required.acks", "request.timeout.ms", "retries", "retry.backoff.ms"),
    *("sasl.mechanism", "sasl.mechanisms", "sasl.oauthbearer.config", "sasl.password"),
    *("sasl.username", "security.protocol", "session.timeout.ms", "socket.keepalive.enable"),
    *("socket.connection.setup.timeout.ms", "socket.timeout.ms", "ssl.ca.location", "ssl.ca.pem"),
    *("ssl.certificate.location", "ssl.endpoint.identification.algorithm", "ssl.key.location"),
    *("ssl.key.password", "statistics.interval.ms", "transaction.timeout.ms", "transactional.id"),
)
"""Names of librdkafka's properties. librdkafka itself lists its properties nowhere in Python."""
_DEFAULTS = {"socket.nagle.disable": "true"}
"""Defaults of Kafka's Java clients that librdkafka has otherwise. With Nagle's algorithm a small
request waits until the broker has confirmed the one before."""
_RENAMED = {"fetch.max.wait.ms": "fetch.wait.max.ms"}
"""Names of Kafka's Java clients that librdkafka calls otherwise."""


class KafkaError(ConnectorError):
    """Kafka is not readable or writable, or is not configured as the job requires."""


def import_confluent_kafka() -> Any:
    """Import the module confluent_kafka.

    Raises:
        KafkaError: it is not installed.
    """
    try:
        import confluent_kafka
    except ImportError as error:
        raise KafkaError(
            missing_package(
                "the Kafka connector needs", "confluent-kafka", "kafka", on_workers=True
            )
        ) from error
    return confluent_kafka


def require_properties(properties: Any) -> dict[str, str]:
    """Properties with their values as text, as Kafka clients require them.

    Raises:
        JobDefinitionError: they are not a mapping of names to plain values.
    """
    if not isinstance(properties, Mapping):
        raise JobDefinitionError(f"Kafka properties are a dict, not {properties!r}")
    texts = {}
    for name, value in properties.items():
        if not isinstance(name, str) or not isinstance(value, (str, int, float)):
            raise JobDefinitionError(
                f"a Kafka property is a name and a text or number, not {name!r}: {value!r}"
            )
        texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


def _meant(refusal: str) -> str:
    """Question about the property that librdkafka does not know, if its name is nearly that of one
    which programs set."""
    unknown = re.search(r'No such configuration property: "([^"]*)"', refusal)
    near = nearest_name(unknown[1], _OFTEN_SET) if unknown else None
    return "" if near is None else f"; did you mean {near!r}?"


def create_admin(config: Mapping[str, Any]) -> Any:
    """An administrative client. Its INFO messages about its own clean-up are not logged."""
    administration: Any = import_module("confluent_kafka.admin")
    return administration.AdminClient(
        {**_DEFAULTS, "logger": ClientLog(), "log_level": _NOTICE, **config}
    )


def create_consumer(config: Mapping[str, Any]) -> Any:
    """Create a consumer.

    Raises:
        KafkaError: a property is unknown, or its value cannot be.
    """
    return _create("Consumer", config)


def create_producer(config: Mapping[str, Any]) -> Any:
    """Create a producer.

    Raises:
        KafkaError: a property is unknown, or its value cannot be.
    """
    return _create("Producer", config)


def _create(kind: str, config: Mapping[str, Any]) -> Any:
    confluent_kafka = import_confluent_kafka()
    known = {_RENAMED.get(k, k): v for k, v in config.items() if k not in JAVA_ONLY}
    known = {**_DEFAULTS, "logger": ClientLog(), **known}
    try:
        return getattr(confluent_kafka, kind)(known)
    except (confluent_kafka.KafkaException, TypeError, ValueError) as error:
        raise KafkaError(
            f"no Kafka {kind.lower()} can be made with these properties: {_text(error)}"
            f"{_meant(_text(error)) or '.'} Properties are those of librdkafka; most names are the "
            "same as in Kafka's Java clients"
        ) from error


def client_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Properties of producers and consumers that also apply to administrative clients."""
    return {name: value for name, value in config.items() if name.startswith(_COMMON)}


def is_transient(error: Any) -> bool:
    """Whether the client recovers from an error by itself, for example from an unreachable
    broker."""
    kinds = import_confluent_kafka().KafkaError
    passing = (kinds._ALL_BROKERS_DOWN, kinds._TRANSPORT, kinds._RESOLVE, kinds._TIMED_OUT)
    return not error.fatal() and (error.retriable() or error.code() in passing)


def ask(request: Callable[[], T], patience: float = PATIENCE_S) -> T:
    """Send a request to the brokers and return the response; the request is repeated while they are
    not ready yet.

    Args:
        patience: seconds after which an error that passes is an error all the same.

    Raises:
        KafkaException: the request cannot be answered.
    """
    until = time.monotonic() + patience
    while True:
        try:
            return request()
        except import_confluent_kafka().KafkaException as error:
            if not is_transient(error.args[0]) or time.monotonic() > until:
                raise
            time.sleep(_MOMENT_S)


def _text(error: Exception) -> str:
    first = error.args[0] if error.args else error
    return first.str() if hasattr(first, "str") else str(first)


_PAUSE_S = 60.0
_MOST_KINDS = 1_000
_NUMBER = re.compile(r"\d+(?!\S*/)")
"""A number that differs from one repetition to the next, such as a time; not a broker's address."""
_PASSING = re.compile(r"load in progress|retrying", re.IGNORECASE)
_QUIET = frozenset({"BGQUEUE"})
"""Facilities with messages about the client's own tidying up, which nobody can act on."""


@dataclass(slots=True)
class _Repeats:
    next_line_s: float
    unwritten: int = 0


class ClientLog:
    """Logger for one client of librdkafka.

    A client that cannot connect logs each attempt, several times a second. Of messages that differ
    only in numbers, the first is written, and then one a minute, with the number of the others;
    at level DEBUG, all are.
    """

    def __init__(
        self, logger: logging.Logger | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._logger = logger or logging.getLogger("millrace.kafka")
        self._now = now
        self._repeats: dict[tuple[str, str], _Repeats] = {}

    def log(self, level: int, form: str, facility: str, client: str, text: str) -> None:
        """Log a message; the client calls this with the arguments of `logging.Logger.log`."""
        if facility in _QUIET or (facility == "GETPID" and _PASSING.search(text)):
            self._logger.debug(form, facility, client, text)
            return
        now = self._now()
        if len(self._repeats) > _MOST_KINDS:
            self._repeats.clear()
        repeats = self._repeats.setdefault((facility, _NUMBER.sub("", text)), _Repeats(now))
        if now < repeats.next_line_s:
            repeats.unwritten += 1
            self._logger.debug(form, facility, client, text)
            return
        more = f" ({repeats.unwritten} more like this)" if repeats.unwritten else ""
        repeats.next_line_s, repeats.unwritten = now + _PAUSE_S, 0
        self._logger.log(level, form + "%s", facility, client, text, more)
