"""Schemas of the columns of tables."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import RowType
from millrace.formats.avro.table_schema import table_schema

NAME = "org.apache.flink.avro.generated.record"


def test_what_may_be_null_is_a_union_and_records_within_have_names_of_their_own() -> None:
    inner = RowType.of(("a", logical.IntType(nullable=False)))
    columns = RowType.of(("id", logical.BigIntType(nullable=False)), ("r", inner))
    assert table_schema(columns).definition == {
        "type": "record",
        "name": NAME,
        "fields": [
            {"name": "id", "type": "long"},
            {
                "name": "r",
                "type": [
                    "null",
                    {
                        "type": "record",
                        "name": f"{NAME}_r",
                        "fields": [{"name": "a", "type": "int"}],
                    },
                ],
                "default": None,
            },
        ],
    }


@pytest.mark.parametrize(
    ("kind", "legacy", "expected"),
    [
        (logical.TimestampType(3), True, "timestamp-millis"),
        (logical.TimestampType(3), False, "local-timestamp-millis"),
        (logical.TimestampType(6), False, "local-timestamp-micros"),
        (logical.LocalZonedTimestampType(3), False, "timestamp-millis"),
        (logical.LocalZonedTimestampType(6), False, "timestamp-micros"),
    ],
)
def test_timestamps_have_the_unit_of_their_digits(
    kind: logical.LogicalType, legacy: bool, expected: str
) -> None:
    [field] = table_schema(RowType.of(("at", kind)), legacy).definition["fields"]
    assert field["type"][1] == {"type": "long", "logicalType": expected}


@pytest.mark.parametrize(
    ("kind", "legacy", "error"),
    [
        (logical.TimestampType(6), True, "column at: .*set 'timestamp_mapping.legacy'"),
        (logical.LocalZonedTimestampType(3), True, "set 'timestamp_mapping.legacy'"),
        (logical.TimestampType(9), False, "6 digits are the most"),
        (logical.TimeType(6), False, "declare TIME"),
        (logical.MapType(logical.IntType(), logical.IntType()), True, "keys of Avro's maps"),
        (logical.MultisetType(logical.IntType()), True, "has no counterpart in Avro"),
    ],
)
def test_what_avro_does_not_hold_is_refused_with_its_column(
    kind: logical.LogicalType, legacy: bool, error: str
) -> None:
    with pytest.raises(JobDefinitionError, match=error):
        table_schema(RowType.of(("at", kind)), legacy)
