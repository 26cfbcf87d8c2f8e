"""Schemas are made column by column, and refuse names that do not fit together."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.table import DataTypes, FormatDescriptor, Schema, TableDescriptor


def test_a_schema_prints_as_sql() -> None:
    schema = (
        Schema.new_builder()
        .column("id", DataTypes.BIGINT().not_null())
        .with_comment("who's")
        .column_by_expression("twice", "id * 2")
        .column_by_metadata("offset", "BIGINT", "kafka-offset", True)
        .primary_key_named("pk", "id")
        .build()
    )
    assert str(schema).splitlines() == [
        "(",
        "  `id` BIGINT NOT NULL COMMENT 'who''s',",
        "  `twice` AS id * 2,",
        "  `offset` BIGINT METADATA FROM 'kafka-offset' VIRTUAL,",
        "  CONSTRAINT `pk` PRIMARY KEY (`id`) NOT ENFORCED",
        ")",
    ]


def test_two_columns_of_one_name_are_refused() -> None:
    builder = Schema.new_builder().column("a", "INT").column("a", "INT")
    with pytest.raises(JobDefinitionError, match="two columns have the name 'a'"):
        builder.build()


def test_a_key_of_no_column_is_refused() -> None:
    builder = Schema.new_builder().column("a", "INT").primary_key("b")
    with pytest.raises(JobDefinitionError, match="the primary key names 'b'; the columns are a"):
        builder.build()


def test_formats_put_their_name_before_their_options() -> None:
    made = FormatDescriptor.for_format("csv").option("field-delimiter", ";").build()
    table = TableDescriptor.for_connector("x").format(made).format("json", "key.format").build()
    assert table.options == {
        "connector": "x",
        "format": "csv",
        "csv.field-delimiter": ";",
        "key.format": "json",
    }
