"""Conversion of the opaque parts of a snapshot: source positions and the records in loops.

Opaque parts are source positions and the records in loops. The snapshot holds them as bytes, which
only their owners decode. A native snapshot has the owners' encoding, a canonical one has tagged
values (see
`millrace.state.serialization.tagged_values`): JSON in the manifest, elsewhere msgpack after a byte
``t``.
"""

from __future__ import annotations

from millrace.state.serialization.payload import TAGGED, decode, encode
from millrace.state.serialization.tagged_values import dump_tagged, load_tagged

__all__ = ["native", "tagged"]


def tagged(data: bytes) -> bytes:
    """Convert bytes in native encoding to tagged values."""
    return TAGGED + dump_tagged(decode(data))


def native(data: bytes, pickle_allowed: bool) -> bytes:
    """Convert tagged values back to bytes in native encoding.

    Raises:
        ValueError: ``data`` is in native encoding instead of tagged.
        SerializationError: ``data`` is damaged, or has to be unpickled and that is not allowed.
    """
    if type(data) is not bytes or data[:1] != TAGGED:
        raise ValueError("a canonical savepoint has a part in a native encoding")
    return encode(load_tagged(data[1:], pickle_allowed))
