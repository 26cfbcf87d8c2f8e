"""Compression of bytes that checkpoints contain, such as committables of sinks."""

from __future__ import annotations

__all__ = ["compressed", "decompressed"]

_CODEC = "zstd"


def compressed(raw: bytes) -> bytes:
    """The compressed bytes. Callers must keep the original size for `decompressed`."""
    import pyarrow as pa

    packed: bytes = pa.compress(raw, codec=_CODEC, asbytes=True)
    return packed


def decompressed(packed: bytes, size: int) -> bytes:
    """The original bytes of a result of `compressed`.

    Args:
        size: number of bytes before the compression.

    Example:
        >>> decompressed(compressed(b"rows"), 4)
        b'rows'
    """
    import pyarrow as pa

    raw: bytes = pa.decompress(packed, decompressed_size=size, codec=_CODEC, asbytes=True)
    return raw
