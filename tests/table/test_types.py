"""Types under PyFlink's names, intervals among them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millrace.common.errors import MillraceError
from millrace.table import DataTypes
from millrace.table import types as t


@pytest.mark.parametrize(
    ("interval", "written"),
    [
        (DataTypes.INTERVAL(DataTypes.DAY(2), DataTypes.SECOND(3)), "INTERVAL DAY(2) TO SECOND(3)"),
        (DataTypes.INTERVAL(DataTypes.YEAR(), DataTypes.MONTH()), "INTERVAL YEAR(2) TO MONTH"),
        (DataTypes.INTERVAL(DataTypes.MONTH()), "INTERVAL MONTH"),
        (DataTypes.INTERVAL(DataTypes.HOUR(), DataTypes.MINUTE()), "INTERVAL HOUR TO MINUTE"),
    ],
)
def test_intervals(interval: t.DataType, written: str) -> None:
    assert str(interval) == written


def test_units_in_the_wrong_order() -> None:
    with pytest.raises(MillraceError):
        DataTypes.INTERVAL(DataTypes.SECOND(), DataTypes.DAY())


def test_kinds_of_numbers() -> None:
    assert isinstance(DataTypes.INT(), t.IntegralType)
    assert isinstance(DataTypes.DOUBLE(), t.FractionalType)
    assert isinstance(DataTypes.DECIMAL(3, 1), t.NumericType)
    assert not isinstance(DataTypes.STRING(), t.NumericType)
    atoms = [DataTypes.STRING(), DataTypes.TIME(), DataTypes.DECIMAL(3, 1), DataTypes.BOOLEAN()]
    assert all(isinstance(each, t.AtomicType) for each in atoms)
    assert not isinstance(DataTypes.ROW([DataTypes.FIELD("a", "INT")]), t.AtomicType)


def test_arrow_there_and_back() -> None:
    names, kinds = ["a", "b"], [DataTypes.BIGINT().not_null(), DataTypes.ARRAY(DataTypes.STRING())]
    schema = t.create_arrow_schema(names, kinds)
    assert schema.field("a") == pa.field("a", pa.int64(), nullable=False)
    found = [t.from_arrow_type(field.type, field.nullable) for field in schema]
    assert found == kinds
    with pytest.raises(MillraceError):
        t.from_arrow_type(pa.run_end_encoded(pa.int32(), pa.int8()))
