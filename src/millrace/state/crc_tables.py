"""CRC-32 of many byte strings in one computation. Tables hold the contribution of each byte.

CRC is linear: apart from a constant for the length, it is the XOR of the bytes' contributions. The
contribution of a byte depends on its value and on the number of bytes that follow.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "Crcs",
    "byte_table",
    "crcs_of_whole_numbers",
    "hexadecimal_table",
    "key_hashes",
    "pair_table",
    "shifted",
]

Crcs = npt.NDArray[np.uint32]

_U32 = np.uint32
_CHUNK = 65_536


def key_hashes(crcs: Crcs) -> Crcs:
    """Key hash of each key, given the CRC of its canonical encoding (see `key_groups.key_hash`)."""
    mixed = crcs ^ (crcs >> _U32(16))
    mixed *= _U32(0x85EBCA6B)
    mixed ^= mixed >> _U32(13)
    mixed *= _U32(0xC2B2AE35)
    mixed ^= mixed >> _U32(16)
    return mixed


def crcs_of_whole_numbers(numbers: npt.NDArray[Any]) -> Crcs:
    """CRC of the canonical encoding of each integer: "i", "-" if it is negative, and hexadecimal
    digits. Four digits are looked up at a time."""
    negative = numbers < 0
    signed = bool(negative.any())
    sizes = (np.abs(numbers) if signed else numbers).view(np.uint64)
    highest = int(sizes.max(initial=0))
    sign = negative.astype(np.int64) << 16 if signed else 0
    crcs = np.zeros(sizes.size, _U32)
    for low in range(0, 64, 16):
        if low and not highest >> low:
            break
        index = ((sizes >> np.uint64(low)) & np.uint64(0xFFFF)).view(np.int64) | sign
        if highest >> low >= 1 << 16:
            index |= ((sizes >> np.uint64(low)) > np.uint64(0xFFFF)).astype(np.int64) << 17
        crcs ^= hexadecimal_table(low // 4).take(index)
    return crcs


@lru_cache(maxsize=1)
def _last_byte_table() -> Crcs:
    table = np.arange(256, dtype=_U32)
    for _ in range(8):
        table = np.where(table & 1, (table >> _U32(1)) ^ _U32(0xEDB88320), table >> _U32(1))
    return table.astype(_U32)


@lru_cache(maxsize=512)
def _shift_tables(count: int) -> npt.NDArray[np.uint32]:
    """Tables, one per byte of a CRC, for its value after ``count`` more zero bytes."""
    if count > 1:
        half = _shift_tables(count // 2)
        twice = np.stack([_looked_up(half, row) for row in half])
        return twice if count % 2 == 0 else np.stack([shifted(row, 1) for row in twice])
    places = [np.arange(256, dtype=_U32) << _U32(8 * place) for place in range(4)]
    last = _last_byte_table()
    return np.stack([(row >> _U32(8)) ^ last[row & _U32(255)] for row in places])


def _looked_up(tables: npt.NDArray[np.uint32], crcs: Crcs) -> Crcs:
    made: Crcs = tables[0].take(crcs & _U32(255))
    for place in range(1, 4):
        made ^= tables[place].take((crcs >> _U32(8 * place)) & _U32(255))
    return made


def shifted(crcs: Crcs, count: int) -> Crcs:
    """Contributions that the CRCs of strings make to the CRCs of longer strings, which have
    ``count`` more bytes at the end. XOR with the CRC of these bytes gives the CRC of the longer
    string.
    """
    return _looked_up(_shift_tables(count), crcs) if count else crcs


@lru_cache(maxsize=256)
def byte_table(following: int) -> Crcs:
    """Table of the contribution of each byte to the CRC, with ``following`` bytes after it."""
    return shifted(_last_byte_table(), following)


@lru_cache(maxsize=32)
def pair_table(following: int) -> Crcs:
    """Table of the contribution of two bytes to the CRC, with ``following`` bytes after them.
    The index is the two bytes as a little-endian number."""
    first, second = byte_table(following + 1), byte_table(following)
    return (first[None, :] ^ second[:, None]).reshape(-1)


@lru_cache(maxsize=4)
def hexadecimal_table(following: int) -> Crcs:
    """Table of the contribution to the CRC of 16 bits that are written as hexadecimal digits, with
    ``following`` digits after them.

    The first quarter of the table is for the leading digits of a number, which begins with "i" and
    has no leading zeros; the second quarter, for the leading digits of a negative number ("i-").
    Both include the CRC's constant. The other two quarters are for digits that follow others.
    """
    bits = np.arange(_CHUNK)
    plain, minus, inner = (np.zeros(_CHUNK, _U32) for _ in range(3))
    names = np.frombuffer(b"0123456789abcdef", np.uint8)
    for digit in range(4):
        inner ^= byte_table(following + digit)[names[(bits >> (4 * digit)) & 15]]
        # numbers of exactly digit + 1 digits: zero has one only at the very end
        first = 16**digit if digit or following else 0
        some = np.arange(first, 16 ** (digit + 1))
        length = following + digit + 1
        own: Any = np.zeros(some.size, _U32)
        for place in range(digit + 1):
            own ^= byte_table(following + place)[names[(some >> (4 * place)) & 15]]
        plain[some] = own ^ _U32(zlib.crc32(b"i" + bytes(length)))
        minus[some] = own ^ _U32(zlib.crc32(b"i-" + bytes(length)))
    return np.concatenate([plain, minus, inner, inner])
