"""A sink to Elasticsearch and OpenSearch. Flink docs: "Elasticsearch"; FLIP-171."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from typing import Any, Self

from millrace.common.errors import JobDefinitionError
from millrace.common.sink import DeliveryGuarantee, SinkWriter, WriterContext
from millrace.connectors.elasticsearch.backoff import Backoff, FlushBackoffType
from millrace.connectors.elasticsearch.connection import Connection, require_hosts
from millrace.connectors.elasticsearch.emitter import ElasticsearchEmitter
from millrace.connectors.elasticsearch.settings import FailureHandler, SinkSettings
from millrace.connectors.elasticsearch.writer import ElasticsearchWriter
from millrace.connectors.repeatable_writes import writes_ahead
from millrace.runtime.write_ahead import RepeatableSink

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchSink",
    "ElasticsearchSinkBuilderBase",
]

_MAX_ACTIONS = 1000
_MAX_MB = 5
_MB = 1 << 20


class ElasticsearchSink(RepeatableSink):
    """Writes documents to Elasticsearch 7 and later, OpenSearch, and Elasticsearch 6.

    Made by `Elasticsearch7SinkBuilder` or `Elasticsearch6SinkBuilder`. An epoch ends only when the
    cluster has acknowledged all its documents: at least once. With ids from the records a repeated
    write replaces what the first has written, so each document is there once.
    """

    def __init__(self, settings: SinkSettings) -> None:
        self._settings = settings

    @property
    def writes_ahead(self) -> bool:
        return self._settings.writes_ahead

    def create_direct_writer(self, context: WriterContext) -> SinkWriter[Any]:
        return ElasticsearchWriter(self._settings, context)


class ElasticsearchSinkBuilderBase(ABC):
    """Collects the options of an `ElasticsearchSink` for any server version; names as in
    PyFlink."""

    def __init__(self) -> None:
        self._connection = Connection(())
        self._emitter: ElasticsearchEmitter | None = None
        self._backoff = Backoff()
        self._max_actions: float = _MAX_ACTIONS
        self._max_bytes: float = _MAX_MB * _MB
        self._handler: FailureHandler | None = None
        self._writes_ahead = False

    def set_emitter(self, emitter: ElasticsearchEmitter) -> Self:
        """Set the emitter, which makes actions from records.

        Raises:
            JobDefinitionError: the argument is not an `ElasticsearchEmitter`.
        """
        if not isinstance(emitter, ElasticsearchEmitter):
            raise JobDefinitionError(
                f"set_emitter() takes an ElasticsearchEmitter such as ElasticsearchEmitter."
                f"static_index('users', 'id'), not {emitter!r}"
            )
        self._emitter = emitter
        return self

    def set_hosts(self, hosts: str | list[str]) -> Self:
        """Set the addresses of nodes, such as ``https://node-1:9200``; if a node is down, the next
        one is used.

        Raises:
            JobDefinitionError: there are none, or one is no address.
        """
        return self._connect(hosts=require_hosts(hosts))

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """Set the guarantee. NONE and AT_LEAST_ONCE mean the same: documents are written
        immediately, and again after a failure. With EXACTLY_ONCE they are written when their
        checkpoint is complete, so nothing of a lost epoch stays. The sink then gives an id to each
        document without one.

        Raises:
            JobDefinitionError: it is no `DeliveryGuarantee`.
        """
        self._writes_ahead = writes_ahead(delivery_guarantee)
        return self

    def set_bulk_flush_max_actions(self, num_max_actions: int) -> Self:
        """Set the maximum number of actions of one request: 1000 by default, -1 for no limit.

        Raises:
            JobDefinitionError: the argument is neither -1 nor positive.
        """
        self._max_actions = _limit(num_max_actions, "set_bulk_flush_max_actions")
        return self

    def set_bulk_flush_max_size_mb(self, max_size_mb: int) -> Self:
        """Set the maximum size of one request in megabytes: 5 by default, -1 for no limit.

        Raises:
            JobDefinitionError: the argument is neither -1 nor positive.
        """
        self._max_bytes = _limit(max_size_mb, "set_bulk_flush_max_size_mb") * _MB
        return self

    def set_bulk_flush_interval(self, interval_millis: int) -> Self:
        """Accepted for Flink programs, without effect: every epoch flushes.

        Raises:
            JobDefinitionError: the argument is neither -1 nor positive.
        """
        _limit(interval_millis, "set_bulk_flush_interval")
        return self

    def set_bulk_flush_backoff_strategy(
        self, flush_backoff_type: FlushBackoffType, max_retries: int, delay_millis: int
    ) -> Self:
        """Set the retries, and the pauses between them, for requests and documents that fail
        because nodes are down or have no capacity (status 429, 502, 503, 504; 409 of an update).

        Raises:
            JobDefinitionError: it is no `FlushBackoffType`, or a number is negative.
        """
        if not isinstance(flush_backoff_type, FlushBackoffType):
            raise JobDefinitionError(
                "set_bulk_flush_backoff_strategy() takes a FlushBackoffType, not "
                f"{flush_backoff_type!r}"
            )
        for number in (max_retries, delay_millis):
            if not isinstance(number, int) or number < 0:
                raise JobDefinitionError(
                    "set_bulk_flush_backoff_strategy() takes a number of retries and of "
                    f"milliseconds, not {number!r}"
                )
        self._backoff = Backoff(flush_backoff_type, max_retries, delay_millis)
        return self

    def set_failure_handler(self, failure_handler: FailureHandler) -> Self:
        """Set a function that is called with the `DocumentFailure` of each document that the
        cluster refuses. If it returns, the document is skipped; if it raises, the job fails.

        Raises:
            JobDefinitionError: the argument is not a function.
        """
        if not callable(failure_handler):
            raise JobDefinitionError(
                f"set_failure_handler() takes a function, not {failure_handler!r}"
            )
        self._handler = failure_handler
        return self

    def set_connection_username(self, username: str) -> Self:
        """Set the name of the server's user."""
        return self._connect(username=username)

    def set_connection_password(self, password: str) -> Self:
        """Set the user's password; take it from the environment, not from the program text."""
        return self._connect(password=password)

    def set_connection_api_key(self, api_key: str) -> Self:
        """Set an API key in encoded form, instead of a user."""
        return self._connect(api_key=api_key)

    def set_connection_token(self, token: str) -> Self:
        """Set a bearer token, instead of a user."""
        return self._connect(token=token)

    def set_connection_ca_certificates(self, path: str) -> Self:
        """Set a file of CA certificates for ``https`` hosts, present on every worker; by default
        the system's certificates."""
        return self._connect(ca_certificates=path)

    def set_connection_path_prefix(self, prefix: str) -> Self:
        """Set the prefix of the paths of all requests, such as ``/search`` behind a proxy."""
        stripped = prefix.strip("/")
        return self._connect(path_prefix=f"/{stripped}" if stripped else "")

    def set_connection_request_timeout(self, timeout: int) -> Self:
        """Accepted for Flink programs, without effect: a subtask has its own connection."""
        return self

    def set_connection_timeout(self, timeout: int) -> Self:
        """Set the connection timeout in milliseconds; 10000 by default."""
        return self._connect(connect_timeout_ms=_milliseconds(timeout, "set_connection_timeout"))

    def set_socket_timeout(self, timeout: int) -> Self:
        """Set the maximum time until a response begins, in milliseconds; 30000 by default."""
        return self._connect(socket_timeout_ms=_milliseconds(timeout, "set_socket_timeout"))

    def build(self) -> ElasticsearchSink:
        """The sink with all settings made so far.

        Raises:
            JobDefinitionError: hosts or emitter are missing.
        """
        if not self._connection.hosts or self._emitter is None:
            missing = "set_hosts()" if self._emitter is not None else "set_emitter()"
            raise JobDefinitionError(f"an ElasticsearchSink needs {missing}")
        settings = SinkSettings(
            self._connection,
            self._emitter,
            self._backoff,
            self._max_actions,
            self._max_bytes,
            self._handler,
            self._with_types,
            self._writes_ahead,
        )
        return ElasticsearchSink(settings)

    @property
    @abstractmethod
    def _with_types(self) -> bool:
        """Whether the cluster requires the type of each document."""

    def _connect(self, **changes: Any) -> Self:
        self._connection = dataclasses.replace(self._connection, **changes)
        return self


