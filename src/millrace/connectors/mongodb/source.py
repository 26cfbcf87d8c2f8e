"""A bounded source of collections. Flink docs: "MongoDB", MongoDB Source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.source import ReaderContext, SplitEnumerator, SplitSource
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.type_information import TypeInformation
from millrace.connectors.index_range import require_at_least
from millrace.connectors.mongodb.client import require_name, require_uri
from millrace.connectors.mongodb.partition_strategy import PartitionStrategy
from millrace.connectors.mongodb.reading import MongoReading
from millrace.connectors.mongodb.split_enumerator import MongoEnumerator, MongoSplit
from millrace.connectors.mongodb.split_reader import MongoSplitReader

__all__ = ["MongoSource", "MongoSourceBuilder"]


class MongoSource(SplitSource[Any]):
    """Reads a collection once, as dicts, rows in columns, or results of a function; made by
    `MongoSource.builder`.

    Example:
        >>> source = (
        ...     MongoSource.builder()
        ...     .set_uri("mongodb://localhost:27017/")
        ...     .set_database("shop")
        ...     .set_collection("orders")
        ...     .set_filter({"cents": {"$gt": 100}})
        ...     .set_projected_fields("customer", "cents")
        ...     .build()
        ... )
        >>> source
        MongoSource(collection shop.orders at localhost:27017)
    """

    def __init__(self, reading: MongoReading) -> None:
        self._reading = reading

    @staticmethod
    def builder() -> MongoSourceBuilder:
        """A builder of a source, without settings."""
        return MongoSourceBuilder()

    def __repr__(self) -> str:
        return f"MongoSource({self._reading.connection})"

    def create_enumerator(self) -> SplitEnumerator:
        return MongoEnumerator(self._reading)

    def create_split_reader(self, split: MongoSplit, position: Any, context: ReaderContext) -> Any:
        return MongoSplitReader(self._reading, split, position, context)


class TypedMongoSource(MongoSource, ResultTypeQueryable):
    """A source whose rows have a declared type."""

    def get_produced_type(self) -> TypeInformation[Any]:
        assert self._reading.type_info is not None
        return self._reading.type_info


class MongoSourceBuilder:
    """Collects the options of a `MongoSource`; names as in Flink where it has them."""

    def __init__(self) -> None:
        self._reading = MongoReading()

    def set_uri(self, uri: str) -> MongoSourceBuilder:
        """Set the connection string: ``mongodb://user:password@host:27017/``,
        ``mongodb+srv://...``.

        Raises:
            JobDefinitionError: it is none.
        """
        return self._connect(uri=require_uri(uri))

    def set_database(self, database: str) -> MongoSourceBuilder:
        """Set the database.

        Raises:
            JobDefinitionError: the argument is not a name.
        """
        return self._connect(database=require_name("a database", database))

    def set_collection(self, collection: str) -> MongoSourceBuilder:
        """Set the collection or view.

        Raises:
            JobDefinitionError: the argument is not a name.
        """
        return self._connect(collection=require_name("a collection", collection))

    def set_projected_fields(self, *fields: str) -> MongoSourceBuilder:
        """Set the fields to read, by name or path (``address.city``); by default all, or the fields
        of the declared type.

        Raises:
            JobDefinitionError: one is no name.
        """
        return self._with(fields=tuple(require_name("a field", name) for name in fields))

    def set_filter(self, query: Mapping[str, Any]) -> MongoSourceBuilder:
        """Read only documents that match a query in MongoDB's language: ``{"cents": {"$gt":
        100}}``.

        Raises:
            JobDefinitionError: the argument is not a dict.
        """
        if not isinstance(query, Mapping):
            raise JobDefinitionError(
                f"set_filter() takes a dict such as {{'cents': {{'$gt': 100}}}}, not {query!r}"
            )
        return self._with(filter=query)

    def set_limit(self, limit: int) -> MongoSourceBuilder:
        """Read at most this number of documents, the first ones by ``_id``; -1 means all. With a
        limit the collection is read in one part.

        Raises:
            JobDefinitionError: the argument is neither -1 nor positive.
        """
        if limit != -1:
            require_at_least(1, limit=limit)
        return self._with(limit=None if limit == -1 else limit)

    def set_fetch_size(self, fetch_size: int) -> MongoSourceBuilder:
        """Set the number of documents that the server sends in one response; 2,048 by default.

        Raises:
            JobDefinitionError: it is not positive.
        """
        require_at_least(1, fetch_size=fetch_size)
        return self._with(fetch_size=fetch_size)

    def set_no_cursor_timeout(self, no_cursor_timeout: bool) -> MongoSourceBuilder:
        """Accepted for Flink programs, without effect: a lost cursor is opened again at the
        reader's position."""
        return self

    def set_partition_strategy(self, strategy: PartitionStrategy) -> MongoSourceBuilder:
        """Set the strategy for the partitioning of the collection.

        Raises:
            JobDefinitionError: the argument is not a `PartitionStrategy`.
        """
        if not isinstance(strategy, PartitionStrategy):
            raise JobDefinitionError(
                "set_partition_strategy() takes a PartitionStrategy such as PAGINATION, not "
                f"{strategy!r}"
            )
        return self._with(strategy=strategy)

    def set_partition_size(self, size: int) -> MongoSourceBuilder:
        """Set the approximate size of a part in bytes; 64 MiB by default.

        Raises:
            JobDefinitionError: it is not positive.
        """
        require_at_least(1, size=size)
        return self._with(partition_bytes=size)

    def set_partition_record_size(self, records: int) -> MongoSourceBuilder:
        """Set the number of documents of a part, whatever their size.

        Raises:
            JobDefinitionError: it is not positive.
        """
        require_at_least(1, records=records)
        return self._with(partition_records=records)

    def set_type_information(self, type_info: TypeInformation[Any]) -> MongoSourceBuilder:
        """Set the type of the records: rows whose fields are those of the documents; missing fields
        are None.

        Raises:
            JobDefinitionError: the argument is not a row type.
        """
        if not isinstance(type_info, RowTypeInfo):
            raise JobDefinitionError(
                "a MongoSource gives rows, such as those of Types.ROW_NAMED(names, types), not "
                f"{type_info!r}"
            )
        return self._with(type_info=type_info)

    def set_deserialization_schema(
        self, function: Callable[[dict[str, Any]], Any]
    ) -> MongoSourceBuilder:
        """Set a function that makes a record from a document, which is a dict. Without a function
        or a type, the document is the record.

        Raises:
            JobDefinitionError: the argument is not a function.
        """
        if not callable(function):
            raise JobDefinitionError(
                f"set_deserialization_schema() takes a function, not {function!r}"
            )
        return self._with(function=function)

    def build(self) -> MongoSource:
        """The source with all settings made so far.

        Raises:
            JobDefinitionError: something is missing or does not fit together.
        """
        reading = self._reading
        connection = reading.connection
        for fits, problem in (
            (connection.uri, "needs set_uri()"),
            (connection.database, "needs set_database()"),
            (connection.collection, "needs set_collection()"),
            (
                reading.type_info is None or reading.function is None,
                "takes set_type_information() or set_deserialization_schema(), not both",
            ),
            (
                reading.type_info is None or not reading.fields,
                ("of a declared type reads the fields of the type: remove set_projected_fields()"),
            ),
        ):
            if not fits:
                raise JobDefinitionError(f"a MongoSource {problem}")
        return (MongoSource if reading.type_info is None else TypedMongoSource)(reading)

    def _connect(self, **changes: Any) -> MongoSourceBuilder:
        return self._with(connection=replace(self._reading.connection, **changes))

    def _with(self, **changes: Any) -> MongoSourceBuilder:
        self._reading = replace(self._reading, **changes)
        return self
