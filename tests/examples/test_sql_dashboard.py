"""The dashboard of ``make demo-sql`` over part of the year, against a count in Python."""

from __future__ import annotations

import csv
from collections import defaultdict
from itertools import islice
from pathlib import Path

import sql_dashboard
from replay import raw_flights

from millrace.datastream import StreamExecutionEnvironment
from millrace.table import StreamTableEnvironment
from millrace.testing import run_local

FLIGHTS = 30_000


def test_the_boards(tmp_path: Path) -> None:
    with raw_flights() as file:
        flights = list(islice(csv.DictReader(file), FLIGHTS))
    replay = tmp_path / "replay.csv"
    with replay.open("w", newline="") as file:
        writer = csv.DictWriter(file, sql_dashboard.COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(flights)
    with run_local(epoch_records=5_000):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        t_env = StreamTableEnvironment.create(env)
        sql_dashboard.declare(t_env, sql_dashboard.without_header(replay), rate=None)
        shown = sql_dashboard.show(t_env.execute_sql(sql_dashboard.BOARDS), in_place=False)
    assert shown == sql_dashboard.boards(_airports(flights) + _routes(flights))


def _delays(flights: list[dict[str, str]], *columns: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for flight in flights:
        if flight["dep_delay"] not in ("", "NA"):
            found[" - ".join(flight[each] for each in columns)].append(int(flight["dep_delay"]))
    return found


def _row(board: str, name: str, delays: list[int]) -> sql_dashboard.Row:
    late = sum(delay > 15 for delay in delays)
    return board, name, len(delays), sum(delays) / len(delays), late


def _airports(flights: list[dict[str, str]]) -> list[sql_dashboard.Row]:
    return [_row("airports", *each) for each in _delays(flights, "origin").items()]


def _routes(flights: list[dict[str, str]]) -> list[sql_dashboard.Row]:
    known = _delays(flights, "origin", "dest").items()
    found = [_row("worst routes", *each) for each in known if len(each[1]) > 100]
    return sorted(found, key=lambda row: -row[3])[:5]
