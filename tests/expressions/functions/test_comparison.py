"""Comparisons of rows, maps and bytes."""

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing import run_local


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MAP['a', 1, 'b', 2] = MAP['b', 2, 'a', 1]", True),
        ("MAP['a', 1] = MAP['a', 2]", False),
        ("MAP['a', 1, 'b', 2] IS DISTINCT FROM MAP['b', 2, 'a', 1]", False),
        ("ROW(1, CAST(NULL AS INT)) = ROW(1, 2)", None),
        ("ROW(1, CAST(NULL AS INT)) = ROW(2, 2)", False),
        ("(1, CAST(NULL AS INT)) IN ((2, 2), (1, 2))", None),
        ("ROW(1, CAST(NULL AS INT)) <> ROW(2, 2)", True),
        ("X'' < X'00'", True),
        ("X'01' = X'0100'", False),
        ("CASE 3 WHEN 1, 2 THEN 'few' WHEN 3, 4 THEN 'some' END", "some"),
    ],
)
def test_value_of_a_comparison(expression: str, expected: object) -> None:
    with run_local():
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        rows = list(t_env.execute_sql(f"SELECT {expression}").collect())
        assert [row[0] for row in rows] == [expected]
