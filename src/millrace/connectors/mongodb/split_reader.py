"""Reader of a range of a collection through a cursor, which is reopened at its position if it is
lost."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from millrace.common.source import ReaderContext, SplitReader
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.connectors.mongodb.client import (
    MongoError,
    MongoUnavailableError,
    connected,
    telling,
)
from millrace.connectors.mongodb.documents import codec
from millrace.connectors.mongodb.id_range import Bound, id_range
from millrace.connectors.mongodb.reading import MongoReading
from millrace.connectors.mongodb.split_enumerator import MongoSplit
from millrace.connectors.row_columns import as_columns
from millrace.formats.arrow_types import arrow_schema

__all__ = ["MongoSplitReader"]

_ID = "_id"


class MongoSplitReader(SplitReader[Any]):
    """Reads one range. The reader's position is the last ``_id`` read and the number of documents
    read.
    """

    def __init__(
        self, reading: MongoReading, split: MongoSplit, position: Any, context: ReaderContext
    ) -> None:
        self._reading = reading
        self._split = split
        self._logger = context.logger
        self._last: Bound = () if position is None else position[0]
        self._count: int = 0 if position is None else position[1]
        info = reading.type_info
        self._names = reading.fields if info is None else tuple(info.get_field_names())
        self._schema = None if info is None else arrow_schema(info)
        self._client = connected(reading.connection)
        self._cursor: Any = None
        self._finished = False

    def read(self, max_records: int) -> RowBatch[Any] | ColumnBatch:
        try:
            documents = self._fetch(max_records)
        except MongoUnavailableError as error:
            self._logger.warning("reading continues with a new cursor: %s", error)
            self._cursor = None
            documents = self._fetch(max_records)
        self._finished = len(documents) < max_records
        if documents:
            self._last = (documents[-1][_ID],)
            self._count += len(documents)
        return self._records(documents)

    def _fetch(self, most: int) -> list[dict[str, Any]]:
        with telling(self._reading.connection):
            if self._cursor is None:
                self._cursor = self._opened()
            documents: list[dict[str, Any]] = []
            if self._cursor is not None:
                documents = self._cursor.to_list(most)
        return documents

    def _opened(self) -> Any:
        """A cursor at the position; None if the limit is reached."""
        reading, split = self._reading, self._split
        remaining = 0  # no limit
        if reading.limit is not None:
            remaining = reading.limit - self._count
            if remaining <= 0:
                return None
        after = bool(self._last)
        bounds = id_range(self._last or split.lower, split.upper, after)
        chosen = [dict(one) for one in (bounds, reading.filter) if one]
        query = {"$and": chosen} if len(chosen) > 1 else (chosen or [{}])[0]
        database = self._client.get_database(reading.connection.database)
        collection = database.get_collection(reading.connection.collection, codec_options=codec())
        return collection.find(
            query,
            dict.fromkeys((*self._names, _ID), 1) if self._names else None,
            sort=[(_ID, 1)],
            batch_size=reading.fetch_size,
            limit=remaining,
        )

    def _records(self, documents: list[dict[str, Any]]) -> RowBatch[Any] | ColumnBatch:
        names, function = self._names, self._reading.function
        if self._schema is not None:
            rows = [tuple(map(document.get, names)) for document in documents]
            return ColumnBatch(as_columns(rows, self._schema, MongoError), form="row")
        if names and _ID not in names:
            for document in documents:
                del document[_ID]
        return RowBatch(documents if function is None else list(map(function, documents)))

    def position(self) -> Any:
        return self._last, self._count

    def finished(self) -> bool:
        return self._finished

    def close(self) -> None:
        for opened in (self._cursor, self._client):
            if opened is not None:
                with suppress(Exception):
                    opened.close()
