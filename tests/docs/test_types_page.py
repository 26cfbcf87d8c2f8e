"""The table of types on its page is what the code says."""

from __future__ import annotations

import doctest
import enum
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from uuid import UUID

import pytest

from millrace.common import Types
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.logical.spark_type import spark_ddl

PAGE = Path(__file__).parents[2] / "docs" / "types.md"


class Color(enum.Enum):
    RED = 1


@dataclass
class Point:
    x: int


NAMES = {
    **{name: getattr(Types, name) for name in dir(Types) if name.isupper() or name == "of"},
    **{"Color": Color, "Point": Point, "UUID": UUID, "Fraction": Fraction},
    **{"datetime": datetime, "timedelta": timedelta},
}
LINES = [
    [cell.strip().strip("`").strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if re.match(r"\| `[A-Za-z_]+\(", line)
]


@pytest.mark.parametrize("line", LINES, ids=[line[0] for line in LINES])
def test_each_line_of_the_table_is_true(line: list[str]) -> None:
    made, _, flink, arrow, spark = line
    info = eval(made, NAMES)
    flink = flink.replace("'Point'", f"'{Point.__qualname__}'")
    assert str(info.logical_type) == flink
    assert parse_type(flink) == info.logical_type
    assert str(arrow_type(info.logical_type)) == arrow.rstrip()
    assert spark_ddl(info.logical_type) == spark.rstrip("| `")


def test_all_of_types_is_in_the_table() -> None:
    shown = {re.match(r"\w+", line[0])[0] for line in LINES}  # type: ignore[index]
    assert {name for name in NAMES if name.isupper()} - shown - {"UUID"} == {
        "ROW",
        "BASIC_ARRAY",
        "OBJECT_ARRAY",
        "SERIALIZED",
    }


def test_the_examples_of_the_page_are_true() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert tried >= 4
