"""UNNEST beside rows and alone: arrays, maps, multisets, rows, several at once."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.table import DataTypes, TableEnvironment

ELEMENTS = [
    (1, [1, 2], {"a": 1}, [(1, "x"), None], ["p"], {"x": 2, "y": 1}),
    (2, [], {}, [], None, {}),
    (3, None, None, None, ["q", "r", "s"], None),
    (4, [None], {"b": None, "c": 3}, [(2, None)], [], {"z": 1}),
]
KIND = (
    "ROW<id INT, l ARRAY<INT>, m MAP<STRING, INT>, r ARRAY<ROW<n INT, s STRING>>, "
    "t ARRAY<STRING>, w MULTISET<STRING>>"
)


@pytest.fixture
def nested(batch_env: TableEnvironment) -> TableEnvironment:
    table = batch_env.from_elements(ELEMENTS, DataTypes.of(KIND))
    batch_env.create_temporary_view("v", table)
    return batch_env


def rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with t_env.execute_sql(query).collect() as found:
        return [tuple(row) for row in found]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id, e FROM v CROSS JOIN UNNEST(l) AS a (e)", [(1, 1), (1, 2), (4, None)]),
        ("SELECT id, e FROM v, UNNEST(v.l) AS a (e) WHERE e > 1", [(1, 2)]),
        (
            "SELECT id, e FROM v LEFT JOIN UNNEST(l) AS a (e) ON TRUE",
            [(1, 1), (1, 2), (2, None), (3, None), (4, None)],
        ),
        (
            "SELECT id, k, i FROM v CROSS JOIN UNNEST(m) AS a (k, i)",
            [(1, "a", 1), (4, "b", None), (4, "c", 3)],
        ),
        (
            "SELECT id, a.n, a.s FROM v CROSS JOIN UNNEST(r) AS a",
            [(1, 1, "x"), (4, 2, None)],  # a row that is NULL gives none
        ),
        (
            "SELECT id, e, o FROM v CROSS JOIN UNNEST(t) WITH ORDINALITY AS a (e, o)",
            [(1, "p", 1), (3, "q", 1), (3, "r", 2), (3, "s", 3)],
        ),
        (
            "SELECT id, x, y FROM v CROSS JOIN UNNEST(l, t) AS a (x, y)",
            [(1, 1, "p"), (1, 2, None), (3, None, "q"), (3, None, "r"), (3, None, "s"),
             (4, None, None)],
        ),
        ("SELECT * FROM UNNEST(ARRAY[1, 2]) AS a (e)", [(1,), (2,)]),
        (
            "SELECT id, e FROM v JOIN UNNEST(l) AS a (e) ON e = id + 1",
            [(1, 2)],
        ),
        (
            "SELECT id, e, c FROM v CROSS JOIN UNNEST(w) AS a (e) CROSS JOIN (VALUES (7)) AS y (c)",
            [(1, "x", 7), (1, "x", 7), (1, "y", 7), (4, "z", 7)],
        ),
    ],
)  # fmt: skip
def test_unnest(nested: TableEnvironment, query: str, expected: list[Any]) -> None:
    assert sorted(rows(nested, query), key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT id, e FROM v LEFT JOIN UNNEST(l) AS a (e) ON e > 1",
            [(1, 2), (2, None), (3, None), (4, None)],
        ),
        (
            "SELECT id, e FROM v LEFT JOIN UNNEST(t) AS a (e) ON e > 'p' AND id > 2",
            [(1, None), (2, None), (3, "q"), (3, "r"), (3, "s"), (4, None)],
        ),
        (
            "SELECT id, k FROM v LEFT JOIN UNNEST(m) AS a (k, i) ON i + 3 > id AND k <> 'c'",
            [(1, "a"), (2, None), (3, None), (4, None)],
        ),
        (
            "SELECT id, e, o FROM v LEFT JOIN UNNEST(t) WITH ORDINALITY AS a (e, o) ON o = 2",
            [(1, None, None), (2, None, None), (3, "r", 2), (4, None, None)],
        ),
        (
            "SELECT id, n FROM v LEFT JOIN LATERAL (SELECT e * 10 + id AS n FROM UNNEST(l) AS a (e)"
            " WHERE e > 0) ON n < 20",
            [(1, 11), (2, None), (3, None), (4, None)],
        ),
        (
            "SELECT id, COUNT(n) FROM v LEFT JOIN UNNEST(r) AS a (n, s) ON s IS NULL GROUP BY id",
            [(1, 0), (2, 0), (3, 0), (4, 1)],
        ),
    ],
)
def test_a_left_join_pads_rows_for_which_none_meets_the_condition(
    nested: TableEnvironment, query: str, expected: list[Any]
) -> None:
    assert sorted(rows(nested, query), key=repr) == sorted(expected, key=repr)


def test_what_cannot_be_unnested(nested: TableEnvironment) -> None:
    with pytest.raises(JobDefinitionError, match="UNNEST takes an ARRAY, a MAP or a MULTISET"):
        rows(nested, "SELECT * FROM v CROSS JOIN UNNEST(id)")
