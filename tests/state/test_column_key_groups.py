"""Key groups of columns against those of the same keys as Python objects, one by one."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.errors import KeyTypeError
from millrace.state.column_key_groups import key_groups_of_columns, owners_of_columns
from millrace.state.key_groups import key_group_of, owners_of_keys

GROUPS = 32_768
"""As many as there can be: nearly the whole hash is compared."""

LONG = st.integers(-(2**63), 2**63 - 1) | st.integers(-20, 300)
FLOAT = st.one_of(
    st.floats(allow_nan=False),
    st.integers(-(2**70), 2**70).map(float),
    st.sampled_from([0.0, -0.0, 1.0, -1.5, 2.0**63, -(2.0**63), float("inf"), 1e300, 5e-324]),
)
TEXT = st.one_of(st.text(max_size=5), st.text(max_size=200), st.just("x" * 129))
BYTES = st.binary(max_size=5) | st.binary(max_size=200)
TIMES = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))


def _sized(bits: int, signed: bool) -> st.SearchStrategy[int]:
    lowest = -(2 ** (bits - 1)) if signed else 0
    return st.integers(lowest, lowest + 2**bits - 1)


TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    **{f"int{bits}": (getattr(pa, f"int{bits}")(), _sized(bits, True)) for bits in (8, 16, 32)},
    **{f"uint{n}": (getattr(pa, f"uint{n}")(), _sized(n, False)) for n in (8, 16, 32, 64)},
    "int64": (pa.int64(), LONG),
    "bool": (pa.bool_(), st.booleans()),
    "float64": (pa.float64(), FLOAT),
    "float32": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "float16": (pa.float16(), st.floats(width=16, allow_nan=False)),
    "string": (pa.string(), TEXT),
    "large_string": (pa.large_string(), TEXT),
    "string_view": (pa.string_view(), TEXT),
    "binary": (pa.binary(), BYTES),
    "large_binary": (pa.large_binary(), BYTES),
    "binary_view": (pa.binary_view(), BYTES),
    "fixed_size_binary": (pa.binary(3), st.binary(min_size=3, max_size=3)),
    "decimal": (pa.decimal128(20, 4), st.decimals(-999999, 999999, places=4)),
    "decimal256": (pa.decimal256(50, 2), st.decimals(-(10**30), 10**30, places=2)),
    "date32": (pa.date32(), st.dates()),
    "date64": (pa.date64(), st.dates()),
    "time32": (pa.time32("s"), st.times().map(lambda time: time.replace(microsecond=0))),
    "time64": (pa.time64("us"), st.times()),
    "timestamp": (pa.timestamp("us"), TIMES),
    "timestamp with zone": (pa.timestamp("us", "Europe/Berlin"), TIMES),
    "timestamp in ns": (pa.timestamp("ns"), TIMES),
    "duration": (pa.duration("us"), st.timedeltas(dt.timedelta(-99), dt.timedelta(99))),
    "uuid": (pa.uuid(), st.uuids().map(lambda key: key.bytes)),
    "null": (pa.null(), st.none()),
}
ARRANGED = {
    "as it is": lambda array: array,
    "sliced": lambda array: array.slice(1),
    "chunked": lambda array: pa.chunked_array([array.slice(0, 1), array.slice(1)]),
    "dictionary": lambda array: array.dictionary_encode(),
    "sliced dictionary": lambda array: array.dictionary_encode().slice(2),
    "nulls in the dictionary": lambda array: array.dictionary_encode("encode"),
}


def one_by_one(keys: list[Any]) -> list[int]:
    return [key_group_of(key, GROUPS) for key in keys]


def _array(data: st.DataObject, name: str, size: int | None = None) -> pa.Array:
    kind, values = TYPES[name]
    nulls = data.draw(st.booleans())
    drawn = values | st.none() if nulls else values
    low, high = (0, 12) if size is None else (size, size)
    found = data.draw(st.lists(drawn, min_size=low, max_size=high))
    if name == "uuid":
        return pa.ExtensionArray.from_storage(kind, pa.array(found, pa.binary(16)))
    return pa.array(found, kind)


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), way=st.sampled_from(sorted(ARRANGED)))
def test_columns_and_objects_have_the_same_key_groups(name, data, way) -> None:
    array = _array(data, name)
    if "dictionary" not in way or name not in ("uuid", "float16"):
        array = ARRANGED[way](array)
    assert key_groups_of_columns(array, GROUPS).tolist() == one_by_one(array.to_pylist())


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_tuples_of_columns(data) -> None:
    size = data.draw(st.integers(0, 6))
    names = data.draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=4))
    columns = [_array(data, name, size) for name in names]
    keys = list(zip(*[column.to_pylist() for column in columns], strict=True))
    assert key_groups_of_columns(tuple(columns), GROUPS).tolist() == one_by_one(keys)
    nested = (columns[0], tuple(columns))
    deep = [(key[0], key) for key in keys]
    assert key_groups_of_columns(nested, GROUPS).tolist() == one_by_one(deep)


@pytest.mark.parametrize("parallelism", [1, 3, 32, 300])
def test_owners(parallelism) -> None:
    keys = list(range(2000))
    found = owners_of_columns(pa.array(keys), parallelism, 1024).tolist()
    assert found == owners_of_keys(keys, parallelism, 1024).tolist()


def test_equal_keys_of_different_types_have_the_same_key_group() -> None:
    arrays = [
        pa.array([1], pa.int8()), pa.array([1], pa.uint64()), pa.array([1.0]), pa.array([True]),
        pa.array([Decimal(1)]),
    ]  # fmt: skip
    assert len({int(key_groups_of_columns(array, GROUPS)[0]) for array in arrays}) == 1


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1.0, float("nan")]),
        pa.array([0.5, float("nan")], pa.float32()),
        pa.array([[1], [2]]),
        pa.array([{"x": 1}]),
        pa.array([1.0, float("nan")]).dictionary_encode(),
    ],
    ids=lambda array: str(array.type),
)
def test_keys_without_a_stable_encoding_are_refused(array) -> None:
    with pytest.raises(KeyTypeError):
        owners_of_columns(array, 2, GROUPS)
    with pytest.raises(KeyTypeError):
        one_by_one(array.to_pylist())


def test_only_entries_of_a_dictionary_that_occur_are_keys() -> None:
    dictionary = pa.array([1.0, float("nan"), 2.5])
    array = pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 0]), dictionary)
    assert key_groups_of_columns(array, GROUPS).tolist() == one_by_one([1.0, 2.5, None, 1.0])
    owners_of_columns(array, 2, GROUPS)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.float16()], ids=str)
def test_where_nan_is_a_key_all_nan_are_one(kind) -> None:
    nan = np.array([np.nan, -np.nan, 1.5, np.nan])
    array = pa.array(nan.astype(kind.to_pandas_dtype()), kind)
    assert array.null_count == 0
    one, other, _, third = key_groups_of_columns(array, GROUPS).tolist()
    assert one == other == third
    pairs = (array, pa.array(["a"] * 4))
    found = owners_of_columns(pairs, GROUPS, GROUPS, sql_keys=True).tolist()
    assert found[0] == found[1] == found[3]
    with pytest.raises(KeyTypeError, match="NaN"):
        owners_of_columns(pairs, GROUPS, GROUPS)


def test_nan_where_a_value_is_missing_is_no_key() -> None:
    array = pa.Array.from_buffers(
        pa.float64(), 2, [pa.py_buffer(b"\x01"), pa.array([1.0, float("nan")]).buffers()[1]]
    )
    assert key_groups_of_columns(array, GROUPS).tolist() == one_by_one([1.0, None])
    owners_of_columns(array, 2, GROUPS)


def test_uuids_are_keys_like_those_of_python() -> None:
    key = uuid.UUID(int=7)
    array = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([key.bytes], pa.binary(16)))
    assert key_groups_of_columns(array, GROUPS).tolist() == one_by_one([key])
