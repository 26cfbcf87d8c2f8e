"""What the programs that compare patterns share: PyFlink says them in SQL (``MATCH_RECOGNIZE``).

It has no others. Both sides tell of each match: its name, its key, and of each variable the number
of its first row, that of its last, and how many it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

VARIABLES = "ABC"
Row = tuple[str, int, int, int]
"""Key, number, price, event time in ms."""


@dataclass(frozen=True)
class Clause:
    """The part of a ``MATCH_RECOGNIZE`` that tells patterns apart."""

    pattern: str
    """May have the variables A, B and C."""
    define: str
    skip: str = "PAST LAST ROW"
    within: str = ""
    """``INTERVAL ...``"""


def prices(count: int, seed: int = 7) -> list[Row]:
    """Prices below 30 that look random, of three keys, one every 100 ms."""
    state, rows = seed, []
    for number in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        rows.append(("xyz"[state // 65536 % 3], number, state // 1000 % 30, number * 100))
    return rows


def found(
    env: Any,
    rows: list[Row],
    clauses: Mapping[str, Clause],
    patterns: Callable[[], Mapping[str, Any]],
) -> Any:
    """The matches, on either side."""
    if type(env).__module__.startswith("pyflink."):
        return _in_sql(env, rows, clauses)
    ours = patterns()
    assert set(ours) == set(clauses)
    return _of_patterns(env, rows, ours)


# -- ours ------------------------------------------------------------------------------------------


def _of_patterns(env: Any, rows: list[Row], patterns: Mapping[str, Any]) -> Any:
    from millrace.cep import CEP
    from millrace.common import WatermarkStrategy

    times: Any = WatermarkStrategy.for_monotonous_timestamps()
    times = times.with_timestamp_assigner(lambda value, _: value[3])
    keyed = env.from_collection(rows).assign_timestamps_and_watermarks(times).key_by(0)
    matches = [CEP.pattern(keyed, p).select(_told(name)) for name, p in patterns.items()]
    return matches[0].union(*matches[1:])


def _told(name: str) -> Callable[[dict[str, list[Row]]], tuple[Any, ...]]:
    variables = VARIABLES

    def told(match: dict[str, list[Row]]) -> tuple[Any, ...]:
        record: list[Any] = [name, next(iter(match.values()))[0][0]]
        for variable in variables:
            taken = [row[1] for row in match.get(variable, [])]
            record += [taken[0], taken[-1], len(taken)] if taken else [None, None, 0]
        return tuple(record)

    return told


# -- PyFlink's -------------------------------------------------------------------------------------


def _in_sql(env: Any, rows: list[Row], clauses: Mapping[str, Clause]) -> Any:
    from pyflink.table import StreamTableEnvironment  # type: ignore[import-not-found]

    table_env = StreamTableEnvironment.create(env)
    table_env.create_temporary_view("prices", _table(table_env, _stream(env, rows)))
    queries = [_query(name, clause) for name, clause in clauses.items()]
    return table_env.to_data_stream(table_env.sql_query(" UNION ALL ".join(queries)))


def _stream(env: Any, rows: list[Row]) -> Any:
    from pyflink.common import Types, WatermarkStrategy  # type: ignore[import-not-found]
    from pyflink.common.watermark_strategy import TimestampAssigner  # type: ignore[import-not-found]

    class OwnTime(TimestampAssigner):  # type: ignore[misc]
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return int(value[3])

    names = ["k", "id", "price", "at"]
    types = [Types.STRING(), Types.INT(), Types.INT(), Types.LONG()]
    stream = env.from_collection(rows, Types.ROW_NAMED(names, types))
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(OwnTime()))


def _table(table_env: Any, stream: Any) -> Any:
    from pyflink.table import Schema

    schema = Schema.new_builder().column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
    return table_env.from_data_stream(
        stream, schema.watermark("rowtime", "SOURCE_WATERMARK()").build()
    )


def _query(name: str, clause: Clause) -> str:
    columns = [f"{v}{n}" for v in VARIABLES for n in range(3)]
    measures = [m for v in VARIABLES for m in _measures(v, v in clause.pattern)]
    said = ", ".join(f"{m} AS {c}" for m, c in zip(measures, columns, strict=True))
    return f"""
        SELECT '{name}' AS name, k, {", ".join(columns)} FROM prices MATCH_RECOGNIZE (
            PARTITION BY k ORDER BY rowtime
            MEASURES {said}
            ONE ROW PER MATCH
            AFTER MATCH SKIP {clause.skip}
            PATTERN {clause.pattern} {"WITHIN " + clause.within if clause.within else ""}
            DEFINE {clause.define}
        )"""


def _measures(variable: str, is_used: bool) -> list[str]:
    if not is_used:
        return ["CAST(NULL AS INT)", "CAST(NULL AS INT)", "CAST(0 AS BIGINT)"]
    row = f"{variable}.id"
    return [f"FIRST({row})", f"LAST({row})", f"COUNT({row})"]
