"""Resolved tables: which columns are scanned, and which are written."""

from millrace.common.types.logical.logical_type import BigIntType, TimestampType
from millrace.expressions import registry
from millrace.expressions.resolved import Call, FieldReference
from millrace.planner.catalog_reader import ColumnKind, ResolvedColumn, ResolvedTable

ID = FieldReference(0, BigIntType(), "id")
TABLE = ResolvedTable(
    ("default_catalog", "default_database", "t"),
    (
        ResolvedColumn("id", BigIntType()),
        ResolvedColumn(
            "twice",
            BigIntType(),
            ColumnKind.COMPUTED,
            expression=Call(registry.function("+"), (ID, ID), BigIntType()),
        ),
        ResolvedColumn("ts", TimestampType(3), ColumnKind.METADATA, metadata_key="timestamp"),
        ResolvedColumn("offset", BigIntType(), ColumnKind.METADATA, virtual=True),
    ),
    primary_key=("ts",),
)


def test_computed_columns_are_not_scanned_and_virtual_ones_not_written() -> None:
    assert TABLE.row_type.names == ("id", "twice", "ts", "offset")
    assert TABLE.scan_type.names == ("id", "ts", "offset")
    assert TABLE.sink_type.names == ("id", "ts")


def test_the_primary_key_is_positions_among_all_columns() -> None:
    assert TABLE.key_positions == (2,)
