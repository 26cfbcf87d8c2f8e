"""Printed tables have Flink's widths, and cut what is too wide."""

from __future__ import annotations

import pytest

from millrace.common.types.logical.parser import parse_type
from millrace.table.tableau import column_width, tableau


@pytest.mark.parametrize(
    ("kind", "width"),
    [
        ("INT", 11),
        ("BIGINT", 20),
        ("STRING", 30),
        ("TIMESTAMP(3)", 23),
        ("TIMESTAMP(0)", 19),
        ("DECIMAL(10, 2)", 13),
        ("CHAR(5)", 5),
        ("DATE", 10),
    ],
)
def test_widths_of_types(kind: str, width: int) -> None:
    assert column_width("n", parse_type(kind)) == width


def test_a_name_is_never_cut() -> None:
    assert column_width("a_long_name_of_a_column", parse_type("INT")) == 23


def test_long_values_are_cut_and_wide_signs_count_twice() -> None:
    lines = list(tableau(["v"], [["x" * 40], ["日本"]], [10]))
    assert lines[3] == "| xxxxxxx... |"
    assert lines[4] == "|       日本 |"


def test_no_rows() -> None:
    assert list(tableau(["v"], [])) == ["Empty set"]
