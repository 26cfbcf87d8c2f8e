"""Message indexes after the frame of the registry's wire format, which name the message type
within its file (Confluent docs, "Wire format", Protobuf)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.formats.avro.container import varint
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.registry.wire_format import PREFIX_BYTES

__all__ = ["content_of", "index_bytes", "indexes_of"]

_MAX_INDEXES = 100


def indexes_of(descriptor: Any) -> list[int]:
    """Position of a type in its file: the index of its outermost type, then of each nested type."""
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

    # descriptors list types by name; only their messages have the order of the file
    outer = descriptor.containing_type
    if outer is None:
        file = FileDescriptorProto()
        descriptor.file.CopyToProto(file)
        return [[kind.name for kind in file.message_type].index(descriptor.name)]
    around = DescriptorProto()
    outer.CopyToProto(around)
    names = [kind.name for kind in around.nested_type]
    return [*indexes_of(outer), names.index(descriptor.name)]


def index_bytes(indexes: Sequence[int]) -> bytes:
    """Encoded indexes, as in a message.

    >>> index_bytes([0]), index_bytes([1, 0])
    (b'\\x00', b'\\x04\\x02\\x00')
    """
    if list(indexes) == [0]:
        return b"\0"
    return varint(len(indexes)) + b"".join(map(varint, indexes))


def content_of(message: bytes) -> bytes:
    """Content of a message, after its frame and message indexes.

    Raises:
        MalformedRecordError: the indexes are cut off, or invalid.
    """
    count, at = _number(message, PREFIX_BYTES)
    if not 0 <= count <= _MAX_INDEXES:
        raise MalformedRecordError(f"a message of {count} message indexes", bytes(message))
    for _ in range(count):
        _, at = _number(message, at)
    return message[at:]


def _number(message: bytes, at: int) -> tuple[int, int]:
    """A zigzag-encoded number, and the position after it."""
    found = 0
    for place, byte in enumerate(message[at : at + 5]):
        found |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), at + place + 1
    raise MalformedRecordError("the message's indexes are cut", bytes(message))
