"""IN, SOME and ALL with a query, outside of WHERE: all truth values, against a naive model."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from millrace.common.errors import MillraceError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.table_result import materialized
from millrace.testing import run_local

LEFT = (None, 0, 1, 2, 3)
RIGHTS: dict[str, tuple[int | None, ...]] = {
    "some": (1, 2, 2),
    "one": (1,),
    "none": (),
    "nulls": (None, 1, 2),
    "only_nulls": (None,),
}
OPERATORS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
Truth = bool | None


@pytest.fixture(scope="module")
def env() -> Iterator[TableEnvironment]:
    with run_local(2, 1, epoch_records=2):
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        t_env.get_config().set("parallelism.default", "2")
        t_env.execute_sql(f"CREATE TEMPORARY VIEW l AS SELECT * FROM (VALUES {_values(LEFT)}) t(a)")
        for name, values in RIGHTS.items():
            t_env.execute_sql(
                f"CREATE TEMPORARY VIEW {name}_rows AS SELECT * FROM "
                f"(VALUES {_values(values or (1,))}) t(b) WHERE {bool(values)}"
            )
        yield t_env


def _values(values: tuple[int | None, ...]) -> str:
    return ", ".join("CAST(NULL AS INT)" if value is None else str(value) for value in values)


def _any(tests: list[Truth]) -> Truth:
    return True if True in tests else None if None in tests else False


def _not(test: Truth) -> Truth:
    return None if test is None else not test


def _compared(compare: Callable[[int, int], bool], a: Any, b: Any) -> Truth:
    return None if a is None or b is None else compare(a, b)


@pytest.mark.turns(5)
@pytest.mark.parametrize("right", RIGHTS)
def test_quantified_comparisons_are_values(env: TableEnvironment, right: str) -> None:
    columns, expected = ["a"], [list[Any]([a]) for a in LEFT]
    for sign, compare in OPERATORS.items():
        for word in ("SOME", "ALL"):
            columns.append(f"a {sign} {word} (SELECT b FROM {right}_rows)")
            for row, a in zip(expected, LEFT, strict=True):
                tests = [_compared(compare, a, b) for b in RIGHTS[right]]
                row.append(_any(tests) if word == "SOME" else _not(_any(list(map(_not, tests)))))
    for name in ("a IN", "a NOT IN"):
        columns.append(f"{name} (SELECT b FROM {right}_rows)")
        for row, a in zip(expected, LEFT, strict=True):
            found = _any([_compared(operator.eq, a, b) for b in RIGHTS[right]])
            row.append(found if name == "a IN" else _not(found))
    result = env.execute_sql(f"SELECT {', '.join(columns)} FROM l")
    rows = [list(row) for row in materialized(iter(list(result.collect())))]
    assert sorted(rows, key=str) == sorted(expected, key=str)


def test_a_query_in_on_is_asked_of_the_joined_rows(env: TableEnvironment) -> None:
    query = "SELECT a FROM l JOIN some_rows ON a = b AND b IN (SELECT b FROM one_rows)"
    rows = materialized(iter(list(env.execute_sql(query).collect())))
    assert [tuple(row) for row in rows] == [(1,)]
    with pytest.raises(MillraceError, match="ON of an outer join"):
        env.execute_sql(query.replace("JOIN", "LEFT JOIN", 1))
