"""Columns in transit between subtasks: one Arrow IPC stream per target and epoch.

The schema is sent once at the beginning, a dictionary again only if it has changed, and then batch
after batch. Each payload is the part by which the stream has grown. A batch of another schema
begins another stream. Event times and row kinds are columns after the records' own columns.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import ColumnBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK = b"millrace"
"""Keys in the metadata of the schema: the records' form, and the columns added to the records'
own."""
_TIMES = b"t"
_KINDS = b"k"


class ColumnStreamWriter:
    """Writes batches of one schema, to one target or to several targets that get the same
    batches."""

    def __init__(self, batch: ColumnBatch) -> None:
        """``batch`` is the first batch, whose schema the stream gets. It is not written here.

        Raises:
            JobExecutionError: a column is of a type that cannot be sent.
        """
        check_columns(batch.data.schema)
        self._first = batch.slice(0, 0)
        self._schema = _sent_schema(batch)
        self._sink = _Sink()
        self._writer = pa.ipc.new_stream(pa.PythonFile(self._sink, "w"), self._schema)

    def fits(self, batch: ColumnBatch) -> bool:
        """Whether a batch can go into this stream."""
        return batch.same_columns(self._first)

    def write(self, batch: ColumnBatch) -> bytes:
        """Append a batch, and return the bytes that are appended to the stream.

        Raises:
            JobExecutionError: a column cannot be written.
        """
        extra = [array for array in (batch.timestamps, batch.row_kinds) if array is not None]
        columns = [*batch.data.columns, *extra]
        if columns:
            sent = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        else:
            sent = batch.data.replace_schema_metadata(self._schema.metadata)
        try:
            self._writer.write_batch(sent)
        except pa.ArrowException as error:
            raise JobExecutionError(
                f"columns {batch.data.schema.names} cannot be sent to another subtask ({error}); "
                "cast them to other types"
            ) from error
        return self._sink.taken()


class ColumnStreamReader:
    """Reads one stream of a `ColumnStreamWriter`, payload by payload."""

    def __init__(self) -> None:
        self._source = _Source()
        self._reader: Any = None

    def read(self, payload: bytes | memoryview) -> ColumnBatch:
        """Batch of the next payload."""
        self._source.feed(payload)
        if self._reader is None:
            self._open()
        data = self._reader.read_next_batch()
        columns = data.columns
        kinds = columns.pop() if self._has_kinds else None
        times = columns.pop() if self._has_times else None
        if columns:
            data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return ColumnBatch(data if columns else data.select([]), times, kinds, self._form)

    def _open(self) -> None:
        self._reader = pa.ipc.open_stream(pa.PythonFile(self._source, "r"))
        sent = self._reader.schema
        form, *extra = sent.metadata[_MARK].split(b",")
        self._form, self._has_times, self._has_kinds = (
            form.decode(),
            _TIMES in extra,
            _KINDS in extra,
        )
        metadata = {key: value for key, value in sent.metadata.items() if key != _MARK}
        fields = list(sent)[: len(sent) - len(extra)]
        self._schema = pa.schema(fields, metadata or None)


def check_columns(schema: pa.Schema) -> None:
    """Raises JobExecutionError if a column has a type that another process may not know."""
    for field in schema:
        for kind in _types_within(field.type):
            if isinstance(kind, pa.BaseExtensionType) and not _is_canonical(kind):
                raise JobExecutionError(
                    f"column {field.name!r} is of the extension type {kind}, which the other "
                    f"subtask's process may not know; cast it to {kind.storage_type} before"
                )


def _is_canonical(kind: pa.BaseExtensionType) -> bool:
    """Whether Arrow itself defines the type, so that every process knows it."""
    return str(kind.extension_name).startswith("arrow.") and not isinstance(kind, pa.ExtensionType)


def _types_within(kind: pa.DataType) -> Iterator[pa.DataType]:
    yield kind
    if isinstance(kind, pa.DictionaryType):
        yield from _types_within(kind.value_type)
    for index in range(kind.num_fields):
        yield from _types_within(kind.field(index).type)


def _sent_schema(batch: ColumnBatch) -> pa.Schema:
    schema, mark = batch.data.schema, [batch.form.encode()]
    if batch.timestamps is not None:
        schema = schema.append(pa.field("@event-time", pa.int64()))
        mark.append(_TIMES)
    if batch.row_kinds is not None:
        schema = schema.append(pa.field("@row-kind", pa.int8()))
        mark.append(_KINDS)
    return schema.with_metadata({**(schema.metadata or {}), _MARK: b",".join(mark)})


class _Sink(io.RawIOBase):
    """Holds written bytes until they are taken."""

    def __init__(self) -> None:
        self._pieces: list[Any] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self._pieces.append(piece)
        return len(piece)

    def taken(self) -> bytes:
        """All bytes written since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


class _Source(io.RawIOBase):
    """Reads one payload after another."""

    def __init__(self) -> None:
        self.feed(b"")

    def feed(self, payload: bytes | memoryview) -> None:
        """Continue with this payload."""
        self._payload = memoryview(payload)
        self._position = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> Any:
        start = self._position
        self._position = len(self._payload) if size < 0 else start + size
        return self._payload[start : self._position]
