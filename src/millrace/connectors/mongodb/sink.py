"""A sink of collections. Flink docs: "MongoDB", MongoDB Sink."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from millrace.common.error_policy import ErrorPolicy
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import DeliveryGuarantee, SinkWriter, WriterContext
from millrace.connectors.index_range import require_at_least
from millrace.connectors.mongodb.client import require_name, require_uri
from millrace.connectors.mongodb.operations import FunctionOperations, KeyedOperations
from millrace.connectors.mongodb.writer import MongoWriter, MongoWriting
from millrace.connectors.refused_writes import require_sink_error_policy
from millrace.connectors.repeatable_writes import writes_ahead
from millrace.runtime.write_ahead import RepeatableSink

__all__ = ["MongoSink", "MongoSinkBuilder"]


class MongoSink(RepeatableSink):
    """Writes documents to a collection; made by `MongoSink.builder`.

    An epoch ends when MongoDB has acknowledged all its documents: at least once. By key a repeated
    write replaces what the first has written, so each document is there once.

    Example:
        >>> sink = (
        ...     MongoSink.builder()
        ...     .set_uri("mongodb://app:secret@localhost:27017/")
        ...     .set_database("shop")
        ...     .set_collection("totals")
        ...     .set_key("customer")
        ...     .build()
        ... )
        >>> sink
        MongoSink(collection shop.totals at localhost:27017)
    """

    def __init__(self, writing: MongoWriting) -> None:
        self._writing = writing

    @staticmethod
    def builder() -> MongoSinkBuilder:
        """A builder of a sink, without settings."""
        return MongoSinkBuilder()

    def __repr__(self) -> str:
        return f"MongoSink({self._writing.connection})"

    @property
    def writes_ahead(self) -> bool:
        return self._writing.writes_ahead

    def create_direct_writer(self, context: WriterContext) -> SinkWriter[Any]:
        return MongoWriter(self._writing, context)


class MongoSinkBuilder:
    """Collects the options of a `MongoSink`; names as in Flink where it has them."""

    def __init__(self) -> None:
        self._writing = MongoWriting()

    def set_uri(self, uri: str) -> MongoSinkBuilder:
        """Set the connection string: ``mongodb://user:password@host:27017/``,
        ``mongodb+srv://...``.

        Raises:
            JobDefinitionError: the argument is not a connection string.
        """
        return self._connect(uri=require_uri(uri))

    def set_database(self, database: str) -> MongoSinkBuilder:
        """Set the database.

        Raises:
            JobDefinitionError: the argument is not a name.
        """
        return self._connect(database=require_name("a database", database))

    def set_collection(self, collection: str) -> MongoSinkBuilder:
        """Set the collection; MongoDB creates it with its first document.

        Raises:
            JobDefinitionError: the argument is not a name.
        """
        return self._connect(collection=require_name("a collection", collection))

    def set_key(self, *fields: str) -> MongoSinkBuilder:
        """Set the key fields of documents. The value of a single field is the document's ``_id``;
        several fields form a document, as in Flink's tables. Without key fields, the records' own
        ``_id`` is used.

        Raises:
            JobDefinitionError: there are none, or one is no name.
        """
        if not fields:
            raise JobDefinitionError("set_key() takes at least one field")
        names = tuple(require_name("a field", name) for name in fields)
        return self._with(operations=KeyedOperations(names))

    def set_serialization_schema(self, function: Callable[[Any], Any]) -> MongoSinkBuilder:
        """Set a function that makes from each record a pymongo operation (``UpdateOne``,
        ``ReplaceOne``, ...), a list of them or None, instead of documents by key. Operations run in
        order. Some run again after a failure, so they must be repeatable: setting a field is,
        incrementing it is not.

        Raises:
            JobDefinitionError: the argument is not a function.
        """
        if not callable(function):
            raise JobDefinitionError(
                f"set_serialization_schema() takes a function, not {function!r}"
            )
        return self._with(operations=FunctionOperations(function))

    def set_batch_size(self, batch_size: int) -> MongoSinkBuilder:
        """Set the number of operations of one bulk: 1,000 by default, -1 for all operations of an
        epoch.

        Raises:
            JobDefinitionError: the argument is neither -1 nor positive.
        """
        if batch_size != -1:
            require_at_least(1, batch_size=batch_size)
        return self._with(batch_size=math.inf if batch_size == -1 else batch_size)

    def set_batch_interval_ms(self, batch_interval_ms: int) -> MongoSinkBuilder:
        """Accepted for Flink programs, without effect: every epoch flushes."""
        return self

    def set_max_retries(self, max_retries: int) -> MongoSinkBuilder:
        """Set the maximum number of retries of a bulk that no server accepted; 3 by default.

        Raises:
            JobDefinitionError: the argument is not a number from 0 on.
        """
        require_at_least(0, max_retries=max_retries)
        return self._with(max_retries=max_retries)

    def set_retry_interval_ms(self, retry_interval_ms: int) -> MongoSinkBuilder:
        """Set the milliseconds to wait before each retry; 1,000 by default.

        Raises:
            JobDefinitionError: the argument is not a number from 0 on.
        """
        require_at_least(0, retry_interval_ms=retry_interval_ms)
        return self._with(retry_interval_ms=retry_interval_ms)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> MongoSinkBuilder:
        """Set the guarantee. NONE and AT_LEAST_ONCE mean the same: documents are written
        immediately, and again after a failure. With EXACTLY_ONCE they are written when their
        checkpoint is complete, so nothing of a lost epoch stays, and a document without a key is
        written only once, too.

        Raises:
            JobDefinitionError: it is no `DeliveryGuarantee`.
        """
        return self._with(writes_ahead=writes_ahead(delivery_guarantee))

    def set_error_policy(self, policy: ErrorPolicy) -> MongoSinkBuilder:
        """Set the policy for documents that the server refuses: the job fails, or continues.

        Raises:
            JobDefinitionError: it is no policy, or one with a side output.
        """
        return self._with(policy=require_sink_error_policy(policy))

    def build(self) -> MongoSink:
        """The sink with all settings made so far.

        Raises:
            JobDefinitionError: connection string, database or collection are missing, or writes
                are not to be acknowledged.
        """
        connection = self._writing.connection
        for given, call in (
            (connection.uri, "set_uri()"),
            (connection.database, "set_database()"),
            (connection.collection, "set_collection()"),
        ):
            if not given:
                raise JobDefinitionError(f"a MongoSink needs {call}")
        if re.search(r"[?&]w=0(&|$)", connection.uri):
            raise JobDefinitionError(
                "a MongoSink waits until its writes are acknowledged, because it could lose "
                "them otherwise: remove w=0 from the connection string"
            )
        return MongoSink(self._writing)

    def _connect(self, **changes: Any) -> MongoSinkBuilder:
        return self._with(connection=replace(self._writing.connection, **changes))

    def _with(self, **changes: Any) -> MongoSinkBuilder:
        self._writing = replace(self._writing, **changes)
        return self
