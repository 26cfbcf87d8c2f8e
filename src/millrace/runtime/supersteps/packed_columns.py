"""Columns of NumPy and Arrow as the pieces of a message, whose content is not copied."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["array_bytes", "pack_columns", "unpack_columns"]

_HEAD = struct.Struct("<I")
_ALIGNMENT = 8


def array_bytes(array: npt.NDArray[Any]) -> memoryview:
    """The bytes of an array. They are copied only if the array is not contiguous in memory."""
    content: Any = np.ascontiguousarray(array).reshape(-1).view("B")
    return memoryview(content)


def pack_columns(columns: Sequence[Any]) -> list[Any]:
    """The pieces of a message that contains the columns."""
    heads: list[list[Any]] = []
    pieces: list[Any] = []
    for column in columns:
        if isinstance(column, np.ndarray):
            array = np.ascontiguousarray(column)
            heads.append([array.dtype.str, list(array.shape)])
            data = array_bytes(array)
        else:
            data = _arrow_bytes(column)
            heads.append(["arrow", [len(data)]])
        pieces.append(data)
        pieces.append(bytes(-len(data) % _ALIGNMENT))
    head = json.dumps(heads).encode()
    head += b" " * (-(len(head) + _HEAD.size) % _ALIGNMENT)
    return [_HEAD.pack(len(head)) + head, *pieces]


def unpack_columns(message: memoryview) -> list[Any]:
    """The columns in a message. Arrays refer to the memory of the message.

    Example:
        >>> message = b"".join(pack_columns([np.array([1, 2]), np.array([0.5])]))
        >>> [column.tolist() for column in unpack_columns(memoryview(message))]
        [[1, 2], [0.5]]
    """
    length = _HEAD.unpack_from(message)[0]
    at = _HEAD.size + length
    columns: list[Any] = []
    for kind, shape in json.loads(bytes(message[_HEAD.size : at])):
        if kind == "arrow":
            size = shape[0]
            columns.append(_arrow_column(message[at : at + size]))
        else:
            dtype = np.dtype(kind)
            size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            columns.append(np.frombuffer(message[at : at + size], dtype).reshape(shape))
        at += size + (-size % _ALIGNMENT)
    return columns


def _arrow_bytes(column: Any) -> memoryview:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = pa.table({"c": column})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def _arrow_column(data: memoryview) -> Any:
    import pyarrow as pa

    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_all().column(0).combine_chunks()
