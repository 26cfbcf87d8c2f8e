"""The law of streaming SQL: however the input is cut into epochs, whatever the parallelism, the
materialised changelog of a query is its batch result (cut in any way, too), and DuckDB's.

Add a query to `QUERIES`: it reads the tables ``t`` and ``u`` (see `COLUMNS`), and its text means
the same in DuckDB, or has a second text for it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from drawn import job_examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.table.resident_cuts import RESIDENT_CUTS, ResidentCut

from millrace.common.types.logical.arrow_type import arrow_schema
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.row import Row
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.table_result import materialized
from millrace.testing import run_local

COLUMNS = "ROW<id BIGINT, k INT, v BIGINT, x DOUBLE, s STRING, b BOOLEAN>"


@dataclass(frozen=True)
class LawQuery:
    """A query, and its text for DuckDB where that is another."""

    text: str
    duck_text: str | None = None


QUERIES = [
    LawQuery("SELECT * FROM t"),
    LawQuery("SELECT id + 1 AS a, -v AS n, k * v AS p FROM t WHERE v > 0"),
    LawQuery("SELECT id, s FROM t WHERE s = 'a' OR v < 0 AND k IS NOT NULL"),
    LawQuery("SELECT id FROM t WHERE NOT b"),
    LawQuery("SELECT id FROM t WHERE b IS NOT TRUE"),
    LawQuery("SELECT id, CASE WHEN v > 10 THEN 'big' WHEN v > 0 THEN 'small' END AS c FROM t"),
    LawQuery("SELECT COALESCE(s, 'none') AS s2, x * 2 AS y FROM t WHERE x BETWEEN -10 AND 10"),
    LawQuery("SELECT id, k FROM t WHERE k IN (1, 2) UNION ALL SELECT id, k FROM u WHERE k > 1"),
    LawQuery("SELECT a + 1 AS a1 FROM (SELECT id + k AS a, v FROM t WHERE v > 0) WHERE a > 3"),
    LawQuery("WITH w AS (SELECT * FROM t WHERE k = 1) SELECT id FROM w UNION ALL SELECT v FROM w"),
    LawQuery("SELECT CAST(v AS STRING) AS s3, CAST(id AS INT) AS i FROM t"),
    LawQuery("SELECT k, COUNT(*) AS c, COUNT(v) AS cv, SUM(v) AS sv FROM t GROUP BY k"),
    LawQuery("SELECT s, MIN(v) AS low, MAX(v) AS high FROM t WHERE b GROUP BY s"),
    LawQuery("SELECT k, SUM(v) AS total FROM t GROUP BY k HAVING SUM(v) > 0"),
    LawQuery("SELECT c, COUNT(*) AS n FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) GROUP BY c"),
    LawQuery("SELECT DISTINCT k, b FROM t"),
    LawQuery(
        "SELECT k, ARRAY_JOIN(ARRAY_SORT(ARRAY_AGG(s IGNORE NULLS)), ',') AS a, CARDINALITY("
        "ARRAY_AGG(DISTINCT v)) AS d, CHAR_LENGTH(LISTAGG(s, '--')) AS l FROM t GROUP BY k",
        "SELECT k, string_agg(s, ',' ORDER BY s), COUNT(DISTINCT v) + MAX((v IS NULL)::INT), "
        "length(string_agg(s, '--')) FROM t GROUP BY k",
    ),
    LawQuery(
        "SELECT MOD(c, 2) AS m, CHAR_LENGTH(LISTAGG(CAST(c AS STRING))) AS l, CHAR_LENGTH("
        "JSON_ARRAYAGG(k NULL ON NULL)) AS j FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) "
        "GROUP BY MOD(c, 2)",
        "SELECT c % 2, length(string_agg(c::VARCHAR, ',')), length(string_agg(coalesce(k::VARCHAR, "
        "'null'), ',')) + 2 FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) GROUP BY c % 2",
    ),
    LawQuery(
        "SELECT k, FIRST_VALUE(c) AS a, LAST_VALUE(c) AS b FROM (SELECT k, COUNT(*) AS c FROM t "
        "GROUP BY k) GROUP BY k",
        "SELECT k, COUNT(*) AS a, COUNT(*) AS b FROM t GROUP BY k",
    ),
    LawQuery(
        "SELECT k, VAR_POP(v) AS a, STDDEV_SAMP(v) AS d FROM t GROUP BY k",
        "SELECT k, trunc(round(VAR_POP(v), 9))::BIGINT, trunc(round(STDDEV_SAMP(v), 9))::BIGINT "
        "FROM t GROUP BY k",
    ),
    LawQuery(
        "SELECT k, v, id, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id, v NULLS "
        "FIRST) AS n FROM t) WHERE n <= 3"
    ),
    LawQuery(
        "SELECT s, c FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY c DESC, s NULLS FIRST) AS n FROM "
        "(SELECT s, COUNT(*) AS c FROM t GROUP BY s)) WHERE n <= 2"
    ),
    LawQuery(
        "SELECT k, v, r FROM (SELECT k, v, RANK() OVER (PARTITION BY k ORDER BY v DESC NULLS LAST) "
        "AS r FROM t) WHERE r <= 2"
    ),
    LawQuery("SELECT id FROM t ORDER BY id DESC LIMIT 4"),
    LawQuery(
        "SELECT k, ROW_NUMBER() OVER w AS n, COUNT(*) OVER (PARTITION BY k ORDER BY p ROWS BETWEEN "
        "2 PRECEDING AND CURRENT ROW) AS c FROM (SELECT k, PROCTIME() AS p FROM t) WINDOW w AS "
        "(PARTITION BY k ORDER BY p)",
        "SELECT k, n, least(n, 3) FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY k) AS n FROM t)",
    ),
    LawQuery(
        "SELECT k, COUNT(*) AS c FROM t GROUP BY k ORDER BY c, k NULLS FIRST LIMIT 2 OFFSET 1"
    ),
    LawQuery("SELECT k, b FROM t UNION SELECT k, b FROM u"),
    LawQuery("SELECT k, b FROM t INTERSECT SELECT k, b FROM u"),
    LawQuery("SELECT k, b FROM t INTERSECT ALL SELECT k, b FROM u"),
    LawQuery("SELECT k FROM t EXCEPT SELECT k FROM u"),
    LawQuery("SELECT k, b FROM t EXCEPT ALL SELECT k, b FROM u"),
    LawQuery(
        "SELECT k, c FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) INTERSECT ALL "
        "SELECT k, COUNT(*) FROM u GROUP BY k"
    ),
    LawQuery(
        "SELECT id, e FROM t CROSS JOIN UNNEST(ARRAY[v, k, NULL]) AS a (e) WHERE e > 0",
        "SELECT id, e FROM t, UNNEST([v, k, NULL]) AS a (e) WHERE e > 0",
    ),
    LawQuery(
        "SELECT k, e FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) "
        "CROSS JOIN UNNEST(ARRAY[c, c + 1]) AS a (e)",
        "SELECT k, e FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k), UNNEST([c, c + 1]) AS a (e)",
    ),
    LawQuery("SELECT t.id, u.v FROM t JOIN u ON t.k = u.k"),
    LawQuery("SELECT t.id, u.v FROM t LEFT JOIN u ON t.k = u.k AND t.v < u.v"),
    LawQuery("SELECT t.id, u.v FROM t RIGHT JOIN u ON t.k = u.k AND t.v < u.v"),
    LawQuery("SELECT t.id, u.v FROM t FULL JOIN u ON t.k = u.k AND t.v < u.v"),
    LawQuery("SELECT id, v FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.v > t.v)"),
    LawQuery("SELECT t.id, u.v FROM t FULL JOIN u ON t.k + 1 = ABS(u.k) AND t.id = u.id"),
    LawQuery("SELECT id FROM t WHERE CAST(k AS BIGINT) * 2 IN (SELECT v FROM u)"),
    LawQuery("SELECT id FROM t WHERE k IN (SELECT k FROM u)"),
    LawQuery("SELECT id FROM t WHERE k NOT IN (SELECT k FROM u WHERE k IS NOT NULL)"),
    LawQuery("SELECT id, (SELECT MAX(v) FROM u WHERE u.k = t.k) AS top FROM t"),
    LawQuery("SELECT a.id AS a, b.id AS b FROM t a JOIN t b ON a.k = b.k AND a.id < b.id"),
    LawQuery("SELECT t.id, u.v FROM t CROSS JOIN (SELECT DISTINCT v FROM u WHERE v > 5) u"),
    LawQuery("SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)"),
    LawQuery(
        "SELECT id FROM t WHERE (SELECT COUNT(*) FROM u WHERE u.k = t.k AND u.v < 3 OR u.k = t.k "
        "AND t.v > 5) < 2"
    ),
    LawQuery("SELECT id, (SELECT SUM(v) FROM u WHERE u.k >= t.k OR t.b) AS s FROM t"),
    LawQuery(
        "SELECT id, (SELECT COUNT(*) FROM u WHERE u.v > t.v OR u.k = t.k LIMIT 1) AS n FROM t"
    ),
    LawQuery("SELECT id, (SELECT COUNT(*) FROM u WHERE u.k = t.k LIMIT 1 OFFSET 1) AS n FROM t"),
    LawQuery("SELECT id, (SELECT COUNT(*) FROM u WHERE u.k = t.k LIMIT 0) AS n FROM t"),
    LawQuery(
        "SELECT t.id, n, m FROM t LEFT JOIN LATERAL (SELECT COUNT(*) AS n, MAX(v) AS m FROM u "
        "WHERE u.k = t.k) ON n > 1 OR t.b"
    ),
    LawQuery(
        "SELECT t.id, n FROM t, LATERAL (SELECT COUNT(*) AS n FROM u WHERE u.k = t.k HAVING "
        "COUNT(*) > 1)"
    ),
    LawQuery("SELECT id FROM t WHERE k IN (SELECT COUNT(*) FROM u WHERE u.k < t.k)"),
    LawQuery("SELECT id FROM t WHERE NOT EXISTS (SELECT COUNT(*) FROM u WHERE u.k = t.k) OR v > 3"),
    LawQuery(
        "SELECT id FROM t WHERE NOT EXISTS (SELECT SUM(v) OVER (PARTITION BY b ORDER BY id) FROM u "
        "WHERE u.k < t.k)"
    ),
    LawQuery(
        "SELECT a.k, a.c, b.c AS d FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) a "
        "FULL JOIN (SELECT k, COUNT(*) AS c FROM u GROUP BY k) b ON a.k = b.k"
    ),
]

RECORDS = st.lists(
    st.tuples(
        st.integers(0, 50),
        st.none() | st.integers(0, 3),
        st.none() | st.integers(-20, 20),
        st.none() | st.sampled_from([-2.5, 0.0, 1.25, 100.0]),
        st.none() | st.sampled_from(["a", "b", "", "ä c"]),
        st.none() | st.booleans(),
    ),
    max_size=30,
)


@dataclass(frozen=True)
class Cut:
    """How a run is cut into epochs and subtasks, or into flushes and barriers of resident tasks."""

    epoch_records: int | None
    parallelism: int
    workers: int
    seed: int | None
    resident: ResidentCut | None = None


CUTS = st.builds(
    Cut, st.sampled_from([1, 3, 10, None]), st.integers(1, 3), st.integers(1, 2), st.integers(0, 9)
)
STREAM_CUTS = CUTS | st.builds(replace, CUTS, resident=RESIDENT_CUTS)
Tables = dict[str, list[tuple[Any, ...]]]


def row_type() -> RowType:
    kind = parse_type(COLUMNS)
    assert isinstance(kind, RowType)
    return kind


def result(query: str, tables: Tables, cut: Cut, streaming: bool) -> Counter[tuple[Any, ...]]:
    """What a query leaves."""
    mode = EnvironmentSettings.new_instance()
    mode = mode.in_streaming_mode() if streaming else mode.in_batch_mode()
    executor = cut.resident.executor if cut.resident else None
    with run_local(cut.workers, cut.seed, epoch_records=cut.epoch_records, executor=executor):
        t_env = TableEnvironment.create(mode.build())
        t_env.get_config().set("parallelism.default", str(cut.parallelism))
        for name, records in tables.items():
            t_env.create_temporary_view(name, t_env.from_elements(records, row_type()))
        rows: list[Row] = list(t_env.execute_sql(query).collect())
    assert streaming or not any(row.get_row_kind().value for row in rows), "final rows only"
    return Counter(tuple(row) for row in materialized(iter(rows)))


@cache
def duck() -> duckdb.DuckDBPyConnection:
    """One for all queries: to make one takes ten times as long as a query."""
    return duckdb.connect()


def duck_result(query: str, tables: Tables) -> Counter[tuple[Any, ...]]:
    """What DuckDB gives."""
    connection = duck()
    schema = arrow_schema(row_type())
    for name, records in tables.items():
        columns = list(zip(*records, strict=True)) or [()] * len(schema)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        connection.register(name, pa.Table.from_arrays(arrays, schema=schema))
    return Counter(connection.execute(query).fetchall())


@pytest.mark.turns(7)
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.text[:60])
@settings(max_examples=job_examples(2), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(t=RECORDS, u=RECORDS, cut=STREAM_CUTS, batch_cut=CUTS)
def test_stream_batch_and_duckdb_agree(
    query: LawQuery, t: list[Any], u: list[Any], cut: Cut, batch_cut: Cut
) -> None:
    tables = {"t": t, "u": u}
    streamed = result(query.text, tables, cut, streaming=True)
    assert streamed == result(query.text, tables, batch_cut, streaming=False)
    assert streamed == duck_result(query.duck_text or query.text, tables)
