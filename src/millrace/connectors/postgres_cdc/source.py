"""A source of the changes of PostgreSQL tables. Flink CDC docs: "Postgres CDC Connector"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.source import Boundedness, ReaderContext, Source, SplitEnumerator
from millrace.common.time.amounts import Duration, Time, millis
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.type_information import TypeInformation
from millrace.connectors.postgres_cdc.changes_reader import SlotSettings
from millrace.connectors.postgres_cdc.connection import PostgresConnection
from millrace.connectors.postgres_cdc.deserialization import (
    CdcDeserializationSchema,
    RowDeserializationSchema,
)
from millrace.connectors.postgres_cdc.enumerator import PostgresCdcEnumerator, TableSelection
from millrace.connectors.postgres_cdc.reader import PostgresCdcReader
from millrace.connectors.postgres_cdc.startup_options import StartupMode, StartupOptions

__all__ = ["PostgresCdcSource", "PostgresCdcSourceBuilder"]

T = TypeVar("T")
_SPLIT_SIZE = 8096
_SLOT_NAME = re.compile("[a-z0-9_]{1,63}")


@dataclass(frozen=True)
class PostgresSourceConfig:
    """Settings of a CDC source."""

    connection: PostgresConnection
    settings: SlotSettings
    selection: TableSelection
    schema: CdcDeserializationSchema[Any]


class PostgresCdcSource(Source[T]):
    """Reads the rows of PostgreSQL tables and then their changes; made by `builder`.

    Each change comes once. A record's event time is that of the commit, and 0 for rows that were
    there before, unless the `WatermarkStrategy` assigns another.

    Example:
        >>> source = (
        ...     PostgresCdcSource.builder()
        ...     .hostname("localhost")
        ...     .database("shop")
        ...     .table_list("public.orders")
        ...     .username("shop")
        ...     .slot_name("orders_to_kafka")
        ...     .build()
        ... )
        >>> source.boundedness.name
        'CONTINUOUS_UNBOUNDED'
    """

    def __init__(self, config: PostgresSourceConfig) -> None:
        self._config = config

    @staticmethod
    def builder() -> PostgresCdcSourceBuilder[Any]:
        """A builder of a source, without settings."""
        return PostgresCdcSourceBuilder()

    @property
    def boundedness(self) -> Boundedness:
        if self._config.selection.startup.mode is StartupMode.SNAPSHOT:
            return Boundedness.BOUNDED
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def supports_available_now(self) -> bool:
        """Always true: an available-now run reads the transactions committed before it began."""
        return True

    @property
    def requires_checkpoints(self) -> bool:
        """Whether the source reads changes. Without checkpoints, the server would have to keep all
        changes: it discards only those that a checkpoint covers.
        """
        return self.boundedness is Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        config = self._config
        return PostgresCdcEnumerator(config.connection, config.settings, config.selection)

    def create_reader(self, context: ReaderContext) -> PostgresCdcReader:
        config = self._config
        return PostgresCdcReader(config.connection, config.settings, config.schema, context)


class _TypedPostgresCdcSource(PostgresCdcSource[T], ResultTypeQueryable):
    """A CDC source with a known record type."""

    def __init__(self, config: PostgresSourceConfig, produced: TypeInformation[Any]) -> None:
        super().__init__(config)
        self._produced = produced

    def get_produced_type(self) -> TypeInformation[Any]:
        return self._produced


class PostgresCdcSourceBuilder(Generic[T]):
    """Makes a `PostgresCdcSource`. Flink CDC: ``PostgresSourceBuilder``."""

    def __init__(self) -> None:
        self._connection = PostgresConnection("", 5432, "")
        self._settings = SlotSettings("", "")
        self._selection = TableSelection((), (), _SPLIT_SIZE, StartupOptions.initial())
        self._schema: CdcDeserializationSchema[Any] = RowDeserializationSchema()

    def hostname(self, hostname: str) -> PostgresCdcSourceBuilder[T]:
        """Set the server's host name."""
        self._connection = replace(self._connection, hostname=hostname)
        return self

    def port(self, port: int) -> PostgresCdcSourceBuilder[T]:
        """Set the server's port; by default 5432."""
        self._connection = replace(self._connection, port=port)
        return self

    def database(self, database: str) -> PostgresCdcSourceBuilder[T]:
        """Set the database on the server."""
        self._connection = replace(self._connection, database=database)
        return self

    def username(self, username: str) -> PostgresCdcSourceBuilder[T]:
        """Set the user, who needs the attribute ``REPLICATION`` and read access to the tables; by
        default libpq's (``PGUSER``)."""
        self._connection = replace(self._connection, username=username)
        return self

    def password(self, password: str) -> PostgresCdcSourceBuilder[T]:
        """Set the password; by default libpq's (``PGPASSWORD``, ``~/.pgpass``)."""
        self._connection = replace(self._connection, password=password)
        return self

    def connection_options(self, options: Mapping[str, str]) -> PostgresCdcSourceBuilder[T]:
        """Set further parameters of libpq, such as ``sslmode``."""
        self._connection = replace(self._connection, options=tuple(sorted(options.items())))
        return self

    def schema_list(self, *schemas: str) -> PostgresCdcSourceBuilder[T]:
        """Capture tables in schemas that match one of the given regular expressions; by default in
        all schemas."""
        self._selection = replace(self._selection, schemas=_patterns("schema_list", schemas))
        return self

    def table_list(self, *tables: str) -> PostgresCdcSourceBuilder[T]:
        r"""Capture tables whose ``schema.table`` one of these regular expressions matches, such as
        ``public.orders`` or ``shop\..*``; by default all of the schemas."""
        self._selection = replace(self._selection, tables=_patterns("table_list", tables))
        return self

    def slot_name(self, slot_name: str) -> PostgresCdcSourceBuilder[T]:
        """Set the replication slot, which must belong to this job alone. A missing slot is created.

        Raises:
            JobDefinitionError: no slot can be called so.
        """
        if not isinstance(slot_name, str) or not _SLOT_NAME.fullmatch(slot_name):
            raise JobDefinitionError(
                "the name of a replication slot must have only small letters, digits and "
                f"underscores, not {slot_name!r}"
            )
        self._settings = replace(self._settings, slot=slot_name)
        return self

    def publication_name(self, publication_name: str) -> PostgresCdcSourceBuilder[T]:
        """Set the publication, which is created if it is missing; by default it has the slot's
        name."""
        self._settings = replace(self._settings, publication=publication_name)
        return self

    def deserializer(self, schema: CdcDeserializationSchema[Any]) -> PostgresCdcSourceBuilder[T]:
        """Set the schema that makes records from changes; by default a `RowDeserializationSchema`.

        Raises:
            JobDefinitionError: the argument is not a `CdcDeserializationSchema`.
        """
        if not isinstance(schema, CdcDeserializationSchema):
            raise JobDefinitionError(
                f"deserializer() takes a CdcDeserializationSchema such as "
                f"RowDeserializationSchema(), not {schema!r}"
            )
        self._schema = schema
        return self

    def startup_options(self, startup_options: StartupOptions) -> PostgresCdcSourceBuilder[T]:
        """Set the start position of a job that is not resumed from a checkpoint; by default
        `initial`.

        Raises:
            JobDefinitionError: they are no `StartupOptions`.
        """
        if not isinstance(startup_options, StartupOptions):
            raise JobDefinitionError(
                f"startup_options() takes StartupOptions such as latest(), not {startup_options!r}"
            )
        self._selection = replace(self._selection, startup=startup_options)
        return self

    def split_size(self, split_size: int) -> PostgresCdcSourceBuilder[T]:
        """Set the number of rows of a chunk, by default 8096; chunks are read in parallel.

        Raises:
            JobDefinitionError: it is not positive.
        """
        if not isinstance(split_size, int) or split_size < 1:
            raise JobDefinitionError(f"a chunk must have at least one row, not {split_size!r}")
        self._selection = replace(self._selection, split_size=split_size)
        return self

    def heartbeat_interval(self, interval: Duration | Time | int) -> PostgresCdcSourceBuilder[T]:
        """Set the interval of status messages to the server while nothing changes, which also
        advance the slot; by default 10 s (an int is in ms). It must be shorter than the server's
        ``wal_sender_timeout``.
        """
        seconds = _positive("heartbeat_interval", interval)
        self._settings = replace(self._settings, heartbeat_interval=seconds)
        return self

    def connect_timeout(self, timeout: Duration | Time | int) -> PostgresCdcSourceBuilder[T]:
        """Set the time for reconnection attempts before the job fails; by default 60 s (an int is
        in ms)."""
        seconds = _positive("connect_timeout", timeout)
        self._settings = replace(self._settings, patience=seconds)
        return self

    def skip_truncates(self) -> PostgresCdcSourceBuilder[T]:
        """Ignore a ``TRUNCATE`` of a table, instead of failing."""
        self._settings = replace(self._settings, skips_truncates=True)
        return self

    def build(self) -> PostgresCdcSource[T]:
        """The source with all settings made so far.

        Raises:
            JobDefinitionError: server, database or slot is missing.
        """
        for value, call in (
            (self._connection.hostname, "hostname()"),
            (self._connection.database, "database()"),
            (self._settings.slot, "slot_name()"),
            (self._selection.tables or self._selection.schemas, "table_list() or schema_list()"),
        ):
            if not value:
                raise JobDefinitionError(f"a PostgresCdcSource needs {call}")
        publication = self._settings.publication or self._settings.slot
        settings = replace(self._settings, publication=publication)
        config = PostgresSourceConfig(self._connection, settings, self._selection, self._schema)
        produced = self._schema.produced_type
        return (
            PostgresCdcSource(config)
            if produced is None
            else _TypedPostgresCdcSource(config, produced)
        )


def _patterns(call: str, patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The regular expressions, after a check.

    Raises:
        JobDefinitionError: one is none, or there is none.
    """
    try:
        for pattern in patterns:
            re.compile(pattern)
    except (TypeError, re.error) as error:
        raise JobDefinitionError(
            f"{call}() takes regular expressions, not {pattern!r}: {error}"
        ) from None
    if not patterns:
        raise JobDefinitionError(f"{call}() takes at least one regular expression")
    return patterns


def _positive(call: str, interval: Duration | Time | int) -> float:
    """The interval in seconds.

    Raises:
        JobDefinitionError: it is not positive.
    """
    if (milliseconds := millis(interval)) <= 0:
        raise JobDefinitionError(f"{call}() takes a positive duration, not {interval!r}")
    return milliseconds / 1000
