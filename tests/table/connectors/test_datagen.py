"""Rows that are made up: as many as asked for, within their bounds, the same when read again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.parser import parse_type
from millrace.connectors import random_columns
from millrace.table import TableEnvironment


def rows(t_env: TableEnvironment, columns: str, **options: Any) -> list[tuple[Any, ...]]:
    pairs = "".join(f", '{key}' = '{value}'" for key, value in options.items())
    t_env.execute_sql(f"CREATE TEMPORARY TABLE g ({columns}) WITH ('connector' = 'datagen'{pairs})")
    found = [tuple(row) for row in t_env.from_path("g").execute().collect()]
    t_env.execute_sql("DROP TEMPORARY TABLE g")
    return found


def test_sequences_end_with_the_shortest(t_env: TableEnvironment) -> None:
    bounds = {
        "fields.a.kind": "sequence",
        "fields.a.start": 5,
        "fields.a.end": 8,
        "fields.b.kind": "sequence",
        "fields.b.start": 1,
        "fields.b.end": 100,
    }
    found = rows(t_env, "a BIGINT, b STRING", **bounds)
    assert sorted(found) == [(5, "1"), (6, "2"), (7, "3"), (8, "4")]


def test_random_values_are_within_their_bounds(t_env: TableEnvironment) -> None:
    options = {
        "number-of-rows": 500,
        "fields.i.min": -3,
        "fields.i.max": 3,
        "fields.f.min": 0.5,
        "fields.f.max": 1.5,
        "fields.s.length": 7,
        "fields.v.length": 9,
        "fields.v.var-len": "true",
        "fields.n.null-rate": 0.5,
        "fields.d.min": -2,
        "fields.d.max": 2,
    }
    columns = "i INT, f DOUBLE, s STRING, v STRING, n INT, d DECIMAL(5, 2), b BIGINT, t BOOLEAN"
    found = rows(t_env, columns, **options)
    assert len(found) == 500
    i, f, s, v, n, d, b, t = zip(*found, strict=True)
    assert set(i) == set(range(-3, 4))
    assert min(f) >= 0.5
    assert max(f) < 1.5
    assert {len(text) for text in s} == {7}
    assert {len(text) for text in v} == set(range(1, 10))
    assert 150 < n.count(None) < 350
    assert min(d) >= -2
    assert max(d) <= 2
    assert len(set(b)) == 500
    assert set(t) == {True, False}


def test_nested_types(t_env: TableEnvironment) -> None:
    columns = "a ARRAY<INT>, m MAP<STRING, INT>, r ROW<x INT, y STRING>, ts TIMESTAMP(3), d DATE"
    options = {
        "number-of-rows": 5,
        "fields.a.length": 4,
        "fields.a.element.max": 9,
        "fields.a.element.min": 0,
        "fields.r.y.length": 2,
    }
    for a, m, r, ts, d in rows(t_env, columns, **options):
        assert len(a) == 4
        assert all(0 <= each <= 9 for each in a)
        assert len(m) == 3
        assert len(r.y) == 2
        assert ts.date() == d


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"number-of-row": 1}, "has no option 'number-of-row'; did you mean 'number-of-rows'?"),
        ({"fields.x.kind": "random"}, "has no option 'fields.x.kind'"),
        ({"number-of-rows": "many"}, "number-of-rows must be a number, got 'many'"),
        ({"fields.i.kind": "sequence"}, "needs 'fields.i.start' and 'fields.i.end'"),
    ],
)
def test_wrong_options_are_refused(
    t_env: TableEnvironment, options: dict[str, Any], error: str
) -> None:
    with pytest.raises(JobDefinitionError) as raised:
        rows(t_env, "i INT", **options)
    assert error in str(raised.value)


@pytest.mark.parametrize("cut", [1, 7, 50])
def test_values_depend_on_the_row_alone(cut: int) -> None:
    column = random_columns.texts(parse_type("STRING"), 5, True, 42)
    whole = np.arange(100, dtype=np.uint64)
    parts = [whole[start : start + cut] for start in range(0, 100, cut)]
    assert column(whole).to_pylist() == [v for part in parts for v in column(part).to_pylist()]
