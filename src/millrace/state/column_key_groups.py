"""Key groups of the keys in Arrow columns, equal to the results of `key_groups` for single keys.

The hash of a key is made of the CRC-32 of its canonical encoding (`key_groups.canonical`).
`crc_tables` computes that for all rows at once: for integers, floats, booleans, strings, bytes and
tuples of such columns. For other types each distinct value is encoded as a Python object.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import KeyTypeError
from millrace.state.columns.value_texts import value_texts
from millrace.state.crc_tables import (
    Crcs,
    byte_table,
    crcs_of_whole_numbers,
    key_hashes,
    pair_table,
    shifted,
)
from millrace.state.key_groups import canonical, key_group_of, subtask_of

KeyColumns: TypeAlias = "pa.Array | tuple[KeyColumns, ...]"
"""The keys of a batch: a column, or for tuples the columns of their elements."""

Lengths = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_U32 = np.uint32
_MAX_BYTES_BY_TABLE = 128
"""Maximum bytes of strings that are hashed with tables. Longer strings are hashed one by one."""
_MAX_BYTES_BY_PAIRS = 32
"""Maximum bytes of strings that are hashed two bytes at a time, with a table of 256 KB per
position."""
_MAX_COUNTED_LENGTH = 4096
"""Lengths below this limit are found with ``bincount``, whose memory grows with the greatest
length."""
_INT_LIMIT = 2.0**63


def owners_of_columns(
    keys: KeyColumns, parallelism: int, max_parallelism: int, sql_keys: bool = False
) -> npt.NDArray[Any]:
    """Subtask that owns the key of each row.

    Args:
        sql_keys: whether keys are values of SQL: NaN is one, equal to itself, and so are rows,
            arrays and maps. As Python's objects these are none.

    Raises:
        KeyTypeError: a key has no stable encoding, or is NaN.
    """
    if sql_keys:
        keys = _as_texts(keys)
    elif _has_nan(keys):
        raise KeyTypeError("NaN cannot be a key: it is not equal to itself")
    groups = range(max_parallelism)
    owners = [subtask_of(group, parallelism, max_parallelism) for group in groups]
    # the exchange sorts rows by owner: the smaller the numbers, the faster
    table = np.array(owners, np.uint8 if parallelism <= 256 else np.uint16)
    return table.take(key_groups_of_columns(keys, max_parallelism))


def key_groups_of_sql_keys(
    columns: Sequence[pa.Array], count: int, max_parallelism: int
) -> npt.NDArray[np.intp]:
    """Key group of each of ``count`` rows. The SQL key of a row may have any number of columns.

    >>> key_groups_of_sql_keys([pa.array([[1, None], [2]])], 2, 128)
    array([89, 69])
    """
    if not columns:
        return np.full(count, key_group_of((), max_parallelism), np.intp)
    keys = columns[0] if len(columns) == 1 else tuple(columns)
    return key_groups_of_columns(_as_texts(keys), max_parallelism)


def key_groups_of_columns(keys: KeyColumns, max_parallelism: int) -> npt.NDArray[np.intp]:
    """Key group of each row's key.

    Raises:
        KeyTypeError: a key has no stable encoding.
    """
    return (key_hashes(_encoded(keys).crcs) % _U32(max_parallelism)).astype(np.intp)


def _as_texts(keys: KeyColumns) -> KeyColumns:
    """Keys with rows, arrays and maps replaced by texts that describe their content."""
    if isinstance(keys, tuple):
        return tuple(map(_as_texts, keys))
    return value_texts(keys) if pa.types.is_nested(keys.type) else keys


def _has_nan(keys: KeyColumns) -> bool:
    if isinstance(keys, tuple):
        return any(map(_has_nan, keys))
    if pa.types.is_dictionary(keys.type):
        if not pa.types.is_floating(keys.type.value_type):
            return False
        keys = keys.cast(keys.type.value_type)
    if not pa.types.is_floating(keys.type):
        return False
    return bool(pc.any(pc.is_nan(keys.cast(pa.float64()))).as_py())


class _Encoded(NamedTuple):
    """Canonical encodings of the keys in a column: their CRC-32, and a function for their
    lengths, which only tuples need."""

    crcs: Crcs
    lengths: Callable[[], Lengths]

    def where(self, valid: Mask) -> _Encoded:
        """The encodings, with the encoding of None in rows that are not valid."""
        crcs = np.where(valid, self.crcs, _NONE.crcs)
        return _Encoded(crcs, lambda: np.where(valid, self.lengths(), 1))

    def take(self, rows: npt.NDArray[np.int64]) -> _Encoded:
        """The encodings of some rows."""
        return _Encoded(self.crcs.take(rows), lambda: self.lengths().take(rows))


def _constant(data: bytes, count: int) -> _Encoded:
    crcs = np.full(count, zlib.crc32(data), _U32)
    return _Encoded(crcs, lambda: np.full(count, len(data), np.int64))


def _one_by_one(encodings: list[bytes]) -> _Encoded:
    crcs = np.fromiter(map(zlib.crc32, encodings), _U32, len(encodings))
    return _Encoded(crcs, lambda: np.fromiter(map(len, encodings), np.int64, len(encodings)))


_NONE = _constant(canonical(None), 1)


# -- columns by type ---------------------------------------------------------------------------


def _encoded(keys: KeyColumns) -> _Encoded:
    if isinstance(keys, tuple):
        return _tuples(keys)
    if hasattr(keys, "num_chunks"):
        keys = pa.concat_arrays(keys.chunks) if keys.num_chunks else pa.array([], keys.type)
    kind, types = keys.type, pa.types
    if types.is_null(kind):
        return _constant(canonical(None), len(keys))
    if types.is_dictionary(kind):
        return _dictionary(keys)
    encode = _encoder_of(kind)
    if encode is None:
        return _distinct(keys)
    valid = None
    if keys.null_count:
        valid = pc.is_valid(keys).to_numpy(zero_copy_only=False)
    made: _Encoded = encode(keys, valid)
    return made if valid is None else made.where(valid)


def _encoder_of(kind: pa.DataType) -> Any:
    types = pa.types
    if types.is_integer(kind) or types.is_boolean(kind):
        return _integers
    if types.is_floating(kind):
        return _floats
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return _strings
    if (
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_binary_view(kind)
    ):
        return _bytes
    return None


def _integers(keys: pa.Array, valid: Mask | None) -> _Encoded:
    wide = pa.uint64() if pa.types.is_uint64(keys.type) else pa.int64()
    return _whole_numbers(_numpy(keys, wide))


def _whole_numbers(numbers: npt.NDArray[Any]) -> _Encoded:
    """Encode integers."""

    def lengths() -> Lengths:
        negative = numbers < 0
        sizes = (np.abs(numbers) if negative.any() else numbers).view(np.uint64)
        return _digits(sizes) + 1 + negative

    return _Encoded(crcs_of_whole_numbers(numbers), lengths)


def _digits(sizes: npt.NDArray[np.uint64]) -> Lengths:
    limits = np.array([16**digits for digits in range(1, 16)], np.uint64)
    return np.searchsorted(limits, sizes, side="right") + 1


def _floats(keys: pa.Array, valid: Mask | None) -> _Encoded:
    """Encode floats: those without a fraction as integers, others as "f" and their eight bytes."""
    numbers = _numpy(keys, pa.float64())
    whole = np.floor(numbers) == numbers
    fits = whole & (np.abs(numbers) < _INT_LIMIT)
    if fits.all():
        return _whole_numbers(numbers.astype(np.int64))
    # there are many NaN by their bits
    bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
    crcs = np.full(numbers.size, zlib.crc32(b"f" + bytes(8)), _U32)
    for following in range(8):
        byte = (bits >> np.uint64(8 * following)).astype(np.uint8)
        crcs ^= byte_table(following).take(byte)
    integers = _whole_numbers(np.where(fits, numbers, 0).astype(np.int64))
    crcs[fits] = integers.crcs[fits]
    big = np.flatnonzero(whole & ~fits & ~np.isinf(numbers))
    exact = _one_by_one([canonical(key) for key in numbers[big].tolist()])
    crcs[big] = exact.crcs

    def lengths() -> Lengths:
        made = np.where(fits, integers.lengths(), 9)
        made[big] = exact.lengths()
        return made

    return _Encoded(crcs, lengths)


def _strings(keys: pa.Array, valid: Mask | None) -> _Encoded:
    return _bytes_of(keys.cast(pa.large_string()), b"s")


def _bytes(keys: pa.Array, valid: Mask | None) -> _Encoded:
    if pa.types.is_fixed_size_binary(keys.type):
        keys = keys.cast(pa.binary())
    return _bytes_of(keys.cast(pa.large_binary()), b"b")


def _bytes_of(keys: pa.Array, head: bytes) -> _Encoded:
    """Encode large strings or binaries: ``head``, followed by the bytes of the value."""
    _, offsets_buffer, data = keys.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64, len(keys) + 1, 8 * keys.offset)
    raw = np.frombuffer(data or b"", np.uint8)
    starts, lengths = offsets[:-1], np.diff(offsets)
    crcs = np.empty(len(keys), _U32)
    for length, rows in _by_length(np.minimum(lengths, _MAX_BYTES_BY_TABLE + 1)):
        if length > _MAX_BYTES_BY_TABLE:
            long = [raw.data[s : s + n] for s, n in zip(starts[rows], lengths[rows], strict=True)]
            crcs[rows] = _one_by_one([head + piece for piece in long]).crcs
        else:
            constant = _U32(zlib.crc32(head + bytes(length)))
            crcs[rows] = _contributions(raw, starts[rows], length) ^ constant
    return _Encoded(crcs, lambda: lengths + 1)


def _contributions(raw: npt.NDArray[np.uint8], starts: Lengths, length: int) -> Crcs:
    """XOR of the contributions of ``length`` bytes from each start to the CRC (see
    `crc_tables`)."""
    crcs, position = np.zeros(starts.size, _U32), 0
    if 1 < length <= _MAX_BYTES_BY_PAIRS and starts[-1] - starts[0] == (starts.size - 1) * length:
        # side by side, as they come and are of one length
        rows = raw[int(starts[0]) : int(starts[-1]) + length].reshape(-1, length)
        for position in range(0, length - 1, 2):
            pair = rows[:, position] | rows[:, position + 1].astype(np.uint16) << 8
            crcs ^= pair_table(length - 2 - position).take(pair)
        return crcs ^ byte_table(0).take(rows[:, -1]) if length % 2 else crcs
    if 1 < length <= _MAX_BYTES_BY_PAIRS:
        pairs = np.ndarray((raw.size - 1,), "<u2", raw, 0, (1,))
        while position + 1 < length:
            crcs ^= pair_table(length - 2 - position).take(pairs.take(starts + position))
            position += 2
    while position < length:
        crcs ^= byte_table(length - 1 - position).take(raw.take(starts + position))
        position += 1
    return crcs


def _dictionary(keys: pa.DictionaryArray) -> _Encoded:
    """Encode a dictionary column: each entry of the dictionary that occurs is encoded once."""
    valid = None
    indices = keys.indices
    if indices.null_count:
        valid = pc.is_valid(indices).to_numpy(zero_copy_only=False)
    positions = _numpy(indices, pa.int64())
    entries = len(keys.dictionary)
    if not entries:
        return _constant(canonical(None), len(keys))
    used = np.zeros(entries, np.bool_)
    used[positions if valid is None else positions[valid]] = True
    if not used.any():
        return _constant(canonical(None), len(keys))
    dictionary = keys.dictionary
    if pa.types.is_string_view(dictionary.type):  # Arrow cannot filter views
        dictionary = dictionary.cast(pa.large_string())
    elif pa.types.is_binary_view(dictionary.type):
        dictionary = dictionary.cast(pa.large_binary())
    dictionary = dictionary.filter(pa.array(used))
    rows = np.maximum(np.cumsum(used) - 1, 0).take(positions)
    encoded = _encoded(dictionary).take(rows)
    return encoded if valid is None else encoded.where(valid)


def _distinct(keys: pa.Array) -> _Encoded:
    """Encode each distinct value as the Python object that a record would have."""
    try:
        encoded = keys.dictionary_encode()
    except pa.ArrowException:  # Arrow cannot find the distinct values of all types
        return _one_by_one([canonical(key) for key in keys.to_pylist()])
    made = _one_by_one([canonical(key) for key in encoded.dictionary.to_pylist()])
    valid = None
    if encoded.indices.null_count:
        valid = pc.is_valid(encoded.indices).to_numpy(zero_copy_only=False)
    if not len(encoded.dictionary):
        return _constant(canonical(None), len(keys))
    of_rows = made.take(_numpy(encoded.indices, pa.int64()))
    return of_rows if valid is None else of_rows.where(valid)


def _tuples(parts: tuple[KeyColumns, ...]) -> _Encoded:
    """Encode tuples: "t", then for each element its length in four bytes and its encoding."""
    columns = [_encoded(part) for part in parts]
    crcs = np.zeros(columns[0].crcs.size, _U32)
    behind: Lengths = np.zeros(crcs.size, np.int64)
    for column in reversed(columns):
        lengths = column.lengths()
        for following, rows in _by_length(behind):
            crcs[rows] ^= shifted(column.crcs[rows], following)
        behind = behind + lengths
        for following, rows in _by_length(behind):
            crcs[rows] ^= _four_bytes(lengths[rows], following)
        behind += 4
    for following, rows in _by_length(behind):
        crcs[rows] ^= shifted(np.full(1, zlib.crc32(b"t"), _U32), following)
    return _Encoded(crcs, lambda: behind + 1)


def _four_bytes(numbers: Lengths, following: int) -> Crcs:
    """Contributions to the CRC of numbers that are encoded in four bytes, with ``following``
    bytes after them."""
    if int(numbers.max(initial=0)) < _MAX_COUNTED_LENGTH:
        several = np.arange(int(numbers.max(initial=0)) + 1)
        return _four_bytes_each(several, following).take(numbers)
    return _four_bytes_each(numbers, following)


def _four_bytes_each(numbers: Lengths, following: int) -> Crcs:
    crcs = np.full(numbers.size, zlib.crc32(bytes(4)), _U32)
    for place in range(4):
        crcs ^= byte_table(place).take((numbers >> (8 * place)) & 255)
    return shifted(crcs, following)


def _numpy(array: pa.Array, kind: pa.DataType) -> npt.NDArray[Any]:
    """Values as a NumPy array of a type; null becomes 0 or False."""
    if array.null_count:
        array = pc.fill_null(array, False if pa.types.is_boolean(array.type) else 0)
    values: npt.NDArray[Any] = array.cast(kind).to_numpy(zero_copy_only=False)
    return values


def _by_length(lengths: Lengths) -> list[tuple[int, Any]]:
    """Pairs of a length and a NumPy index of the rows that have it."""
    if not lengths.size:
        return []
    longest = int(lengths.max())
    if longest == lengths.min():
        return [(longest, slice(None))]
    distinct_lengths = (
        np.flatnonzero(np.bincount(lengths))
        if longest < _MAX_COUNTED_LENGTH
        else np.unique(lengths)
    )
    return [(int(length), np.flatnonzero(lengths == length)) for length in distinct_lengths]
