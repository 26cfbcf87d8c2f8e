from __future__ import annotations

import pytest

from millrace.common.types.logical.parser import parse_type
from millrace.common.types.logical.spark_type import spark_ddl


@pytest.mark.parametrize(
    ("text", "ddl"),
    [
        ("NULL", "void"),
        ("TINYINT NOT NULL", "tinyint"),
        ("CHAR(3)", "string"),
        ("BYTES", "binary"),
        ("DECIMAL(10, 2)", "decimal(10,2)"),
        ("TIME(3)", "string"),
        ("TIMESTAMP(3)", "timestamp_ntz"),
        ("TIMESTAMP_LTZ(3)", "timestamp"),
        ("TIMESTAMP(3) WITH TIME ZONE", "string"),
        ("INTERVAL YEAR TO MONTH", "interval year to month"),
        ("INTERVAL DAY(3) TO SECOND(3)", "interval day to second"),
        ("MAP<STRING, ARRAY<INT>>", "map<string, array<int>>"),
        ("MULTISET<INT>", "map<int, int>"),
        ("ROW<`a b` INT NOT NULL>", "struct<`a b`: int not null>"),
        ("RAW('a', 'b')", "binary"),
    ],
)
def test_spark_ddl(text: str, ddl: str) -> None:
    assert spark_ddl(parse_type(text)) == ddl
