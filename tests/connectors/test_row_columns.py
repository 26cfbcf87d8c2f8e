"""Values of rows as drivers give them, in columns of a declared type."""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa
import pytest

from millrace.connectors.errors import ConnectorError
from millrace.connectors.row_columns import as_columns

TEXT = pa.schema([("t", pa.string())])


class Subtype(bytes):
    """As BSON's binary values are."""


@pytest.mark.parametrize("neighbours", [(), ("plain",), (7,), (None,), ({"a": 1},)])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, Subtype])
def test_bytes_in_a_text_column_are_utf_8_whatever_is_beside_them(
    kind: Any, neighbours: tuple[Any, ...]
) -> None:
    rows = [(kind("h\u00e9".encode()),), *((each,) for each in neighbours)]
    assert as_columns(rows, TEXT, ConnectorError).column(0)[0].as_py() == "h\u00e9"
    rows = [(kind(b"\xff"),), *((each,) for each in neighbours)]
    with pytest.raises(ConnectorError, match="column 't' has values that are not of the type"):
        as_columns(rows, TEXT, ConnectorError)


def test_what_is_no_text_becomes_one() -> None:
    rows = [(uuid.UUID(int=5),), (1,), ({"a": [1]},), (None,)]
    found = as_columns(rows, TEXT, ConnectorError).column(0).to_pylist()
    assert found == [str(uuid.UUID(int=5)), "1", '{"a": [1]}', None]
