"""`DataTypes`: the types of columns, by Flink's names. Flink docs: "Data Types"."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowField
from millrace.common.types.logical.parser import parse_type
from millrace.table.resolution import IntervalUnit, Resolution

__all__ = ["DataTypes", "declared_type"]


def declared_type(kind: LogicalType | str) -> LogicalType:
    """The type that a program declares with `DataTypes`, or as text."""
    return parse_type(kind) if isinstance(kind, str) else kind


class DataTypes:
    """Factory of the types of columns, fields and results.

    Example:
        >>> DataTypes.ROW([DataTypes.FIELD("id", DataTypes.BIGINT().not_null())])
        ROW<`id` BIGINT NOT NULL>
        >>> DataTypes.of("MAP<STRING, DECIMAL(10, 2)>")
        MAP<STRING, DECIMAL(10, 2)>
    """

    @staticmethod
    def of(text: str) -> LogicalType:
        """The type that a text names, as in SQL.

        Raises:
            JobDefinitionError: the text does not name a type.
        """
        return parse_type(text)

    @staticmethod
    def NULL() -> LogicalType:
        """Type of NULL only."""
        return logical.NullType()

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> LogicalType:
        """Text of exactly ``length`` characters."""
        return logical.CharType(length, nullable=nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> LogicalType:
        """Text of at most ``length`` characters."""
        return logical.VarCharType(length, nullable=nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> LogicalType:
        """Text."""
        return logical.VarCharType(nullable=nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> LogicalType:
        """TRUE or FALSE."""
        return logical.BooleanType(nullable=nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> LogicalType:
        """Binary value of exactly ``length`` bytes."""
        return logical.BinaryType(length, nullable=nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> LogicalType:
        """Binary value of at most ``length`` bytes."""
        return logical.VarBinaryType(length, nullable=nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> LogicalType:
        """Bytes."""
        return logical.VarBinaryType(nullable=nullable)

    @staticmethod
    def BITMAP(nullable: bool = True) -> LogicalType:
        """A set of INT, as bytes in the portable format of the Roaring libraries."""
        return logical.BitmapType(nullable=nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> LogicalType:
        """Exact numbers of ``precision`` digits, ``scale`` of them after the point."""
        return logical.DecimalType(precision, scale, nullable=nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> LogicalType:
        """Whole numbers of one byte."""
        return logical.TinyIntType(nullable=nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> LogicalType:
        """Whole numbers of two bytes."""
        return logical.SmallIntType(nullable=nullable)

    @staticmethod
    def INT(nullable: bool = True) -> LogicalType:
        """Whole numbers of four bytes."""
        return logical.IntType(nullable=nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> LogicalType:
        """Whole numbers of eight bytes."""
        return logical.BigIntType(nullable=nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> LogicalType:
        """Numbers of four bytes, IEEE 754."""
        return logical.FloatType(nullable=nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> LogicalType:
        """Numbers of eight bytes, IEEE 754."""
        return logical.DoubleType(nullable=nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> LogicalType:
        """A day of the calendar."""
        return logical.DateType(nullable=nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> LogicalType:
        """A time of day."""
        return logical.TimeType(precision, nullable=nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> LogicalType:
        """A wall-clock time without a zone."""
        return logical.TimestampType(precision, nullable=nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> LogicalType:
        """A point in time, shown in the zone of the session."""
        return logical.LocalZonedTimestampType(precision, nullable=nullable)

    TIMESTAMP_WITH_LOCAL_TIME_ZONE = TIMESTAMP_LTZ

    @staticmethod
    def INTERVAL(
        upper_resolution: Resolution, lower_resolution: Resolution | None = None
    ) -> LogicalType:
        """A span of time: of days and parts of them, or of years and months.

        Raises:
            JobDefinitionError: the two units do not form an interval.

        Example:
            >>> DataTypes.INTERVAL(DataTypes.DAY(2), DataTypes.SECOND(3))
            INTERVAL DAY(2) TO SECOND(3)
        """
        lower = "" if lower_resolution is None else f" TO {lower_resolution}"
        return parse_type(f"INTERVAL {upper_resolution}{lower}")

    @staticmethod
    def YEAR(precision: int = 2) -> Resolution:
        """Years with a number of digits, for `INTERVAL`."""
        return Resolution(IntervalUnit.YEAR, precision)

    @staticmethod
    def MONTH() -> Resolution:
        """Months, for `INTERVAL`."""
        return Resolution(IntervalUnit.MONTH)

    @staticmethod
    def DAY(precision: int = 2) -> Resolution:
        """Days with a number of digits, for `INTERVAL`."""
        return Resolution(IntervalUnit.DAY, precision)

    @staticmethod
    def HOUR() -> Resolution:
        """Hours, for `INTERVAL`."""
        return Resolution(IntervalUnit.HOUR)

    @staticmethod
    def MINUTE() -> Resolution:
        """Minutes, for `INTERVAL`."""
        return Resolution(IntervalUnit.MINUTE)

    @staticmethod
    def SECOND(precision: int = 6) -> Resolution:
        """Seconds with a number of fraction digits, for `INTERVAL`."""
        return Resolution(IntervalUnit.SECOND, precision)

    @staticmethod
    def ARRAY(element_type: LogicalType | str, nullable: bool = True) -> LogicalType:
        """A list of one type."""
        return logical.ArrayType(declared_type(element_type), nullable=nullable)

    @staticmethod
    def LIST_VIEW(element_type: LogicalType | str) -> LogicalType:
        """A list in an accumulator, stored as an array."""
        return logical.ArrayType(declared_type(element_type))

    @staticmethod
    def MAP(
        key_type: LogicalType | str, value_type: LogicalType | str, nullable: bool = True
    ) -> LogicalType:
        """Keys of one type with values of another."""
        return logical.MapType(
            declared_type(key_type), declared_type(value_type), nullable=nullable
        )

    @staticmethod
    def MAP_VIEW(key_type: LogicalType | str, value_type: LogicalType | str) -> LogicalType:
        """A map in an accumulator, stored as a map."""
        return logical.MapType(declared_type(key_type), declared_type(value_type))

    @staticmethod
    def MULTISET(element_type: LogicalType | str, nullable: bool = True) -> LogicalType:
        """Elements, each with the number of its occurrences."""
        return logical.MultisetType(declared_type(element_type), nullable=nullable)

    @staticmethod
    def FIELD(name: str, data_type: LogicalType | str, description: str | None = None) -> RowField:
        """A field of a row."""
        return RowField(name, declared_type(data_type), description)

    @staticmethod
    def ROW(
        row_fields: Sequence[RowField | LogicalType] = (), nullable: bool = True
    ) -> logical.RowType:
        """A row of fields; fields without names are called f0, f1, and so on."""
        fields = (
            field if isinstance(field, RowField) else RowField(f"f{number}", field)
            for number, field in enumerate(row_fields)
        )
        return logical.RowType(tuple(fields), nullable=nullable)
