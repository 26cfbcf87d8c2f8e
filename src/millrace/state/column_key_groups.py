"""Key groups of whole Arrow columns: what `key_groups` has for the keys one by one, bit for bit.

A key's hash is the CRC-32 of its canonical encoding. CRC is linear: apart from a constant for the
length, it is the XOR of what each byte contributes given how many follow, so tables of
contributions make it for all the rows at once. Whole numbers, floats, booleans, texts and bytes are
done so, and tuples of columns; of other types each distinct value is encoded as a Python object.
"""

from __future__ import annotations

import zlib
from functools import lru_cache, reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import KeyTypeError
from millrace.state.key_groups import canonical, subtask_of

Registers = npt.NDArray[np.uint32]
"""What CRC's shift register has taken in of each row, having begun at 0."""
KeyColumns: TypeAlias = "pa.Array | tuple[KeyColumns, ...]"
"""The keys of a batch: a column, or the columns that make tuples."""

_U32 = np.uint32
_LONGEST_TABLES = 128
"""Texts with more bytes than that are hashed one by one."""
_LONGEST_PAIRS = 32
"""Up to that many bytes a text is taken two bytes at a time: tables of pairs are 256 KB each."""
_CHUNK = 65_536
_SHORT = 4096
_INT_LIMIT = 2.0**63


def owners_of_columns(keys: KeyColumns, parallelism: int, max_parallelism: int) -> npt.NDArray[Any]:
    """The subtask that owns each row's key.

    Raises:
        KeyTypeError: a key has no stable encoding.
    """
    groups = range(max_parallelism)
    owners = [subtask_of(group, parallelism, max_parallelism) for group in groups]
    # the smaller the numbers, the faster they are sorted
    table = np.array(owners, np.uint8 if parallelism <= 256 else np.uint16)
    return table.take(key_groups_of_columns(keys, max_parallelism))


def key_groups_of_columns(keys: KeyColumns, max_parallelism: int) -> npt.NDArray[np.intp]:
    """The key group of each row's key.

    Raises:
        KeyTypeError: a key has no stable encoding.
    """
    mixed = _encoded(keys).crc()
    mixed ^= mixed >> _U32(16)
    mixed *= _U32(0x85EBCA6B)
    mixed ^= mixed >> _U32(13)
    mixed *= _U32(0xC2B2AE35)
    mixed ^= mixed >> _U32(16)
    return (mixed % _U32(max_parallelism)).astype(np.intp)


class _Encoded(NamedTuple):
    """The canonical encodings of a column, as far as CRC needs to know them."""

    registers: Registers
    lengths: npt.NDArray[np.int64]

    def crc(self) -> Registers:
        """`zlib.crc32` of each."""
        return self.registers ^ _crcs_of_zeros(self.lengths)

    def followed_by(self, other: _Encoded) -> _Encoded:
        """Row by row one behind the other."""
        registers = self.registers.copy()
        for length, rows in _by_length(other.lengths):
            registers[rows] = _shifted(registers[rows], length)
        return _Encoded(registers ^ other.registers, self.lengths + other.lengths)

    def where(self, valid: npt.NDArray[np.bool_]) -> _Encoded:
        """These, and the encoding of None where a row is not valid."""
        none = _same(canonical(None), 1)
        registers = np.where(valid, self.registers, none.registers)
        return _Encoded(registers, np.where(valid, self.lengths, none.lengths))


def _same(data: bytes, count: int) -> _Encoded:
    register = zlib.crc32(data) ^ zlib.crc32(bytes(len(data)))
    return _Encoded(np.full(count, register, _U32), np.full(count, len(data), np.int64))


def _one_by_one(encodings: list[bytes]) -> _Encoded:
    lengths = np.fromiter(map(len, encodings), np.int64, len(encodings))
    crcs = np.fromiter(map(zlib.crc32, encodings), _U32, len(encodings))
    return _Encoded(crcs ^ _crcs_of_zeros(lengths), lengths)


# -- columns by type ---------------------------------------------------------------------------


