"""Values that a column could hold although its type says no are refused."""

from __future__ import annotations

import datetime
from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from millrace.common import Row
from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from millrace.table.elements import ElementError
from millrace.table.types import DataType
from millrace.testing import run_local

NAMED = DataTypes.ROW([DataTypes.FIELD("s", DataTypes.VARCHAR(2, False))])


@pytest.fixture
def t_env() -> Iterator[TableEnvironment]:
    """Queries run in this process."""
    with run_local():
        yield TableEnvironment.create(EnvironmentSettings.in_batch_mode())


@pytest.mark.parametrize(
    ("value", "kind", "match"),
    [
        (
            "abc",
            DataTypes.VARCHAR(2),
            r"'abc' is too long .* 'a', which is of type VARCHAR\(2\)",
        ),
        ("ä中x", DataTypes.CHAR(2), "too long"),
        (b"abc", DataTypes.VARBINARY(2), "too long"),
        (
            ["ab", "abc"],
            DataTypes.ARRAY(DataTypes.VARCHAR(2)),
            "too long for an item of the column",
        ),
        (
            ["a", None],
            DataTypes.ARRAY(DataTypes.STRING(False)),
            "None is not allowed for an item of the column",
        ),
        (
            {"k": None},
            DataTypes.MAP(DataTypes.STRING(), DataTypes.INT(False)),
            "None is not allowed for a value of",
        ),
        ({"abc": 1}, DataTypes.MAP(DataTypes.VARCHAR(2), DataTypes.INT()), "too long for a key"),
        (Row("abc"), NAMED, "too long for the field 's' of the column 'a'"),
        ([None, Row("abc")], DataTypes.ARRAY(NAMED), "field 's' of an item of the column 'a'"),
        (946811040, DataTypes.TIMESTAMP(3), "element 2 has the number 946811040"),
        (5, DataTypes.DATE(), "has the number 5 in the column 'a', which is of type DATE"),
        (1.5, DataTypes.INTERVAL(DataTypes.SECOND(3)), "has the number 1.5"),
    ],
)
def test_what_does_not_fit_is_refused(
    t_env: TableEnvironment, value: Any, kind: DataType, match: str
) -> None:
    schema = DataTypes.ROW([DataTypes.FIELD("a", kind)])
    with pytest.raises(ElementError, match=match):
        t_env.from_elements([(None,), (value,)], schema)


def test_what_fits_passes(t_env: TableEnvironment) -> None:
    kinds = [
        DataTypes.VARCHAR(2),
        DataTypes.ARRAY(NAMED),
        DataTypes.MAP(DataTypes.VARCHAR(2), DataTypes.INT()),
        DataTypes.DATE(),
    ]
    schema = DataTypes.ROW([DataTypes.FIELD(f"f{i}", kind) for i, kind in enumerate(kinds)])
    day = datetime.date(2026, 1, 2)
    elements = [("中ä", [Row("ab"), None], {"k": None}, day), (None, None, None, None)]
    rows = [tuple(row) for row in t_env.from_elements(elements, schema).execute().collect()]
    assert rows[1] == (None,) * 4
    assert (rows[0][0], rows[0][2], rows[0][3]) == ("中ä", {"k": None}, day)


class Point(NamedTuple):
    x: float
    y: str


def test_types_of_arrays_and_tuples_within_elements(t_env: TableEnvironment) -> None:
    element = (array("d", [1.0]), array("h", [2]), array("B", [3]), (1, "a"), Point(1.5, "b"))
    table = t_env.from_elements([element])
    assert [str(kind) for kind in table.get_schema().get_field_data_types()] == [
        "ARRAY<DOUBLE NOT NULL>",
        "ARRAY<SMALLINT NOT NULL>",
        "ARRAY<SMALLINT NOT NULL>",
        "ROW<`_1` BIGINT, `_2` STRING>",
        "ROW<`x` DOUBLE, `y` STRING>",
    ]
    [row] = table.execute().collect()
    assert [list(value) for value in row] == [[1.0], [2], [3], [1, "a"], [1.5, "b"]]
