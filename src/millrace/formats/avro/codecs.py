"""Compression of blocks in Avro files, with a limit on the decompressed size (Avro
specification, "Required Codecs", "Optional Codecs")."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any

from millrace.common.errors import SerializationError

__all__ = ["CODECS", "MAX_BLOCK_BYTES", "compressed", "decompressed"]

MAX_BLOCK_BYTES = 256 << 20
"""Largest decompressed size in bytes of a block. Writers make blocks of 16 KiB to a few MiB; a
larger one was made to exhaust memory."""


def compressed(codec: str, data: bytes) -> bytes:
    """Compressed block, as stored in the file."""
    return CODECS[codec][0](data)


def decompressed(codec: str, data: bytes) -> bytes:
    """Decompressed records of a block.

    Raises:
        SerializationError: the block is damaged, or larger than `MAX_BLOCK_BYTES`.
    """
    try:
        unpacked = CODECS[codec][1](data)
    except SerializationError:
        raise
    except Exception as error:  # each library has its own
        raise SerializationError(f"a block of {codec} is damaged: {error}") from None
    if len(unpacked) > MAX_BLOCK_BYTES:
        raise SerializationError(f"a block unpacks to more than {MAX_BLOCK_BYTES} bytes")
    return unpacked


def _same(data: bytes) -> bytes:
    return data


def _deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def _inflate(data: bytes) -> bytes:
    return _bounded(zlib.decompressobj(wbits=-15), data)


def _bounded(unpacker: Any, data: bytes) -> bytes:
    unpacked: bytes = unpacker.decompress(data, MAX_BLOCK_BYTES + 1)
    if not unpacker.eof and len(unpacked) <= MAX_BLOCK_BYTES:
        raise SerializationError("a block ends early")
    return unpacked


def _snappy(data: bytes) -> bytes:
    import pyarrow

    packed: bytes = pyarrow.Codec("snappy").compress(data, asbytes=True)
    return packed + zlib.crc32(data).to_bytes(4, "big")


def _unsnappy(data: bytes) -> bytes:
    import pyarrow

    size = _snappy_size(data)
    unpacked: bytes = pyarrow.Codec("snappy").decompress(data[:-4], size, asbytes=True)
    if zlib.crc32(unpacked) != int.from_bytes(data[-4:], "big"):
        raise SerializationError("the checksum of a block does not match its content")
    return unpacked


def _snappy_size(data: bytes) -> int:
    """Decompressed size in bytes that the block's leading number claims."""
    size = 0
    for place, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            break
    if size > MAX_BLOCK_BYTES:
        raise SerializationError(f"a block unpacks to more than {MAX_BLOCK_BYTES} bytes")
    return size


def _zstandard(data: bytes) -> bytes:
    import pyarrow

    packed: bytes = pyarrow.Codec("zstd").compress(data, asbytes=True)
    return packed


def _unzstandard(data: bytes) -> bytes:
    import pyarrow

    with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd") as stream:
        unpacked: bytes = stream.read(MAX_BLOCK_BYTES + 1)
    return unpacked


CODECS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "null": (_same, _same),
    "deflate": (_deflate, _inflate),
    "snappy": (_snappy, _unsnappy),
    "zstandard": (_zstandard, _unzstandard),
    "bzip2": (bz2.compress, lambda data: _bounded(bz2.BZ2Decompressor(), data)),
    "xz": (lzma.compress, lambda data: _bounded(lzma.LZMADecompressor(), data)),
}
"""Functions that compress and decompress, by the codec's name."""
