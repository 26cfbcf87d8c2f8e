"""Columns: every type comes back from Arrow as it was, and what does not fit does not go in."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from type_samples import SAMPLES

from millrace.common.types.plain_data import to_plain
from millrace.common.types.typeinfo import Types
from millrace.state.canonical.columns import column_of, merge_by_fit, schema_of_values, split_by_fit
from millrace.state.serialization.schema import ANY

PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
    | st.tuples(st.integers(), st.text()) | st.lists(st.integers()) | st.sets(st.integers())
    | st.dictionaries(st.text(), st.integers())
)  # fmt: skip
SCHEMAS = [
    "BIGINT", "DOUBLE", "STRING", "BYTES", "BOOLEAN", "DATE", "TINYINT", "FLOAT", "TIME(3)",
    "TIMESTAMP(6) WITH TIME ZONE", "INTERVAL DAY TO SECOND", "TIMESTAMP_LTZ(9)", "DECIMAL(38, 0)",
    "NULL", "INTERVAL YEAR TO MONTH", "MULTISET<INT>", ANY,
    "STRUCTURED<'python:no class', `$` INT>",
    "STRUCTURED<'python:enum Color', `$` STRING, `RED` NULL>", "ARRAY<BIGINT>", "ARRAY<TIME(6)>",
    "MAP<STRING, BIGINT>", "ARRAY<MAP<STRING, ARRAY<TIMESTAMP(6) WITH TIME ZONE>>>",
    "ROW<a BIGINT>", "ROW<>", "STRUCTURED<'P', x BIGINT>", "RAW('P', 'version 2')",
    *(Types.of(hint).schema() for hint in (set[int], UUID, tuple[int, str], tuple[int, ...])),
    Types.ROW([Types.LONG()]).schema(),
]  # fmt: skip


PAIR = Types.TUPLE([Types.LONG(), Types.STRING()]).schema()


def there_and_back(schema: Any, values: list[Any]) -> list[Any]:
    """Through a record batch of which a part is read, as Parquet gives them."""
    column = column_of(schema)
    arrays = split_by_fit(column, [None, *values, None])
    assert arrays[0].type == column.arrow
    batch = pa.record_batch(arrays, names=["a", "b"]).slice(1, len(values))
    return merge_by_fit(column, batch.column(0), batch.column(1), True)


def exactly(values: list[Any]) -> list[Any]:
    return [(type(value), repr(value)) for value in values]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@settings(max_examples=40)
@given(values=st.lists(PLAIN, max_size=6))
def test_whatever_is_in_a_column_comes_back(schema: Any, values: list[Any]) -> None:
    """Whether or not it is of the column's type."""
    found = there_and_back(schema, values)
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=20)
@given(data=st.data())
def test_declared_types(name: str, data: st.DataObject) -> None:
    """The plain form of every type of `Types.of`."""
    hint, values = SAMPLES[name]
    type_info = Types.of(hint)
    convert = to_plain(type_info) or (lambda value: value)
    plain = [convert(value) for value in data.draw(st.lists(values | st.none(), max_size=5))]
    found = there_and_back(type_info.schema(), plain)
    assert found == plain
    if name not in ("set", "frozenset", "dataclass"):  # elements of sets have no order
        assert exactly(found) == exactly(plain)


@given(st.lists(st.lists(PLAIN, max_size=4)))
def test_types_that_nobody_declared(batches: list[list[Any]]) -> None:
    """Are those of the first values; later ones of other types come back, too."""
    schema = schema_of_values(batches[0] if batches else [])
    for values in batches:
        assert there_and_back(schema, values) == values


def test_inferred_schemas() -> None:
    """Only of values that have one type in common."""
    assert schema_of_values([1, None, 2]) == "BIGINT"
    assert schema_of_values([True, 1]) == ANY
    assert schema_of_values([(1, "a"), (2, None)]) == PAIR
    assert schema_of_values([(1,), (1, 2)]) == ANY
    assert schema_of_values([]) == ANY
    nested: Any = 1
    for _ in range(100):
        nested = (nested,)
    assert ANY in (schema_of_values([nested]))


def test_fitting_values_are_typed() -> None:
    """Nothing of them is untyped, also deep inside."""
    fitting, rest = split_by_fit(column_of(f"ARRAY<{PAIR}>"), [[(1, "a")], None])
    assert rest.null_count == 2
    assert fitting.to_pylist() == [[{"f0": 1, "f1": "a"}], None]


def test_types_are_not_nested_without_end() -> None:
    """A manifest may say anything."""
    schema = "BIGINT"
    for _ in range(70):
        schema = f"ARRAY<{schema}>"
    with pytest.raises(ValueError, match="nested in more than 64"):
        column_of(schema)