def _encoded(keys: KeyColumns) -> _Encoded:
    if isinstance(keys, tuple):
        return _tuples(keys)
    if hasattr(keys, "num_chunks"):
        keys = pa.concat_arrays(keys.chunks) if keys.num_chunks else pa.array([], keys.type)
    kind, types = keys.type, pa.types
    if types.is_null(kind):
        return _same(canonical(None), len(keys))
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
        return _texts
    if (
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_binary_view(kind)
    ):
        return _bytes
    return None


def _integers(keys: pa.Array, valid: npt.NDArray[np.bool_] | None) -> _Encoded:
    wide = pa.uint64() if pa.types.is_uint64(keys.type) else pa.int64()
    return _whole_numbers(_numpy(keys, wide))


def _whole_numbers(numbers: npt.NDArray[Any]) -> _Encoded:
    """ "i", "-" if negative, and hexadecimal digits."""
    negative = numbers < 0
    sizes = (np.abs(numbers) if negative.any() else numbers).view(np.uint64)
    limits = np.array([16**digits for digits in range(1, 16)], np.uint64)
    digits = np.searchsorted(limits, sizes, side="right") + 1
    registers = np.empty(sizes.size, _U32)
    for group, rows in _by_length(digits * 2 + negative):
        count, minus = divmod(group, 2)
        head = b"i-" if minus else b"i"
        made = _same(head + bytes(count), 1).registers
        registers[rows] = made ^ _hexadecimal(sizes[rows], count)
    return _Encoded(registers, digits + 1 + negative)


def _hexadecimal(sizes: npt.NDArray[np.uint64], digits: int) -> Registers:
    chunk = np.uint64(0xFFFF)
    registers = np.zeros(sizes.size, _U32)
    for low in range(0, digits, 4):
        four = ((sizes >> np.uint64(4 * low)) & chunk).astype(np.intp)
        registers ^= _hexadecimal_table(low, min(4, digits - low)).take(four)
    return registers


def _floats(keys: pa.Array, valid: npt.NDArray[np.bool_] | None) -> _Encoded:
    """Those without a fraction as whole numbers, others as "f" and their eight bytes."""
    numbers = _numpy(keys, pa.float64())
    nan = np.isnan(numbers)
    if nan.any() and (valid is None or (nan & valid).any()):
        raise KeyTypeError("NaN cannot be a key: it is not equal to itself")
    whole = np.floor(numbers) == numbers
    fits = whole & (np.abs(numbers) < _INT_LIMIT)
    if fits.all():
        return _whole_numbers(numbers.astype(np.int64))
    bits = numbers.view(np.uint64)
    registers = np.full(numbers.size, _same(b"f" + bytes(8), 1).registers[0], _U32)
    for following in range(8):
        byte = (bits >> np.uint64(8 * following)).astype(np.uint8)
        registers ^= _byte_table(following).take(byte)
    lengths = np.full(numbers.size, 9, np.int64)
    found = _whole_numbers(np.where(fits, numbers, 0).astype(np.int64))
    registers[fits], lengths[fits] = found.registers[fits], found.lengths[fits]
    big = np.flatnonzero(whole & ~fits & ~np.isinf(numbers))
    if big.size:
        exact = _one_by_one([canonical(key) for key in numbers[big].tolist()])
        registers[big], lengths[big] = exact
    return _Encoded(registers, lengths)


def _texts(keys: pa.Array, valid: npt.NDArray[np.bool_] | None) -> _Encoded:
    return _strings(keys.cast(pa.large_string()), b"s")


def _bytes(keys: pa.Array, valid: npt.NDArray[np.bool_] | None) -> _Encoded:
    if pa.types.is_fixed_size_binary(keys.type):
        keys = keys.cast(pa.binary())
    return _strings(keys.cast(pa.large_binary()), b"b")


