"""Encoding of values as bytes and back, for buffers and state.

`marshal` is several times faster than `pickle`, but it turns every object with a buffer (numpy
scalars and arrays, ``bytearray``) silently into ``bytes`` and flattens nothing else. So it is used
only where every value, at every depth, is exactly of a plain builtin type; all else is pickled.
The first byte of a payload names the codec. Values with big buffers (Arrow columns) are pickled
without them: the buffers follow the pickle as they are, each at a multiple of 8 bytes.
"""

from __future__ import annotations

import marshal
import pickle
import struct
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from typing import Any

from millrace.common.errors import SerializationError
from millrace.state.serialization.pickles import dump_by_value, dump_pickle
from millrace.state.serialization.plain_columns import (
    ATOMS,
    MARSHAL_VERSION,
    decode_columns,
    encode_columns,
)

MARSHAL = b"m"
PICKLE = b"p"
BUFFERS = b"b"
"""Codec of a pickle followed by the buffers to which it refers."""
TAGGED = b"t"
"""Codec of canonical savepoints (see `millrace.state.serialization.tagged_values`)."""
COLUMNS = b"c"
"""Codec of batches of plain records (see `millrace.state.serialization.plain_columns`)."""

Chunk = bytes | memoryview
_ALIGNMENT = 8
_SIZE = struct.Struct(">Q")

_CONTAINERS: frozenset[type] = frozenset({tuple, list, dict, set, frozenset})
_MAX_DEPTH = 16


def is_plain(values: Iterable[Any]) -> bool:
    """Whether marshal preserves all ``values`` exactly, at every depth."""
    level = list(values)
    for _ in range(_MAX_DEPTH):
        kinds = set(map(type, level))
        if kinds <= ATOMS:
            return True
        nested = kinds - ATOMS
        if not nested <= _CONTAINERS:
            return False
        if nested == kinds and dict not in nested:
            below = set(map(type, chain.from_iterable(level)))  # no list of them, as it often ends
            if below <= ATOMS:
                return True
        level = _children(level, nested, kinds)
    return False


def _children(level: list[Any], nested: set[type], kinds: set[type]) -> list[Any]:
    holders = level if nested == kinds else [v for v in level if type(v) in nested]
    children = list(chain.from_iterable(holders))
    if dict in nested:
        children.extend(chain.from_iterable(v.values() for v in holders if type(v) is dict))
    return children


def encode(value: Any) -> bytes:
    """Payload of one value (often a big list). Raises SerializationError with the name of the
    type."""
    return _marshalled(value) or PICKLE + dump_pickle(value)


def _marshalled(value: Any) -> bytes | None:
    """Payload of a value that marshal preserves; None for any other."""
    if is_plain((value,)):
        with suppress(ValueError):  # deeper than marshal goes, or containing itself
            return MARSHAL + marshal.dumps(value, MARSHAL_VERSION)
    return None


def encode_chunks(value: Any) -> list[Chunk]:
    """Payload of one value in chunks, so that its buffers are not copied. If there are buffers,
    the total length of the chunks is a multiple of 8 bytes."""
    marshalled = _marshalled(value)
    if marshalled is not None:
        return [marshalled]
    buffers: list[pickle.PickleBuffer] = []
    try:
        body = pickle.dumps(value, 5, buffer_callback=buffers.append)
    except Exception:
        return [PICKLE + dump_by_value(value)]
    if not buffers:
        return [PICKLE + body]
    parts: list[Chunk] = [body, *(buffer.raw() for buffer in buffers)]
    sizes = list(map(len, parts))
    head = struct.pack(f">{len(sizes) + 1}Q", len(sizes), *sizes)
    chunks: list[Chunk] = [BUFFERS.ljust(_ALIGNMENT) + head]
    for part in parts:
        chunks += [part, padding(len(part))]
    return chunks


def padding(size: int) -> bytes:
    """Bytes that pad ``size`` to a multiple of 8."""
    return bytes(-size % _ALIGNMENT)


def _unpickled(payload: memoryview) -> Any:
    """Value of chunks whose first byte is `BUFFERS`."""
    try:
        (count,) = _SIZE.unpack_from(payload, _ALIGNMENT)
        sizes = struct.unpack_from(f">{count}Q", payload, 2 * _ALIGNMENT)
    except struct.error:
        raise SerializationError("a payload with buffers ends before them") from None
    start, parts = (2 + count) * _ALIGNMENT, []
    for size in sizes:
        parts.append(payload[start : start + size])
        start += size + -size % _ALIGNMENT
    return pickle.loads(parts[0], buffers=parts[1:])


def encode_records(values: list[Any], timestamps: list[int] | None) -> bytes:
    """Payload of a batch of records with their event times (one per value, or None)."""
    columns = encode_columns(values, timestamps)
    if columns is not None:
        return COLUMNS + columns
    if is_plain(values):
        try:
            return MARSHAL + marshal.dumps((values, timestamps), MARSHAL_VERSION)
        except ValueError:
            pass
    return PICKLE + dump_pickle((values, timestamps))


def decode(payload: bytes | bytearray | memoryview) -> Any:
    """Value of a payload made by `encode` or `encode_records`."""
    codec = payload[:1]
    body = memoryview(payload)[1:]
    if codec == MARSHAL:
        return marshal.loads(body)
    if codec == COLUMNS:
        return decode_columns(body)
    if codec == PICKLE:
        return pickle.loads(body)
    if codec == BUFFERS:
        return _unpickled(memoryview(payload))
    if codec == TAGGED:
        from millrace.state.serialization.tagged_values import load_tagged

        return load_tagged(bytes(body))
    raise SerializationError(f"unknown codec {bytes(codec)!r} at the start of a payload")
