"""The demo as ``make demo`` runs it, compared with the raw file counted by Spark SQL."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from replay import raw_flights

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
FLIGHTS = 336_776

RAW = """
    SELECT *, unix_timestamp(time_hour) + (minute + coalesce(dep_delay, 0)) * 60 AS happened
    FROM raw
"""
DEPARTURES_PER_HOUR = f"""
    SELECT origin, happened div 3600 AS hour, count(*) AS departures, sum(dep_delay) AS delay
    FROM ({RAW}) WHERE dep_delay IS NOT NULL GROUP BY ALL
"""
FOUND_PER_HOUR = """
    SELECT origin, hour, sum(departures) AS departures, sum(delay) AS delay FROM (
        SELECT origin, hour div 3600000 AS hour, departures, total_delay AS delay FROM delays
        UNION ALL
        SELECT origin, (scheduled + delay * 60000) div 3600000, 1, delay FROM late
    ) GROUP BY ALL
"""
AWAY = f"""
    SELECT tailnum, departed FROM (
        SELECT tailnum, happened * 1000 AS departed,
               lead(happened) OVER (PARTITION BY tailnum ORDER BY happened) - happened AS absence
        FROM ({RAW}) WHERE dep_delay IS NOT NULL
    ) WHERE absence IS NULL OR absence > 12 * 3600
"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Runs the demo once: its results, and what it printed."""
    output = tmp_path_factory.mktemp("demo")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "XDG_STATE_HOME": str(output / "state"),
    }
    done = subprocess.run(
        [
            sys.executable, "-m", "millrace.cli.main", "run", "--parallelism", "2",
            "examples/flights/demo.py", "--output", str(output),
        ],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return output / "results", done.stdout


@pytest.fixture(scope="module")
def sql(demo: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Spark SQL over the raw file and over what the demo wrote."""
    from millrace.spark.session import create_session

    raw = tmp_path_factory.mktemp("raw") / "flights.csv"
    with raw_flights() as file, raw.open("w", encoding="utf-8") as copy:
        shutil.copyfileobj(file, copy)
    session = create_session("flights", 2)
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    read, results = session.read, demo[0]
    options: dict[str, Any] = {"header": True, "inferSchema": True, "nullValue": "NA"}
    read.csv(str(raw), **options).createOrReplaceTempView("raw")
    read.parquet(str(results / "delays")).createOrReplaceTempView("delays")
    for name in ("late", "cancelled", "alerts"):
        read.csv(str(results / name), header=True, inferSchema=True).createOrReplaceTempView(name)
    return session.sql


@pytest.mark.turns(7)
def test_no_departure_is_lost_or_doubled(sql: Any) -> None:
    """Per airport and hour: in time plus late are all, with all their delays."""
    expected = sql(DEPARTURES_PER_HOUR).collect()
    found = sql(FOUND_PER_HOUR).collect()
    assert len(expected) > 10_000
    assert set(found) == set(expected)


def test_some_departures_are_late(sql: Any) -> None:
    [row] = sql("SELECT count(*) AS late FROM late").collect()
    assert row.late > 0


def test_cancelled_flights_are_counted(sql: Any) -> None:
    count = "SELECT origin, count(*) AS flights FROM {} GROUP BY origin"
    expected = sql(count.format("raw WHERE dep_delay IS NULL")).collect()
    assert set(sql(count.format("cancelled")).collect()) == set(expected)


@pytest.mark.turns(7)
def test_alerts_are_those_of_aircraft_that_stayed_away(sql: Any) -> None:
    found = sql("SELECT tailnum, departed FROM alerts").collect()
    assert len(found) > 100_000
    assert sorted(found) == sorted(sql(AWAY).collect())


def test_the_report_adds_up(demo: tuple[Path, str]) -> None:
    results, printed = demo
    assert f" = {FLIGHTS:,} flights" in printed
    assert f"The files are in {os.path.relpath(results, ROOT)}" in printed