class Elasticsearch7SinkBuilder(ElasticsearchSinkBuilderBase):
    """Collects the options of an `ElasticsearchSink` for Elasticsearch 7 and later, and OpenSearch;
    names as in PyFlink.

    Example:
        >>> sink = (
        ...     Elasticsearch7SinkBuilder()
        ...     .set_hosts("localhost:9200")
        ...     .set_emitter(ElasticsearchEmitter.static_index("users", "id"))
        ...     .set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 5, 100)
        ...     .build()
        ... )
    """

    @property
    def _with_types(self) -> bool:
        return False


class Elasticsearch6SinkBuilder(ElasticsearchSinkBuilderBase):
    """Collects the options of an `ElasticsearchSink` for Elasticsearch 6; names as in PyFlink.

    Its requests name the type of each document, which later versions refuse: that of the emitter's
    ``doc_type``, or ``_doc``.

    Example:
        >>> sink = (
        ...     Elasticsearch6SinkBuilder()
        ...     .set_hosts("localhost:9200")
        ...     .set_emitter(ElasticsearchEmitter.static_index("users", "id", "user"))
        ...     .build()
        ... )
    """

    @property
    def _with_types(self) -> bool:
        return True


def _limit(number: Any, call: str) -> float:
    if number == -1:
        return math.inf
    if not isinstance(number, int) or number <= 0:
        raise JobDefinitionError(f"{call}() takes a positive number or -1, not {number!r}")
    return number


def _milliseconds(number: Any, call: str) -> int:
    if not isinstance(number, int) or number <= 0:
        raise JobDefinitionError(
            f"{call}() takes a positive number of milliseconds, not {number!r}"
        )
    return number
