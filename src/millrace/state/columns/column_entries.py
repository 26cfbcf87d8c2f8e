"""Entries of columnar state in table deltas: Arrow columns with the interface of a dict or a list.

Code with support for columns (`SlotTable`, `RowLog`) reads the columns; all other code (canonical
savepoints, the state processor, followers, redistribution) sees Python keys and values. Entries are
pickled as Arrow IPC; payloads keep this buffer outside the pickle.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.errors import SerializationError
from millrace.state.serialization.payload import decode, encode

__all__ = ["OBJECT", "ColumnEntries", "ColumnKeys", "Filtered", "array_of", "values_of"]

OBJECT = "object"
"""Metadata of a column of encoded Python objects."""


class _Columns:
    """Record batch with columns of three kinds: the stream's key, the entry's own key, and the
    values.

    Args:
        batch: the columns.
        key: number of columns of the stream's key.
        inner: number of the next columns, which distinguish the entries of one key.
    """

    def __init__(self, batch: pa.RecordBatch, key: int, inner: int) -> None:
        self.batch = batch
        self.key = key
        self.inner = inner
        self._python: Any = None

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # its size is known first: a stream that grows would copy the columns again and again
        size = pa.MockOutputStream()
        _write(self.batch, size)
        data = pa.allocate_buffer(size.size())
        _write(self.batch, pa.FixedSizeBufferWriter(data))
        content = pickle.PickleBuffer(data) if protocol >= 5 else data.to_pybytes()
        return _restored, (type(self), content, self.key, self.inner)

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def stream_keys(self) -> list[Any]:
        """Key of the stream for each entry: a value, or a tuple of several."""
        columns = [self.python_values(index) for index in range(self.key)]
        if self.key == 1:
            return columns[0]
        return list(zip(*columns, strict=True)) if columns else [()] * len(self)

    def entry_keys(self) -> list[Any]:
        """Key of each entry: the key of the stream, or a pair of the stream's key and the
        entry's own key."""
        keys = self.stream_keys()
        if not self.inner:
            return keys
        inner = [self.python_values(self.key + number) for number in range(self.inner)]
        own = inner[0] if self.inner == 1 else list(zip(*inner, strict=True))
        return list(zip(keys, own, strict=True))

    def holds_objects(self, index: int) -> bool:
        """Whether a column has encoded Python objects."""
        metadata = self.batch.schema.field(index).metadata or {}
        return bool(metadata.get(b"python") == OBJECT.encode())

    def python_values(self, index: int) -> list[Any]:
        """Values of one column as Python objects that can be hashed."""
        values: list[Any] = self.batch.column(index).to_pylist()
        if self.holds_objects(index):
            return [decode(value) for value in values]
        if pa.types.is_nested(self.batch.schema.field(index).type):
            return [_hashable(value) for value in values]
        return values

    def key_columns(self) -> list[pa.Array]:
        """The columns of keys."""
        return list(self.batch.columns[: self.key + self.inner])

    def admitted(self, keep: Callable[[Any], bool]) -> Self:
        """Entries for whose stream key the filter returns True."""
        return self.where(np.fromiter(map(keep, self.stream_keys()), np.bool_, len(self)))

    def where(self, kept: npt.NDArray[np.bool_]) -> Self:
        """Entries at which ``kept`` is True."""
        return type(self)(self.batch.filter(pa.array(kept)), self.key, self.inner)


class ColumnEntries(_Columns, Mapping[Any, Any]):
    """Entries as a mapping from key to the tuple of values.

    Example:
        >>> batch = pa.record_batch({"key": ["a", "b"], "count": [1, 2]})
        >>> dict(ColumnEntries(batch, 1, 0))
        {'a': (1,), 'b': (2,)}
    """

    def value_columns(self) -> list[pa.Array]:
        """The columns that hold values."""
        return list(self.batch.columns[self.key + self.inner :])

    def _entries(self) -> dict[Any, Any]:
        if self._python is None:
            start, count = self.key + self.inner, self.batch.num_columns
            columns = [self.python_values(index) for index in range(start, count)]
            values = list(zip(*columns, strict=True)) if columns else [()] * len(self)
            self._python = dict(zip(self.entry_keys(), values, strict=True))
        entries: dict[Any, Any] = self._python
        return entries

    def __getitem__(self, key: Any) -> Any:
        return self._entries()[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries())


class ColumnKeys(_Columns, Sequence[Any]):
    """Keys of removed entries."""

    def __getitem__(self, index: Any) -> Any:
        if self._python is None:
            self._python = self.entry_keys()
        return self._python[index]


Filtered = ColumnEntries | ColumnKeys


def array_of(values: npt.NDArray[Any]) -> pa.Array:
    """NumPy column as an Arrow array; Python objects are encoded."""
    if values.dtype == np.object_:
        return pa.array([encode(value) for value in values.tolist()], pa.binary())
    return pa.array(values)


def values_of(column: pa.Array, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """NumPy column for an Arrow array: the inverse of `array_of`."""
    if dtype == np.object_:
        objects = np.empty(len(column), np.object_)
        objects[:] = [decode(value) for value in column.to_pylist()]
        return objects
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values.astype(dtype, copy=False)


def _write(batch: pa.RecordBatch, sink: Any) -> None:
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)


def _restored(kind: Any, data: Any, key: int, inner: int) -> Any:
    """Entries from the bytes of a file. Checks lengths, offsets and texts, which Arrow would trust.

    Raises:
        SerializationError: the columns are damaged, or are not those of such entries.
    """
    try:
        with pa.ipc.open_stream(data) as reader:
            batch = reader.read_next_batch()
        batch.validate(full=True)
    except Exception as error:  # Arrow makes of damaged bytes whatever it likes
        raise SerializationError(f"columns of state are damaged: {error}") from None
    if not 0 <= key <= key + inner <= batch.num_columns:
        raise SerializationError(
            f"columns of state are damaged: {batch.num_columns} of them, {key} and {inner} for keys"
        )
    return kind(batch, key, inner)


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(map(_hashable, value.values()))
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value
