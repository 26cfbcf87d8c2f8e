"""Avro container files: a header with the schema, then blocks of records, each followed by a
marker (Avro specification, "Object Container Files")."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from millrace.common.errors import SerializationError
from millrace.formats.avro.avro_schema import AvroSchema
from millrace.formats.avro.codecs import CODECS, compressed

__all__ = [
    "MAGIC",
    "SYNC_BYTES",
    "AvroBlock",
    "FileHeader",
    "block_bytes",
    "find_marker",
    "header_bytes",
    "read_block",
    "read_header",
    "varint",
]

MAGIC = b"Obj\x01"
SYNC_BYTES = 16
_MAX_PACKED = 256 << 20
_MAX_HEADER = 16 << 20
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class FileHeader:
    """Header of a file.

    Attributes:
        schema: its records' schema.
        codec: compression of the blocks.
        marker: marker after the header and after each block.
        end: the byte behind the header.
    """

    schema: AvroSchema
    codec: str
    marker: bytes
    end: int


@dataclass(frozen=True, slots=True)
class AvroBlock:
    """A compressed block with the records that were written together."""

    count: int
    data: bytes
    end: int
    """Position after the block, where its marker begins."""


def read_header(stream: BinaryIO) -> FileHeader:
    """Header of a file.

    Raises:
        SerializationError: the stream does not begin with such a header.
    """
    stream.seek(0)
    if stream.read(len(MAGIC)) != MAGIC:
        raise SerializationError("not an Avro file: its first bytes are different")
    try:
        metadata = _read_map(stream)
        text = metadata.get("avro.schema", b"")
        schema = AvroSchema(json.loads(text))
        _ = schema.physical
        codec = metadata.get("avro.codec", b"null").decode()
    except (ValueError, TypeError, EOFError, RecursionError) as error:
        raise SerializationError(f"not a complete Avro file: {error}") from None
    if codec not in CODECS:
        raise SerializationError(f"blocks are packed by {codec!r}; known are {', '.join(CODECS)}")
    marker = stream.read(SYNC_BYTES)
    if len(marker) < SYNC_BYTES:
        raise SerializationError("not a complete Avro file: its header ends early")
    return FileHeader(schema, codec, marker, stream.tell())


def header_bytes(schema: AvroSchema, codec: str, marker: bytes | None = None) -> bytes:
    """The header of a new file; its last 16 bytes are the marker."""
    metadata = {"avro.codec": codec.encode(), "avro.schema": schema.to_json().encode()}
    entries = [_bytes(name.encode()) + _bytes(value) for name, value in metadata.items()]
    body = varint(len(entries)) + b"".join(entries) + varint(0)
    return MAGIC + body + (marker or os.urandom(SYNC_BYTES))


def block_bytes(count: int, data: bytes, codec: str, marker: bytes) -> bytes:
    """Encoded block of ``count`` records."""
    packed = compressed(codec, data)
    return varint(count) + varint(len(packed)) + packed + marker


def read_block(stream: BinaryIO, marker: bytes) -> AvroBlock:
    """The block at the stream's current position.

    Raises:
        SerializationError: there is no valid block at this position.
    """
    try:
        count, size = read_varint(stream), read_varint(stream)
    except EOFError as error:
        raise SerializationError(f"a block's header is cut: {error}") from None
    if count < 0 or not 0 <= size <= _MAX_PACKED:
        raise SerializationError(f"the header of a block announces {count} records in {size} bytes")
    data = stream.read(size)
    end = stream.tell()
    if len(data) < size or stream.read(SYNC_BYTES) != marker:
        raise SerializationError("a block does not end at the announced byte")
    return AvroBlock(count, data, end)


def find_marker(stream: BinaryIO, marker: bytes, start: int) -> int | None:
    """Position of the next marker at or after a byte; None if there is none."""
    stream.seek(start)
    kept, at = b"", start
    while data := stream.read(_CHUNK):
        window = kept + data
        offset = window.find(marker)
        if offset >= 0:
            return at - len(kept) + offset
        at += len(data)
        kept = window[-(SYNC_BYTES - 1) :]
    return None


def varint(number: int) -> bytes:
    """Encode an Avro ``long``.

    >>> varint(64), varint(-1)
    (b'\\x80\\x01', b'\\x01')
    """
    number = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def read_varint(stream: BinaryIO) -> int:
    """Decode an Avro ``long``.

    Raises:
        EOFError: the stream ends.
        SerializationError: the number has more than 64 bits.
    """
    bits = shift = 0
    while shift < 70:
        byte = stream.read(1)
        if not byte:
            raise EOFError("the file ends")
        bits |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return (bits >> 1) ^ -(bits & 1)
        shift += 7
    raise SerializationError("a number has more than 64 bits")


def _bytes(data: bytes) -> bytes:
    return varint(len(data)) + data


def _read_bytes(stream: BinaryIO) -> bytes:
    size = read_varint(stream)
    if not 0 <= size <= _MAX_HEADER:
        raise SerializationError(f"not an Avro file: a header of {size} bytes")
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("its header ends early")
    return data


def _read_map(stream: BinaryIO) -> Mapping[str, bytes]:
    entries: dict[str, bytes] = {}
    total = 0
    while count := read_varint(stream):
        if count < 0:
            count = -count
            read_varint(stream)  # the bytes of this part, for those who pass over it
        for _ in range(count):
            key, value = _read_bytes(stream), _read_bytes(stream)
            total += len(key) + len(value) + 1
            if total > _MAX_HEADER:
                raise SerializationError(f"not an Avro file: a header of {total} bytes")
            entries[key.decode()] = value
    return entries
