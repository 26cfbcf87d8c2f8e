"""A sink of Cassandra tables. Flink docs: "Cassandra"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

from millrace.common.error_policy import ErrorPolicy
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import DeliveryGuarantee, SinkWriter, WriterContext
from millrace.common.time.amounts import Duration
from millrace.connectors.cassandra.client import CassandraConnection
from millrace.connectors.cassandra.cluster_builder import ClusterBuilder
from millrace.connectors.cassandra.consistency_level import ConsistencyLevel, require_write_level
from millrace.connectors.cassandra.failure_handler import CassandraFailureHandler
from millrace.connectors.cassandra.mapper_options import MapperOptions
from millrace.connectors.cassandra.writer import CassandraWriter, CassandraWriting
from millrace.connectors.index_range import require_at_least
from millrace.connectors.refused_writes import require_sink_error_policy
from millrace.connectors.repeatable_writes import writes_ahead
from millrace.runtime.write_ahead import RepeatableSink

__all__ = ["CassandraSink", "CassandraSinkBuilder", "CassandraSinkOptions"]


class CassandraSink(RepeatableSink):
    """Writes rows to Cassandra; made by `CassandraSink.builder`.

    An epoch ends when the replicas of the consistency level have acknowledged all its rows: at
    least once. A row that is written again replaces itself by its primary key, so it is there once.

    Example:
        >>> sink = (
        ...     CassandraSink.builder()
        ...     .set_host("localhost")
        ...     .set_credentials("app", "secret")
        ...     .set_table("shop.totals")
        ...     .enable_ignore_null_fields()
        ...     .build()
        ... )
        >>> sink
        CassandraSink(table shop.totals, Cassandra at localhost:9042)
    """

    def __init__(self, writing: CassandraWriting) -> None:
        self._writing = writing

    @staticmethod
    def builder() -> CassandraSinkBuilder:
        """A builder of a sink, without settings."""
        return CassandraSinkBuilder()

    @staticmethod
    def add_sink(input: Any) -> CassandraStreamSinkBuilder:
        """Begin a sink for a stream, as PyFlink programs do: ``build()`` attaches the sink."""
        return CassandraStreamSinkBuilder(input)

    def __repr__(self) -> str:
        return f"CassandraSink({self._writing.target}, {self._writing.connection})"

    @property
    def writes_ahead(self) -> bool:
        return self._writing.writes_ahead

    def create_direct_writer(self, context: WriterContext) -> SinkWriter[Any]:
        return CassandraWriter(self._writing, context)


class CassandraSinkOptions:
    """Collects the options of a `CassandraSink`; names as in PyFlink where it has them."""

    def __init__(self) -> None:
        self._writing = CassandraWriting()

    def set_host(self, host: str | list[str], port: int = 9042) -> Self:
        """Set one or several nodes of the cluster; the driver discovers the others.

        Raises:
            JobDefinitionError: the argument is not a name.
        """
        hosts = [host] if isinstance(host, str) else host
        if not isinstance(hosts, list) or not hosts or not all(map(_is_text, hosts)):
            raise JobDefinitionError(f"set_host() takes a host's name or a list, not {host!r}")
        require_at_least(1, port=port)
        return self._connect(hosts=tuple(hosts), port=port)

    def set_credentials(self, username: str, password: str) -> Self:
        """Set the name and the password of the database's user. Take the password from the
        environment."""
        return self._connect(username=username, password=password)

    def set_local_datacenter(self, name: str) -> Self:
        """Set the data centre whose nodes receive requests; by default the data centre of the
        first host."""
        return self._connect(local_datacenter=name)

    def set_request_timeout(self, milliseconds: int) -> Self:
        """Set the timeout of a request in milliseconds; 10,000 by default.

        Raises:
            JobDefinitionError: it is not positive.
        """
        require_at_least(1, milliseconds=milliseconds)
        return self._connect(request_timeout_ms=milliseconds)

    def set_cluster_builder(self, builder: ClusterBuilder | Callable[[], Any]) -> Self:
        """Set a `ClusterBuilder`, or a function that makes a ``Cluster`` of the driver, instead of
        a host: for TLS and other options. The workers call it.

        Raises:
            JobDefinitionError: the argument is neither.
        """
        if not callable(builder):
            raise JobDefinitionError(
                f"set_cluster_builder() takes a function or a ClusterBuilder, not {builder!r}"
            )
        return self._connect(cluster=builder)

    def set_table(self, table: str) -> Self:
        """Set the table, as ``keyspace.table``. Records are dicts or rows with its column names;
        rows of the kind DELETE delete the row of their primary key.

        Raises:
            JobDefinitionError: the argument is not such a name.
        """
        if not _is_text(table) or not all(table.partition(".")):
            raise JobDefinitionError(f"set_table() takes 'keyspace.table', not {table!r}")
        return self._target(table=table)

    def set_query(self, query: str) -> Self:
        """Set a statement with a ``?`` for every field, which is executed for every record, instead
        of a table. It must be repeatable; incrementing a counter is not.

        Raises:
            JobDefinitionError: the argument is not a text.
        """
        if not _is_text(query):
            raise JobDefinitionError(f"set_query() takes a text in CQL, not {query!r}")
        return self._target(query=query)

    def set_consistency_level(self, level: ConsistencyLevel) -> Self:
        """Set the number of replicas that must acknowledge a write; LOCAL_QUORUM by default.

        Raises:
            JobDefinitionError: the argument is not a `ConsistencyLevel` of writes.
        """
        return self._target(consistency=require_write_level(level))

    def set_ttl(self, seconds: int) -> Self:
        """Set the time to live of written values, in seconds. It applies to tables: a query has its
        own.

        Raises:
            JobDefinitionError: it is not positive.
        """
        require_at_least(1, seconds=seconds)
        return self._target(ttl_s=seconds)

    def set_mapper_options(self, options: MapperOptions) -> Self:
        """Set options for the statements of a table; a query is executed unchanged.

        Raises:
            JobDefinitionError: they are no `MapperOptions`.
        """
        if not isinstance(options, MapperOptions):
            raise JobDefinitionError(f"set_mapper_options() takes MapperOptions(), not {options!r}")
        return self._with(mapped=options.writes)

    def set_failure_handler(self, failure_handler: CassandraFailureHandler) -> Self:
        """Set the handler of writes that the cluster refuses, instead of an error policy.

        Raises:
            JobDefinitionError: the argument is not a `CassandraFailureHandler`.
        """
        if not isinstance(failure_handler, CassandraFailureHandler):
            raise JobDefinitionError(
                "set_failure_handler() takes a CassandraFailureHandler such as "
                f"CassandraFailureHandler.no_op(), not {failure_handler!r}"
            )
        return self._with(failure_handler=failure_handler)

    def enable_ignore_null_fields(self) -> Self:
        """Leave columns unchanged, without a tombstone, if the record's value is None; by
        default they are deleted."""
        return self._target(ignore_nulls=True)

    def set_max_concurrent_requests(
        self, max_concurrent_requests: int, duration: Duration | None = None
    ) -> Self:
        """Set the maximum number of concurrent requests of a subtask; 128 by default.

        Args:
            duration: accepted for Flink programs, without effect: a request that has to wait for
                others waits as long as they take (`set_request_timeout`).

        Raises:
            JobDefinitionError: it is not positive.
        """
        require_at_least(1, max_concurrent_requests=max_concurrent_requests)
        return self._with(max_concurrent_requests=max_concurrent_requests)

    def set_max_retries(self, max_retries: int) -> Self:
        """Set the maximum number of retries of writes that no node accepted; 3 by default.

        Raises:
            JobDefinitionError: the argument is not a number from 0 on.
        """
        require_at_least(0, max_retries=max_retries)
        return self._with(max_retries=max_retries)

    def set_retry_interval_ms(self, retry_interval_ms: int) -> Self:
        """Set the milliseconds to wait before each retry; 1,000 by default.

        Raises:
            JobDefinitionError: the argument is not a number from 0 on.
        """
        require_at_least(0, retry_interval_ms=retry_interval_ms)
        return self._with(retry_interval_ms=retry_interval_ms)

    def set_error_policy(self, policy: ErrorPolicy) -> Self:
        """Set the policy for writes that the cluster refuses: the job fails, or continues.

        Raises:
            JobDefinitionError: it is no policy, or one with a side output.
        """
        return self._with(policy=require_sink_error_policy(policy))

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """Set the guarantee. NONE and AT_LEAST_ONCE mean the same: rows are written immediately,
        and again after a failure. With EXACTLY_ONCE they are written when their checkpoint is
        complete, so nothing of a lost epoch stays; see `enable_write_ahead_log`.

        Raises:
            JobDefinitionError: it is no `DeliveryGuarantee`.
        """
        return self._with(writes_ahead=writes_ahead(delivery_guarantee))

    def enable_write_ahead_log(self, committer: Any = None) -> Self:
        """Write rows only when their checkpoint is complete, and no rows of a lost epoch. A
        repeated write replaces the same rows by primary key, so the table equals that of a run
        without failures, even if results depend on the time of the run.

        Args:
            committer: must be None: checkpoints contain the log, and know what was committed.

        Raises:
            JobDefinitionError: there is a committer.
        """
        if committer is not None:
            raise JobDefinitionError(
                "enable_write_ahead_log() takes no committer, because checkpoints contain "
                "the log and the committed epochs"
            )
        return self._with(writes_ahead=True)

    def _sink(self) -> CassandraSink:
        """The sink.

        Raises:
            JobDefinitionError: something is missing or does not fit together.
        """
        self._apply_mapper_options()
        connection, target = self._writing.connection, self._writing.target
        for fits, problem in (
            (bool(connection.hosts) != bool(connection.cluster), "set_host()"),
            (
                connection.cluster is None or connection == _only_builder(connection),
                (
                    "set_cluster_builder() excludes other connection settings: the builder sets "
                    "credentials, data centre and timeout"
                ),
            ),
            ((target.table is None) != (target.query is None), "set_table() or set_query()"),
            (
                target.ttl_s is None or target.query is None,
                "set_ttl() for tables only: write USING TTL into the query",
            ),
            (
                not target.if_not_exists or target.timestamp_us is None,
                (
                    "if_not_exists() or timestamp(), not both: for such writes, the nodes agree "
                    "on the time"
                ),
            ),
        ):
            if not fits:
                raise JobDefinitionError(f"a CassandraSink needs {problem}")
        return CassandraSink(self._writing)

    def _apply_mapper_options(self) -> None:
        """Apply the mapper options to the writes of a table."""
        mapped = self._writing.mapped
        if mapped is None or self._writing.target.table is None:
            return
        self._target(timestamp_us=mapped.timestamp_us, if_not_exists=mapped.if_not_exists)
        chosen = {
            "ttl_s": mapped.ttl_s,
            "consistency": mapped.consistency,
            "ignore_nulls": mapped.ignore_nulls,
        }
        self._target(**{name: value for name, value in chosen.items() if value is not None})

    def _connect(self, **changes: Any) -> Self:
        return self._with(connection=replace(self._writing.connection, **changes))

    def _target(self, **changes: Any) -> Self:
        return self._with(target=replace(self._writing.target, **changes))

    def _with(self, **changes: Any) -> Self:
        self._writing = replace(self._writing, **changes)
        return self


class CassandraSinkBuilder(CassandraSinkOptions):
    """Collects the options of a `CassandraSink`; names as in PyFlink where it has them."""

    def build(self) -> CassandraSink:
        """The sink with all settings made so far.

        Raises:
            JobDefinitionError: something is missing or does not fit together.
        """
        return self._sink()


class CassandraStreamSinkBuilder(CassandraSinkOptions):
    """Collects the options of a stream's sink."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    def build(self) -> Any:
        """Attach the sink to the stream and return its ``DataStreamSink``.

        Raises:
            JobDefinitionError: something is missing or does not fit together.
        """
        return self._stream.sink_to(self._sink())


def _only_builder(connection: CassandraConnection) -> CassandraConnection:
    return CassandraConnection(cluster=connection.cluster)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