def _strings(keys: pa.Array, head: bytes) -> _Encoded:
    """Of large strings: ``head`` and their bytes."""
    _, offsets_buffer, data = keys.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64, len(keys) + 1, 8 * keys.offset)
    raw = np.frombuffer(data or b"", np.uint8)
    starts, lengths = offsets[:-1], np.diff(offsets)
    registers = np.empty(len(keys), _U32)
    for length, rows in _by_length(np.minimum(lengths, _LONGEST_TABLES + 1)):
        if length > _LONGEST_TABLES:
            long = [raw.data[s : s + n] for s, n in zip(starts[rows], lengths[rows], strict=True)]
            registers[rows] = _one_by_one([head + piece for piece in long]).registers
        else:
            made = _same(head + bytes(length), 1).registers
            registers[rows] = made ^ _absorbed(raw, starts[rows], length)
    return _Encoded(registers, lengths + 1)


def _absorbed(raw: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], length: int) -> Registers:
    """What ``length`` bytes from each start contribute."""
    registers, position = np.zeros(starts.size, _U32), 0
    if 1 < length <= _LONGEST_PAIRS:
        pairs = np.ndarray((raw.size - 1,), "<u2", raw, 0, (1,))
        while position + 1 < length:
            table = _pair_table(length - 2 - position)
            registers ^= table.take(pairs.take(starts + position))
            position += 2
    while position < length:
        table = _byte_table(length - 1 - position)
        registers ^= table.take(raw.take(starts + position))
        position += 1
    return registers


def _dictionary(keys: pa.DictionaryArray) -> _Encoded:
    """Each entry of the dictionary that occurs once."""
    valid = None
    indices = keys.indices
    if indices.null_count:
        valid = pc.is_valid(indices).to_numpy(zero_copy_only=False)
    positions = _numpy(indices, pa.int64())
    entries = len(keys.dictionary)
    if not entries:
        return _same(canonical(None), len(keys))
    used = np.zeros(entries, np.bool_)
    used[positions if valid is None else positions[valid]] = True
    if not used.any():
        return _same(canonical(None), len(keys))
    dictionary = keys.dictionary
    if pa.types.is_string_view(dictionary.type):  # Arrow cannot filter views
        dictionary = dictionary.cast(pa.large_string())
    elif pa.types.is_binary_view(dictionary.type):
        dictionary = dictionary.cast(pa.large_binary())
    dictionary = dictionary.filter(pa.array(used))
    rows = np.maximum(np.cumsum(used) - 1, 0).take(positions)
    made = _encoded(dictionary)
    found = _Encoded(made.registers.take(rows), made.lengths.take(rows))
    return found if valid is None else found.where(valid)


def _distinct(keys: pa.Array) -> _Encoded:
    """Encode each distinct value as the Python object that a record would have."""
    try:
        encoded = keys.dictionary_encode()
    except pa.ArrowException:  # a type that Arrow cannot tell the distinct values of
        return _one_by_one([canonical(key) for key in keys.to_pylist()])
    made = _one_by_one([canonical(key) for key in encoded.dictionary.to_pylist()])
    valid = None
    if encoded.indices.null_count:
        valid = pc.is_valid(encoded.indices).to_numpy(zero_copy_only=False)
    if not len(encoded.dictionary):
        return _same(canonical(None), len(keys))
    rows = _numpy(encoded.indices, pa.int64())
    found = _Encoded(made.registers.take(rows), made.lengths.take(rows))
    return found if valid is None else found.where(valid)


def _tuples(parts: tuple[KeyColumns, ...]) -> _Encoded:
    """ "t", and each part behind its length in four bytes."""
    columns = [_encoded(part) for part in parts]
    head = _same(b"t", columns[0].registers.size)
    pieces = (piece for column in columns for piece in (_four_bytes(column.lengths), column))
    return reduce(_Encoded.followed_by, pieces, head)


def _four_bytes(numbers: npt.NDArray[np.int64]) -> _Encoded:
    registers = np.zeros(numbers.size, _U32)
    for following in range(4):
        registers ^= _byte_table(following).take((numbers >> (8 * following)) & 255)
    return _Encoded(registers, np.full(numbers.size, 4, np.int64))


