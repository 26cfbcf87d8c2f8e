"""How long a large SQL statement takes to parse."""

from __future__ import annotations

import time
from statistics import median

from bar import Data, Row, Section

TITLE = "Parsing SQL"
LINES = 200
BAR_MS = 50
ROUNDS = 30


def statement() -> str:
    """A query of 200 lines, most of them a column with CASE, calls and casts."""
    columns = [
        f"  CASE WHEN a.f{number} > {number} THEN COALESCE(a.g{number}, 'x{number}') ELSE "
        f"CAST(a.h{number} * 2 + 1 AS STRING) END AS c{number},"
        for number in range(LINES - 45)
    ]
    conditions = [
        f"  AND (a.k{number} BETWEEN {number} AND 99 OR b.name LIKE 'x{number}%')"
        for number in range(39)
    ]
    return "\n".join(
        [
            "SELECT",
            *columns,
            "  COUNT(*) AS n",
            "FROM a JOIN b ON a.id = b.id",
            "WHERE TRUE",
            *conditions,
            "GROUP BY a.x",
            "HAVING COUNT(*) > 1",
        ]
    )


def measure(quick: bool) -> Data:
    from millrace.sql.parser import parse_statement

    text = statement()
    times = []
    for _ in range(3 if quick else ROUNDS):
        started = time.process_time()
        parse_statement(text)
        times.append((time.process_time() - started) * 1000)
    return {"lines": text.count("\n") + 1, "characters": len(text), "ms": times}


def section(data: Data) -> Section:
    taken = median(data["ms"])
    row = Row(
        f"a SQL statement of {data['lines']} lines is parsed",
        f"{BAR_MS} ms of CPU",
        f"{taken:.0f} ms",
        taken <= BAR_MS,
    )
    text = f"{data['characters']:,} characters; median of {len(data['ms'])} runs in one process."
    return Section([row], [text])
