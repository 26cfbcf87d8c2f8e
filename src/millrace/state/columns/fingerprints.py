"""Conversion of the keys in Arrow columns to 64-bit words, for a `HashIndex`.

A single column of numbers, dates or timestamps is its own word, exactly. All other keys (texts,
decimals, rows, several columns) have two 64-bit fingerprints, seeded per table so that nobody can
make keys collide on purpose: 128 bits decide what is the same key.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.state.columns.hash_index import Word
from millrace.state.columns.value_texts import value_texts

__all__ = ["exact_word", "fingerprints", "is_exact", "validity"]

_U64 = np.uint64
_LENGTH = _U64(0x9E3779B97F4A7C15)
_STEP = _U64(0xBF58476D1CE4E5B9)
_LAST = _U64(0x94D049BB133111EB)
_NULL = _U64(0xD6E8FEB86659FD93)
_MASKS = np.array([0] + [(1 << (8 * size)) - 1 for size in range(1, 9)], _U64)

Hashes = npt.NDArray[np.uint64]


def is_exact(kind: pa.DataType) -> bool:
    """Whether every value of a type fits into one word."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_temporal(kind)
    ) and not pa.types.is_interval(kind)


def validity(array: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Mask of the values that are not null; None if no value is null."""
    if pa.types.is_dictionary(array.type):
        of_values = validity(array.dictionary)
        return None if of_values is None else of_values.take(_places(array))
    if not array.null_count:
        return None
    valid: npt.NDArray[np.bool_] = pc.is_valid(array).to_numpy(zero_copy_only=False)
    return valid


def exact_word(array: pa.Array) -> Word:
    """Bits of each value as a number; null is 0."""
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif pa.types.is_temporal(kind):
        array = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if array.null_count:
        array = pc.fill_null(array, 0)
    values = array.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f":
        wide = values.astype(np.float64)
        # all NaN are one key, as in Flink's and Java's comparison of doubles
        bits: Word = np.where(np.isnan(wide), np.nan, wide).view(np.int64)
        return bits
    word: Word = np.ascontiguousarray(values, np.int64)
    return word


def fingerprints(columns: Sequence[pa.Array], count: int, seeds: tuple[int, int]) -> list[Word]:
    """Two fingerprints of each row."""
    hashes = [np.full(count, seed, _U64) for seed in seeds]
    for column in columns:
        words, valid = _hashes(column), validity(column)
        for number, (salt, factor) in enumerate(((_STEP, _LENGTH), (_LAST, _NULL))):
            before = sums = hashes[number]
            for values in words:
                sums = _stirred(sums, values * salt, factor, _U64(31))
            if valid is not None:
                # another way for null, so that no value is taken for it in both words
                sums = np.where(valid, sums, (before ^ (before >> _U64(30)) ^ _NULL) * salt)
            hashes[number] = sums
    for sums in hashes:
        sums ^= sums >> _U64(32)
        sums *= _LAST
        sums ^= sums >> _U64(29)
    return [sums.view(np.int64) for sums in hashes]


def _hashes(column: pa.Array) -> list[Hashes]:
    """Words that together identify each value of a column; they need not be mixed well."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return [words.take(_places(column)) for words in _hashes(column.dictionary)]
    if is_exact(kind) or pa.types.is_null(kind):
        return [exact_word(column).view(_U64)]
    if pa.types.is_decimal128(kind):
        return _decimals(column)
    return _bytes(_as_binary(column))


def _places(column: pa.DictionaryArray) -> npt.NDArray[np.int64]:
    """Index into the dictionary for each value of a column whose nulls are entries of the
    dictionary, too."""
    places: npt.NDArray[np.int64] = column.indices.to_numpy(zero_copy_only=False)
    return places


def _decimals(column: pa.Array) -> list[Hashes]:
    both = np.frombuffer(column.buffers()[1], _U64, 2 * len(column), 16 * column.offset)
    return [both[0::2].copy(), both[1::2].copy()]


def _as_binary(column: pa.Array) -> pa.Array:
    """The values of a column as binary values. Texts and bytes keep their bytes; values of other
    types become texts, equal for equal values."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind):
        return column.cast(pa.large_binary())
    if pa.types.is_large_binary(kind):
        return column
    if pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind):
        return column.cast(pa.binary()).cast(pa.large_binary())
    return value_texts(column)


def _bytes(column: pa.Array) -> list[Hashes]:
    """Two independent hashes of each value's bytes, computed eight bytes at a time."""
    _, offsets_buffer, data = column.buffers()
    count = len(column)
    if not count:
        return [np.empty(0, _U64), np.empty(0, _U64)]
    offsets = np.frombuffer(offsets_buffer, np.int64, count + 1, 8 * column.offset)
    low, high = int(offsets[0]), int(offsets[-1])
    raw = np.zeros(high - low + 8, np.uint8)
    if high > low:
        raw[: high - low] = np.frombuffer(data, np.uint8, high - low, low)
    starts, lengths = offsets[:-1] - low, np.diff(offsets)
    if int(lengths[0]) and (lengths == lengths[0]).all():
        return _bytes_of_one_length(raw[: high - low].reshape(count, -1))
    windows = np.ndarray((raw.size - 7,), "<u8", raw, 0, (1,))
    one = lengths.view(_U64) * _LENGTH
    two = lengths.view(_U64) ^ _LAST
    for step in range(max(1, (int(lengths.max()) + 7) // 8)):
        left = lengths - 8 * step
        rows = slice(None) if step == 0 else np.flatnonzero(left > 0)
        if not isinstance(rows, slice) and rows.size == count:
            rows = slice(None)
        piece = windows.take(np.minimum(starts[rows] + 8 * step, raw.size - 8))
        piece &= _MASKS.take(np.clip(left[rows], 0, 8))
        one[rows] = _stirred(one[rows], piece, _STEP, _U64(29))
        two[rows] = _stirred(two[rows], piece, _NULL, _U64(32))
    return [one, two]


def _bytes_of_one_length(raw: npt.NDArray[np.uint8]) -> list[Hashes]:
    """Result of `_bytes` for values of one length, each of which is a row of ``raw``."""
    count, length = raw.shape
    padded = np.zeros((count, -(-length // 8) * 8), np.uint8)
    padded[:, :length] = raw
    one = np.full(count, length, _U64) * _LENGTH
    two = np.full(count, length, _U64) ^ _LAST
    for piece in padded.view("<u8").T:
        one = _stirred(one, piece, _STEP, _U64(29))
        two = _stirred(two, piece, _NULL, _U64(32))
    return [one, two]


def _stirred(sums: Hashes, piece: Hashes, factor: np.uint64, shift: np.uint64) -> Hashes:
    sums = (sums ^ piece) * factor
    sums ^= sums >> shift
    return sums
