"""Windows over TIMESTAMP_LTZ follow the session's zone, and those of PROCTIME() the clock."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from millrace.common.errors import MillraceError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.table_result import materialized
from millrace.testing import run_local

UTC = dt.UTC
BERLIN = ZoneInfo("Europe/Berlin")
SPRING = dt.datetime(2021, 3, 27, 20, tzinfo=UTC)
AUTUMN = dt.datetime(2021, 10, 30, 20, tzinfo=UTC)
STEP = dt.timedelta(minutes=7)
ROWS = 80
WINDOWS = {
    "hour": ("TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR)", 60, 60, False),
    "half": ("TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '30' MINUTE)", 30, 30, False),
    "day": ("TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY)", 1440, 1440, False),
    "hop": (
        "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '30' MINUTE, INTERVAL '2' HOUR)", 120, 30, False
    ),
    "grow": (
        "CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '6' HOUR, INTERVAL '1' DAY)", 1440, 360, True
    ),
}  # fmt: skip


def environment(streaming: bool, begin: dt.datetime, zone: str) -> TableEnvironment:
    mode = EnvironmentSettings.new_instance()
    mode = mode.in_streaming_mode() if streaming else mode.in_batch_mode()
    t_env = TableEnvironment.create(mode.build())
    t_env.get_config().set("table.local-time-zone", zone)
    t_env.get_config().set("parallelism.default", "2")
    start = int(begin.timestamp() * 1000)
    t_env.execute_sql(
        f"CREATE TABLE t (i BIGINT, k AS MOD(i, 2), ts AS TO_TIMESTAMP_LTZ({start} + i * "
        f"{STEP // dt.timedelta(milliseconds=1)}, 3), WATERMARK FOR ts AS ts, p AS PROCTIME()) "
        "WITH ('connector' = 'datagen', 'fields.i.kind' = 'sequence', 'fields.i.start' = '0', "
        f"'fields.i.end' = '{ROWS - 1}')"
    )
    return t_env


def rows(query: str, streaming: bool, begin: dt.datetime, zone: str = "Europe/Berlin") -> Any:
    with run_local(2, 1, epoch_records=13):
        found = list(environment(streaming, begin, zone).execute_sql(query).collect())
    return Counter(tuple(row) for row in materialized(iter(found)))


def walls(begin: dt.datetime) -> list[dt.datetime]:
    return [(begin + i * STEP).astimezone(BERLIN).replace(tzinfo=None) for i in range(ROWS)]


def expected(begin: dt.datetime, size: int, slide: int, grows: bool) -> Counter[Any]:
    """Windows by trying, in minutes of the wall clock."""
    found: Counter[Any] = Counter()
    zero = dt.datetime(1970, 1, 1)
    for wall in walls(begin):
        minute = (wall - zero) // dt.timedelta(minutes=1)
        end = minute // slide * slide + slide
        start_of = minute // size * size
        while (end <= start_of + size) if grows else (end - size <= minute):
            start = start_of if grows else end - size
            found[zero + dt.timedelta(minutes=start), zero + dt.timedelta(minutes=end)] += 1
            end += slide
    return Counter({(*key, count): 1 for key, count in found.items()})


@pytest.mark.parametrize("begin", [SPRING, AUTUMN], ids=["spring", "autumn"])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_cut_by_the_clock_of_the_zone(name: str, begin: dt.datetime) -> None:
    function, size, slide, grows = WINDOWS[name]
    query = (
        f"SELECT window_start, window_end, COUNT(*) FROM TABLE({function}) "
        "GROUP BY window_start, window_end"
    )
    wanted = expected(begin, size, slide, grows)
    assert rows(query, True, begin) == wanted
    distinct = query.replace("COUNT(*)", "COUNT(DISTINCT i)")
    assert rows(distinct, True, begin) == wanted
    if name == "hour":
        assert rows(query, False, begin) == wanted


@pytest.mark.parametrize("begin", [SPRING, AUTUMN], ids=["spring", "autumn"])
def test_windows_upon_windows(begin: dt.datetime) -> None:
    """Cascades by window_time, joins, ranks and rows with their windows see the same windows."""
    hour, size, slide, _ = WINDOWS["hour"]
    wanted = expected(begin, size, slide, False)
    cascade = (
        "SELECT window_start, window_end, SUM(c) FROM TABLE(TUMBLE(TABLE inner_, DESCRIPTOR(wt), "
        "INTERVAL '1' HOUR)) GROUP BY window_start, window_end"
    )
    inner = (
        "WITH inner_ AS (SELECT window_time AS wt, COUNT(*) AS c FROM TABLE(TUMBLE(TABLE t, "
        "DESCRIPTOR(ts), INTERVAL '10' MINUTE)) GROUP BY window_start, window_end, window_time) "
    )
    assert rows(inner + cascade, True, begin) == wanted
    join = (
        f"SELECT a.window_start, a.window_end, a.i FROM (SELECT * FROM TABLE({hour})) a JOIN "
        f"(SELECT * FROM TABLE({hour})) b ON a.window_start = b.window_start AND "
        "a.window_end = b.window_end AND a.i = b.i"
    )
    joined = Counter((start, end) for start, end, _ in rows(join, True, begin).elements())
    assert joined == Counter({(start, end): count for start, end, count in wanted})
    rank = (
        f"SELECT window_start, window_end, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "
        f"window_start, window_end ORDER BY i) AS n FROM TABLE({hour})) WHERE n <= 100"
    )
    ranked = Counter((start, end) for start, end, _ in rows(rank, True, begin).elements())
    assert ranked == joined


def test_window_time_is_a_point_in_time() -> None:
    query = (
        "SELECT window_end, window_time FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), "
        "INTERVAL '1' HOUR)) GROUP BY window_start, window_end, window_time"
    )
    for end, time in rows(query, True, SPRING, "Asia/Kolkata"):
        shown = time.astimezone(ZoneInfo("Asia/Kolkata")).replace(tzinfo=None)
        assert shown + dt.timedelta(milliseconds=1) == end
        assert end.minute == 0


def test_sessions_and_windows_of_old() -> None:
    sessions = rows(
        "SELECT window_start, window_end, COUNT(*) FROM TABLE(SESSION(TABLE t PARTITION BY k, "
        "DESCRIPTOR(ts), INTERVAL '15' MINUTE)) GROUP BY k, window_start, window_end",
        True,
        AUTUMN.replace(month=7),
    )
    first = walls(AUTUMN.replace(month=7))
    gap = dt.timedelta(minutes=15)
    assert sessions == Counter((first[k], first[ROWS - 2 + k] + gap, ROWS // 2) for k in (0, 1))
    old = rows(
        "SELECT TUMBLE_START(ts, INTERVAL '1' HOUR), TUMBLE_END(ts, INTERVAL '1' HOUR), COUNT(*) "
        "FROM t GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)",
        True,
        AUTUMN,
    )
    assert old == expected(AUTUMN, 60, 60, False)


PROCESSING = {
    "tumble": "TUMBLE(TABLE t, DESCRIPTOR(p), INTERVAL '10' DAY)",
    "hop": "HOP(TABLE t, DESCRIPTOR(p), INTERVAL '10' DAY, INTERVAL '20' DAY)",
    "cumulate": "CUMULATE(TABLE t, DESCRIPTOR(p), INTERVAL '10' DAY, INTERVAL '20' DAY)",
    "session": "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(p), INTERVAL '10' DAY)",
}


@pytest.mark.parametrize("name", PROCESSING)
def test_windows_by_processing_time(name: str) -> None:
    """They are longer than any test: all rows are in them when the input ends."""
    for call in ("COUNT(*)", "COUNT(DISTINCT i)"):
        found = rows(
            f"SELECT k, window_end, {call} FROM TABLE({PROCESSING[name]}) "
            "GROUP BY k, window_start, window_end",
            True,
            SPRING,
        )
        counts: Counter[Any] = Counter()
        for k, end, count in found.elements():
            assert end > dt.datetime(1970, 1, 1)  # the clock of `run_local` begins there
            counts[k] += count
        windows = len({end for _, end, _ in found}) if name in ("hop", "cumulate") else 1
        assert counts == dict.fromkeys((0, 1), windows * ROWS // 2)


def test_old_windows_by_processing_time() -> None:
    (row,) = rows(
        "SELECT TUMBLE_START(p, INTERVAL '10' DAY), COUNT(*) FROM t "
        "GROUP BY TUMBLE(p, INTERVAL '10' DAY)",
        True,
        SPRING,
    )
    assert row == (dt.datetime(1970, 1, 1), ROWS)


@pytest.mark.parametrize("what", ["Join", "TopN"])
def test_what_flink_refuses_by_processing_time(what: str) -> None:
    tumble = f"(SELECT * FROM TABLE({PROCESSING['tumble']}))"
    query = {
        "Join": f"SELECT a.i FROM {tumble} a JOIN {tumble} b ON a.window_start = b.window_start "
        "AND a.window_end = b.window_end",
        "TopN": "SELECT i FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
        f"ORDER BY i) AS n FROM {tumble}) WHERE n <= 3",
    }[what]
    with pytest.raises(MillraceError, match=f"Processing time Window {what} is not supported yet"):
        rows(query, True, SPRING)
