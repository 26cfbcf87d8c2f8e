"""The frame around structured content: magic, format version, length and checksum.

The content itself is one value of builtin types, encoded with
`millrace.state.serialization.payload`. Only its marshal codec is let through, and read by
`read_plain`: whatever the bytes are, reading them runs no code and allocates no more than they are
worth.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

from millrace.common.errors import CheckpointCorruptError, CheckpointError, SerializationError
from millrace.state.checkpoint.files import StrPath
from millrace.state.serialization.payload import MARSHAL, encode
from millrace.state.serialization.plain_reader import read_plain

__all__ = ["dump_plain", "load_plain", "refuse_version", "seal", "unseal"]

_HEAD = struct.Struct(">8sHQ")
_CRC = struct.Struct(">I")
_OVERHEAD = _HEAD.size + _CRC.size


def dump_plain(value: Any) -> bytes:
    """The bytes of a value made of builtin types only.

    Raises:
        SerializationError: something in it is of another type.
    """
    data = encode(value)
    if data[:1] != MARSHAL:
        raise SerializationError("checkpoint metadata may only hold plain builtin values")
    return data


def load_plain(path: StrPath, data: bytes) -> Any:
    """The value of bytes made by `dump_plain`.

    Raises:
        CheckpointCorruptError: they are of another making.
    """
    if data[:1] != MARSHAL:
        raise CheckpointCorruptError(path, "its content has an unknown encoding")
    try:
        return read_plain(memoryview(data)[1:])
    except SerializationError as error:
        raise CheckpointCorruptError(path, f"its content cannot be decoded: {error}") from error


def seal(magic: bytes, version: int, value: Any) -> bytes:
    """A whole file of one value."""
    body = dump_plain(value)
    head = _HEAD.pack(magic, version, len(body))
    return head + _CRC.pack(zlib.crc32(body, zlib.crc32(head))) + body


def unseal(path: StrPath, magic: bytes, version: int, data: bytes) -> Any:
    """The value of a file made by `seal`.

    Raises:
        CheckpointCorruptError: the file is damaged in whatever way.
        CheckpointError: it is whole, but of a later format than ``version``.
    """
    if len(data) < _OVERHEAD:
        raise CheckpointCorruptError(path, f"it ends at byte {len(data)}, within its header")
    found_magic, found_version, length = _HEAD.unpack_from(data)
    if found_magic != magic:
        raise CheckpointCorruptError(path, "it does not begin as such a file does")
    if len(data) != _OVERHEAD + length:
        raise CheckpointCorruptError(
            path, f"it has {len(data)} bytes instead of {_OVERHEAD + length}"
        )
    (crc,) = _CRC.unpack_from(data, _HEAD.size)
    body = data[_OVERHEAD:]
    if zlib.crc32(body, zlib.crc32(data[: _HEAD.size])) != crc:
        raise CheckpointCorruptError(path, "its checksum differs")
    refuse_version(path, found_version, version)
    return load_plain(path, body)


def refuse_version(path: StrPath, found: int, known: int) -> None:
    """Raises CheckpointError unless a format version is the one that is known here."""
    if found != known:
        raise CheckpointError(
            f"{path} has format version {found}, this release of millrace reads version {known}; "
            "use the release that wrote it, or a newer one"
        )
