"""Types of columns and of rows. PyFlink: ``pyflink.table.types``."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.common.types.logical.arrow_type import arrow_schema, arrow_type, logical_type_of
from millrace.common.types.logical.logical_type import (
    ArrayType,
    BigIntType,
    BinaryType,
    BitmapType,
    BooleanType,
    CharType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    FractionalType,
    IntegralType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    NumericType,
    RawType,
    RowField,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
    ZonedTimestampType,
)
from millrace.common.types.logical.logical_type import LogicalType as DataType
from millrace.common.types.row import Row, RowKind
from millrace.missing_modules import explain_missing_names
from millrace.table.data_types import DataTypes
from millrace.table.resolution import Resolution

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "ArrayType",
    "AtomicType",
    "BigIntType",
    "BinaryType",
    "BitmapType",
    "BooleanType",
    "CharType",
    "DataType",
    "DataTypes",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "FractionalType",
    "IntType",
    "IntegralType",
    "ListViewType",
    "LocalZonedTimestampType",
    "MapType",
    "MapViewType",
    "MultisetType",
    "NullType",
    "NumericType",
    "RawType",
    "Resolution",
    "Row",
    "RowField",
    "RowKind",
    "RowType",
    "SmallIntType",
    "TimeType",
    "TimestampType",
    "TinyIntType",
    "VarBinaryType",
    "VarCharType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
    "create_arrow_schema",
    "from_arrow_type",
    "to_arrow_type",
]

ListViewType, MapViewType = ArrayType, MapType
"""Views in accumulators are kept as arrays and maps."""

explain_missing_names(__name__)


class AtomicType(DataType, ABC):
    """Base class of types without inner types: all types except arrays, maps, rows and RAW.

    Example:
        >>> isinstance(DataTypes.INT(), AtomicType)
        True
        >>> isinstance(DataTypes.ARRAY(DataTypes.INT()), AtomicType)
        False
    """

    __slots__ = ()


for _kind in (
    *(NullType, BooleanType, NumericType, CharType, VarCharType, BinaryType, VarBinaryType),
    *(BitmapType, DateType, TimeType, TimestampType, LocalZonedTimestampType, ZonedTimestampType),
    *(YearMonthIntervalType, DayTimeIntervalType),
):
    AtomicType.register(_kind)


def to_arrow_type(data_type: DataType) -> pyarrow.DataType:
    """The Arrow type for a column type.

    Example:
        >>> to_arrow_type(DataTypes.ARRAY(DataTypes.INT()))
        ListType(list<item: int32>)
    """
    return arrow_type(data_type)


def from_arrow_type(arrow_type: pyarrow.DataType, nullable: bool = True) -> DataType:
    """The column type for an Arrow type.

    Raises:
        JobDefinitionError: there is no corresponding type.

    Example:
        >>> import pyarrow as pa
        >>> from_arrow_type(pa.timestamp("ms"), nullable=False)
        TIMESTAMP(3) NOT NULL
    """
    return logical_type_of(arrow_type).with_nullable(nullable)


def create_arrow_schema(
    field_names: Sequence[str], field_types: Sequence[DataType]
) -> pyarrow.Schema:
    """The Arrow schema of a table's columns.

    Example:
        >>> create_arrow_schema(["id"], [DataTypes.BIGINT().not_null()]).field("id")
        pyarrow.Field<id: int64 not null>
    """
    return arrow_schema(RowType.of(*zip(field_names, field_types, strict=True)))