def _numpy(array: pa.Array, kind: pa.DataType) -> npt.NDArray[Any]:
    """The values, anything where they are null."""
    if array.null_count:
        array = pc.fill_null(array, False if pa.types.is_boolean(array.type) else 0)
    values: npt.NDArray[Any] = array.cast(kind).to_numpy(zero_copy_only=False)
    return values


# -- tables --------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _last_byte_table() -> Registers:
    """What a byte contributes when none follows."""
    table = np.arange(256, dtype=_U32)
    for _ in range(8):
        table = np.where(table & 1, (table >> _U32(1)) ^ _U32(0xEDB88320), table >> _U32(1))
    return table.astype(_U32)


@lru_cache(maxsize=512)
def _shift_tables(count: int) -> npt.NDArray[np.uint32]:
    """What each byte of a register has become when ``count`` bytes of zero follow."""
    if count > 1:
        half = _shift_tables(count // 2)
        twice = np.stack([_looked_up(half, row) for row in half])
        return twice if count % 2 == 0 else np.stack([_shifted(row, 1) for row in twice])
    places = [np.arange(256, dtype=_U32) << _U32(8 * place) for place in range(4)]
    last = _last_byte_table()
    return np.stack([(row >> _U32(8)) ^ last[row & _U32(255)] for row in places])


def _looked_up(tables: npt.NDArray[np.uint32], registers: Registers) -> Registers:
    made: Registers = tables[0].take(registers & _U32(255))
    for place in range(1, 4):
        made ^= tables[place].take((registers >> _U32(8 * place)) & _U32(255))
    return made


def _shifted(registers: Registers, count: int) -> Registers:
    """The registers when ``count`` bytes of zero have followed."""
    return _looked_up(_shift_tables(count), registers) if count else registers


@lru_cache(maxsize=256)
def _byte_table(following: int) -> Registers:
    """What a byte contributes when ``following`` bytes come behind it."""
    return _shifted(_last_byte_table(), following)


@lru_cache(maxsize=_LONGEST_PAIRS)
def _pair_table(following: int) -> Registers:
    """What two bytes contribute, by the number they are in little-endian order."""
    first, second = _byte_table(following + 1), _byte_table(following)
    return (first[None, :] ^ second[:, None]).reshape(-1)


@lru_cache(maxsize=64)
def _hexadecimal_table(low: int, digits: int) -> Registers:
    """What a number below 65,536 contributes as ``digits`` digits with ``low`` behind them."""
    numbers, table = np.arange(_CHUNK), np.zeros(_CHUNK, _U32)
    names = np.frombuffer(b"0123456789abcdef", np.uint8)
    for digit in range(digits):
        table ^= _byte_table(low + digit)[names[(numbers >> (4 * digit)) & 15]]
    return table


@lru_cache(maxsize=4096)
def _crc_of_zeros(count: int) -> int:
    return zlib.crc32(bytes(count))


@lru_cache(maxsize=1)
def _short_crcs_of_zeros() -> Registers:
    return np.array([_crc_of_zeros(count) for count in range(_SHORT)], _U32)


def _crcs_of_zeros(lengths: npt.NDArray[np.int64]) -> Registers:
    """What `zlib.crc32` of bytes has more than the registers, for each length."""
    if not lengths.size or lengths.max() < _SHORT:
        return _short_crcs_of_zeros().take(lengths)
    return np.array([_crc_of_zeros(count) for count in lengths.tolist()], _U32)


def _by_length(lengths: npt.NDArray[np.int64]) -> list[tuple[int, Any]]:
    """The rows of each length, as what NumPy takes as an index."""
    if not lengths.size:
        return []
    longest = int(lengths.max())
    if longest == lengths.min():
        return [(longest, slice(None))]
    found = np.flatnonzero(np.bincount(lengths)) if longest < _SHORT else np.unique(lengths)
    return [(int(length), np.flatnonzero(lengths == length)) for length in found]
