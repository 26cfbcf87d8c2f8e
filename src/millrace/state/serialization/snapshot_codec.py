"""The codec of what goes into checkpoints and savepoints and comes out of them.

With ``state.pickle.allowed`` (the default) that is `millrace.state.serialization.payload`:
marshal where all is plain, else pickle. Without, reading runs no code of whoever wrote the bytes,
and trusts no length in them; what only pickle could write is refused when it is written.
"""

from __future__ import annotations

import marshal
from typing import Any

from millrace.common.errors import SerializationError
from millrace.state.serialization.payload import (
    MARSHAL,
    MARSHAL_VERSION,
    PICKLE,
    decode,
    encode,
    is_plain,
)
from millrace.state.serialization.plain_reader import read_plain
from millrace.state.serialization.safe_pickle import dump_safe, load_safe

__all__ = ["SAFE", "TRUSTING", "SnapshotCodec", "codec_of"]


class SnapshotCodec:
    """Values to bytes and back.

    Example:
        >>> from decimal import Decimal
        >>> SAFE.decode(SAFE.encode({"price": Decimal("9.99")}))
        {'price': Decimal('9.99')}
    """

    pickle_allowed = True

    def encode(self, value: Any) -> bytes:
        """The bytes of a value.

        Raises:
            SerializationError: it cannot be written, or not without leave to pickle.
        """
        return encode(value)

    def decode(self, payload: bytes | memoryview) -> Any:
        """The value of bytes made by `encode`.

        Raises:
            SerializationError: they are damaged, or need leave to pickle.
        """
        return decode(payload)


class _SafeCodec(SnapshotCodec):
    """Neither writes nor reads anything that runs code."""

    pickle_allowed = False

    def encode(self, value: Any) -> bytes:
        if is_plain((value,)):
            return MARSHAL + marshal.dumps(value, MARSHAL_VERSION)
        try:
            return PICKLE + dump_safe(value)
        except SerializationError as error:
            raise SerializationError(
                f"a {error} would have to be pickled, and state.pickle.allowed is false"
            ) from error

    def decode(self, payload: bytes | memoryview) -> Any:
        view = memoryview(payload)
        codec, body = bytes(view[:1]), view[1:]
        if codec == MARSHAL:
            return read_plain(body)
        if codec == PICKLE:
            return load_safe(body)
        raise SerializationError(f"unknown codec {codec!r} at the start of a payload")


TRUSTING = SnapshotCodec()
"""Pickles what is not plain, and believes what it reads."""
SAFE: SnapshotCodec = _SafeCodec()
"""Runs no code of whoever wrote what it reads."""


def codec_of(pickle_allowed: bool) -> SnapshotCodec:
    """The codec that ``state.pickle.allowed`` asks for."""
    return TRUSTING if pickle_allowed else SAFE
