"""Formats of messages by the options of a table."""

from __future__ import annotations

import pytest

from millrace.common.config.config_options import ConfigOption
from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.logical.logical_type import BigIntType, RowType, VarCharType
from millrace.common.types.row import Row
from millrace.table.formats.message_format import ROW_FORMATS, Read

ROW = RowType.of(("id", BigIntType()), ("name", VarCharType()))


def reading(**given: str) -> Read:
    def read(option: ConfigOption[object]) -> object:
        text = given.get(option.key.partition(".")[2].replace("-", "_"))
        return option.default if text is None else option.read(text)

    return read


def test_json_reads_wanted_fields_only() -> None:
    schema = ROW_FORMATS["json"].deserializer(ROW, ["name"], reading())
    assert schema.deserialize(b'{"id": "no number", "name": "a"}').as_dict() == {"name": "a"}


def test_a_missing_field_of_json_is_refused_even_if_nobody_wants_it() -> None:
    read = reading(fail_on_missing_field="true")
    schema = ROW_FORMATS["json"].deserializer(ROW, ["name"], read)
    with pytest.raises(SerializationError, match="field 'id' is missing"):
        schema.deserialize(b'{"name": "a"}')


def test_csv_without_quotes_is_only_written() -> None:
    read = reading(disable_quote_character="true", field_delimiter=";")
    schema = ROW_FORMATS["csv"].serializer(ROW, read)
    assert schema.serialize(Row(1, 'say "a"')) == b'1;say "a"'
    with pytest.raises(JobDefinitionError, match="applies only to writing"):
        ROW_FORMATS["csv"].deserializer(ROW, ROW.names, read)
