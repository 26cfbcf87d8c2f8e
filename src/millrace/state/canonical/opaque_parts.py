"""Opaque parts, which are kept encoded: positions of sources, and the records in loops.

In a native snapshot they are what their owners encoded; in a canonical one tagged values (see
`millrace.state.serialization.tagged_values`): JSON in the manifest, msgpack behind a byte ``t``
elsewhere.
"""

from __future__ import annotations

import dataclasses

from millrace.state.checkpoint.manifest import Manifest
from millrace.state.serialization.payload import TAGGED, decode, encode
from millrace.state.serialization.tagged_values import dump_tagged, load_tagged

__all__ = ["native", "tagged", "with_native_parts", "with_tagged_parts"]


def tagged(data: bytes) -> bytes:
    """What was encoded natively, as a canonical savepoint has it."""
    return TAGGED + dump_tagged(decode(data))


def native(data: bytes, pickle_allowed: bool) -> bytes:
    """The inverse of `tagged`.

    Raises:
        ValueError: it is in a native encoding.
        SerializationError: it is damaged, or has to be unpickled, and there is no leave.
    """
    if type(data) is not bytes or data[:1] != TAGGED:
        raise ValueError("a canonical savepoint has a part in a native encoding")
    return encode(load_tagged(data[1:], pickle_allowed))


def with_tagged_parts(manifest: Manifest) -> Manifest:
    """The manifest of a native snapshot with its parts as a canonical one has them."""
    sources = {uid: tagged(data) for uid, data in manifest.sources.items()}
    return dataclasses.replace(manifest, sources=sources)


def with_native_parts(manifest: Manifest) -> Manifest:
    """The manifest of a canonical savepoint, which is trusted, with its parts as their owners
    take them. In others they stay tagged: whoever decodes one with a pickle is refused."""
    sources = {uid: native(data, True) for uid, data in manifest.sources.items()}
    return dataclasses.replace(manifest, sources=sources)
