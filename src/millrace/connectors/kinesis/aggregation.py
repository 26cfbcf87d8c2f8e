"""Aggregated records. The Kinesis Producer Library packs many records into one (its aggregation
format).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["PackedRecord", "unpacked"]

_MAGIC = b"\xf3\x89\x9a\xc2"
_DIGEST = 16
_KEYS, _HASH_KEYS, _RECORDS = 1, 2, 3
_KEY_INDEX, _HASH_KEY_INDEX, _DATA = 1, 2, 3
_VARINT, _BYTES = 0, 2


class PackedRecord(NamedTuple):
    """A record inside an aggregated record."""

    partition_key: str
    data: bytes


def unpacked(data: bytes, hash_range: tuple[int, int]) -> list[PackedRecord] | None:
    """The records packed into ``data``; None if ``data`` is a plain record.

    Args:
        hash_range: hash key range of the shard. Records of other shards are left out, because the
            producer noticed that the stream was resharded, and has sent them again.
    """
    message = data[len(_MAGIC) : -_DIGEST]
    if not data.startswith(_MAGIC) or _md5(message) != data[-_DIGEST:]:
        return None
    keys: list[str] = []
    hash_keys: list[int] = []
    records: list[dict[int, int | bytes]] = []
    for number, value in _fields(message):
        if not isinstance(value, bytes):
            continue
        if number == _KEYS:
            keys.append(value.decode())
        elif number == _HASH_KEYS:
            hash_keys.append(int(value))
        elif number == _RECORDS:
            records.append(dict(_fields(value)))
    unpacked_records = []
    first, last = hash_range
    for record in records:
        key, at = keys[int(record[_KEY_INDEX])], record.get(_HASH_KEY_INDEX)
        place = _hash(key) if at is None else hash_keys[int(at)]
        content = record[_DATA]
        assert isinstance(content, bytes)
        if first <= place <= last:
            unpacked_records.append(PackedRecord(key, content))
    return unpacked_records


def _hash(partition_key: str) -> int:
    return int.from_bytes(_md5(partition_key.encode()))


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values of a Protocol Buffers message with varints and bytes only."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        value, position = _varint(message, position)
        if tag & 7 == _BYTES:
            yield tag >> 3, message[position : position + value]
            position += value
        elif tag & 7 == _VARINT:
            yield tag >> 3, value
        else:
            raise ValueError(f"a packed record has a field of the unknown kind {tag & 7}")


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
