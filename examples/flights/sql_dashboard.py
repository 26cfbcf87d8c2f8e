"""A dashboard over the departures from New York, in SQL: ``make demo-sql``.

One query over the replayed year keeps two boards up to date: the airports, and the routes with the
worst average delay. Its changes are shown as they come, in a terminal in place. The file of the
year is a table; the query reads a view of its rows that come no faster than a rate.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from replay import COLUMNS, Paced, write_replay

from millrace.common import Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import StreamTableEnvironment

REPLAY = """
    CREATE TABLE replay (
        time_hour STRING, `minute` INT, dep_delay INT, carrier STRING,
        flight INT, tailnum STRING, origin STRING, dest STRING
    ) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv',
        'csv.null-literal' = 'NA')
"""
DEPARTURE = Types.ROW_NAMED(
    ["origin", "dest", "dep_delay"], [Types.STRING(), Types.STRING(), Types.INT()]
)
BOARDS = """
    WITH airports AS (
        SELECT origin AS name, COUNT(*) AS flights, AVG(CAST(dep_delay AS DOUBLE)) AS delay,
            COUNT(*) FILTER (WHERE dep_delay > 15) AS late
        FROM departures WHERE dep_delay IS NOT NULL GROUP BY origin
    ), routes AS (
        SELECT origin || ' - ' || dest AS name, COUNT(*) AS flights,
            AVG(CAST(dep_delay AS DOUBLE)) AS delay,
            COUNT(*) FILTER (WHERE dep_delay > 15) AS late
        FROM departures WHERE dep_delay IS NOT NULL GROUP BY origin, dest HAVING COUNT(*) > 100
    )
    SELECT 'airports' AS board, name, flights, delay, late FROM airports
    UNION ALL
    SELECT 'worst routes', name, flights, delay, late FROM (
        SELECT *, ROW_NUMBER() OVER (ORDER BY delay DESC) AS place FROM routes
    ) WHERE place <= 5
"""
REFRESH_S = 0.25
HOME_AND_CLEAR = "\x1b[H\x1b[J"
Row = tuple[Any, ...]


def without_header(replay: Path) -> Path:
    """The replay as SQL reads it: rows only."""
    path = replay.with_name("departures.csv")
    with replay.open(newline="") as source, path.open("w", newline="") as target:
        rows = csv.reader(source)
        assert tuple(next(rows)) == COLUMNS
        csv.writer(target, lineterminator="\n").writerows(rows)
    return path


def declare(t_env: StreamTableEnvironment, path: Path, rate: float | None) -> None:
    """Declare the departures: the rows of a file, at most ``rate`` of them per second."""
    t_env.execute_sql(REPLAY.format(path=path))
    rows = t_env.to_data_stream(t_env.sql_query("SELECT origin, dest, dep_delay FROM replay"))
    paced = rows.map(Paced(rate), DEPARTURE).set_parallelism(1).name("paced")
    t_env.create_temporary_view("departures", paced)


def materialized(changes: Iterable[Any]) -> Iterator[Counter[Row]]:
    """The rows that are there after each change."""
    rows: Counter[Row] = Counter()
    for change in changes:
        row = tuple(change)
        if change.get_row_kind().name in ("INSERT", "UPDATE_AFTER"):
            rows[row] += 1
        else:
            rows[row] -= 1
            if not rows[row]:
                del rows[row]
        yield rows


def boards(rows: Iterable[Row]) -> str:
    """The boards as text, each with its worst first."""
    lines = []
    found = sorted(rows, key=lambda row: (row[0], -row[3]))
    for board in dict.fromkeys(row[0] for row in found):
        lines.append(f"{board:<14} {'departures':>10} {'average delay':>14} {'late':>7}")
        for _, name, flights, delay, late in (row for row in found if row[0] == board):
            lines.append(f"{name:<14} {flights:>10,} {delay:>10.1f} min {late / flights:>6.1%}")
        lines.append("")
    return "\n".join(lines)


def show(result: Any, in_place: bool) -> str:
    """Show the boards as they change; returns them as they are in the end."""
    rows: Counter[Row] = Counter()
    last = 0.0
    with result.collect() as changes:
        for rows in materialized(changes):
            now = time.monotonic()
            if in_place and now - last > REFRESH_S:
                print(HOME_AND_CLEAR + boards(rows), flush=True)
                last = now
    return boards(rows)


def main() -> None:
    """Run the query and show its boards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("flights"), help="a directory")
    parser.add_argument("--rate", type=float, help="flights per second at most")
    options = parser.parse_args()
    path = without_header(write_replay(options.output.resolve() / "replay.csv"))
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    declare(t_env, path, options.rate)
    in_place = sys.stdout.isatty()
    try:
        final = show(t_env.execute_sql(BOARDS), in_place)
    except KeyboardInterrupt:
        print("stopped")
        return
    with suppress(BrokenPipeError):
        print((HOME_AND_CLEAR if in_place else "") + final)


if __name__ == "__main__":
    main()
