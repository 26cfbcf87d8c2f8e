"""The writer of a subtask: sends operations in bulks, with retries when no server accepted them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from millrace.common.error_policy import ErrorPolicy
from millrace.common.sink import WriterContext
from millrace.common.types.batch import Batch, RowBatch
from millrace.connectors.async_sink import AsyncSinkWriter, BufferLimits, UnsentEntries
from millrace.connectors.mongodb.client import (
    PASSING,
    MongoConnection,
    MongoError,
    MongoUnavailableError,
    connected,
    telling,
)
from millrace.connectors.mongodb.documents import codec, require_storable
from millrace.connectors.mongodb.operations import KeyedOperations, Operations
from millrace.connectors.refused_writes import RefusedWrites
from millrace.connectors.retries import FixedPauses
from millrace.connectors.row_changes import ReplacedRows
from millrace.runtime.write_ahead import LoggableWriter

__all__ = ["MongoWriter", "MongoWriting"]

_REASON_LENGTH = 300
_LARGEST = 16 << 20
"""Bytes of the largest document that MongoDB stores."""


@dataclass(frozen=True)
class MongoWriting:
    """Settings of a MongoDB sink: destination, operations and options."""

    connection: MongoConnection = field(default_factory=MongoConnection)
    operations: Operations = field(default_factory=KeyedOperations)
    batch_size: float = 1_000
    """Infinite: an epoch is one batch."""
    max_retries: int = 3
    retry_interval_ms: int = 1_000
    policy: ErrorPolicy = field(default_factory=ErrorPolicy.fail)
    writes_ahead: bool = False
    """Whether documents are written when their checkpoint is complete."""


class MongoWriter(LoggableWriter, AsyncSinkWriter[Any]):
    """Collects operations and sends them in bulks. If a bulk has several operations for one
    document, only the last is sent.

    Args:
        sleep: waits between retries; replaced by tests.
    """

    def __init__(
        self,
        writing: MongoWriting,
        context: WriterContext,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(context, BufferLimits(entries=writing.batch_size), sleep)
        self._writing = writing
        self._refused = RefusedWrites(writing.policy, MongoError, context.metrics, context.logger)
        place = writing.connection
        self._replaced = ReplacedRows()
        self._client = connected(place)
        database = self._client.get_database(place.database)
        self._collection = database.get_collection(place.collection, codec_options=codec())

    def write(self, batch: RowBatch[Any]) -> None:
        """Add a batch, and send full bulks.

        Raises:
            MongoError: no server takes them, or one refuses them.
        """
        self.write_entries(self._operations(batch))

    def entries(self, batch: Batch) -> list[tuple[Any, Any]]:
        assert isinstance(batch, RowBatch)
        entries = list(self._operations(batch))
        for _, operation in entries:
            self._require_storable(operation)
        return entries

    def _operations(self, batch: RowBatch[Any]) -> Iterator[tuple[Any, Any]]:
        return self._writing.operations.of(batch.values, self._replaced)

    def last_entries(self) -> list[tuple[Any, Any]] | None:
        return list(self._writing.operations.last(self._replaced)) or None

    def write_entries(self, entries: Iterable[tuple[Any, Any]]) -> None:
        for token, operation in entries:
            self._add(operation, key=token)

    def _require_storable(self, operation: Any) -> None:
        """Refuse an operation that cannot be sent, before it is logged.

        Raises:
            MongoError, SerializationError: it has a value that MongoDB does not store.
        """
        import bson

        parts = {name: getattr(operation, f"_{name}", None) for name in ("filter", "doc")}
        try:
            size = len(bson.encode(parts, codec_options=codec()))
        except _unstorable_errors() as error:
            raise self._unstorable([operation], error) from error
        if size > _LARGEST:
            raise self._unstorable([operation], f"it has {size} bytes")

    def _unstorable(self, operations: list[Any], reason: object) -> MongoError:
        place = self._writing.connection
        require_storable([_document(operation) for operation in operations], place)
        return MongoError(f"{place} cannot store a document: {str(reason)[:_REASON_LENGTH]}")

    def close(self) -> None:
        self._client.close()

    def _pauses(self) -> FixedPauses:
        writing = self._writing
        return FixedPauses([writing.retry_interval_ms / 1000] * writing.max_retries)

    def _gave_up(self, unsent: UnsentEntries[Any], tries: int) -> None:
        tried = f" (tried {tries} times: see set_max_retries())"
        raise MongoUnavailableError(f"{unsent.failure}{tried}") from unsent.failure

    def _request(self, operations: list[Any]) -> UnsentEntries[Any]:
        try:
            return self._bulk(operations)
        except MongoUnavailableError as error:
            return UnsentEntries(operations, error)

    def _bulk(self, operations: list[Any]) -> UnsentEntries[Any]:
        """Execute operations, and return those that no server accepted or confirmed."""
        from pymongo.errors import BulkWriteError

        with telling(self._writing.connection):
            try:
                self._collection.bulk_write(operations, ordered=self._writing.operations.ordered)
            except BulkWriteError as error:
                return self._left(operations, error.details)
            except _unstorable_errors() as error:
                raise self._unstorable(operations, error) from error
        return UnsentEntries([])

    def _left(self, operations: list[Any], details: Any) -> UnsentEntries[Any]:
        """Operations of a partly executed bulk that must be sent again."""
        place, ordered = self._writing.connection, self._writing.operations.ordered
        failed: list[dict[str, Any]] = details["writeErrors"]
        passing = [one for one in failed if one.get("code") in PASSING]
        refused = {one["index"]: one for one in failed if one.get("code") not in PASSING}
        self._refused.take([self._said(one, operations) for one in refused.values()])
        unconfirmed: list[dict[str, Any]] = details["writeConcernErrors"]
        if unconfirmed:
            # what was carried out may be lost with the server that did
            reason = f"did not confirm a bulk: {_text(unconfirmed[0])}; see writeConcern in the "
            left = [one for index, one in enumerate(operations) if index not in refused]
            return UnsentEntries(left, MongoUnavailableError(f"{place} {reason}connection string"))
        indexes = [one["index"] for one in failed]
        if ordered:
            left = operations[indexes[0] + (not passing) :]
        else:
            left = [operations[one["index"]] for one in passing]
        if passing:
            reason = f"takes no writes now: {_text(passing[0])}"
            return UnsentEntries(left, MongoUnavailableError(f"{place} {reason}"))
        return UnsentEntries(left)

    def _said(self, refused: dict[str, Any], operations: list[Any]) -> str:
        operation = operations[refused["index"]]
        key = (getattr(operation, "_filter", None) or {}).get("_id", "without an id")
        place = self._writing.connection
        code = refused.get("code")
        return f"{place} refuses the document {key!r}: {_text(refused)} (code {code})"


def _unstorable_errors() -> tuple[type[Exception], ...]:
    """Errors of pymongo about documents that MongoDB does not store."""
    import bson
    from pymongo.errors import DocumentTooLarge

    return bson.errors.BSONError, OverflowError, DocumentTooLarge, TypeError, ValueError


def _text(error: dict[str, Any]) -> str:
    return str(error.get("errmsg", "no reason given"))[:_REASON_LENGTH]


def _document(operation: Any) -> dict[str, Any]:
    """The document that an operation stores; empty if the operation stores none."""
    document = getattr(operation, "_doc", None)
    return document if isinstance(document, dict) else {}
