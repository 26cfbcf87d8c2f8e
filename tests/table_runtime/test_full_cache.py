"""When a whole table is read again, and what is found in the meantime."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from millrace.common.errors import JobExecutionError
from millrace.common.functions.lookup_functions import Key, Rows, ScanningLookupFunction
from millrace.runtime.metrics import MetricRegistry
from millrace.table_runtime.full_cache import PeriodicReload, TimedReload
from millrace.table_runtime.lookups import LookupBehaviour, Lookups


class Table(ScanningLookupFunction):
    """Is a row longer whenever it is read; fails so many times before."""

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.reads = failures, 0

    def lookup(self, keys: Sequence[Key]) -> Rows:
        raise AssertionError("nothing is asked for by key")

    def scan(self) -> Iterable[tuple[Key, Sequence[Any]]]:
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the server went away")
        self.reads += 1
        return [
            ((None,), ["null"]),
            *(((n,), [f"{n}.{i}"]) for n in range(self.reads) for i in (0, 1)),
        ]


def lookups(table: Table, **settings: Any) -> Lookups:
    return Lookups(table, LookupBehaviour("shop", **settings), MetricRegistry(), lambda _: None)


def test_rows_are_as_they_were_until_the_table_is_read_again() -> None:
    table = Table()
    found = lookups(table, reload=PeriodicReload(100))
    keys = [(1,), (0,)]
    assert found.rows(keys, 1_000) == [(), [["0.0"], ["0.1"]]]
    assert found.rows(keys, 1_099) == [(), [["0.0"], ["0.1"]]]
    assert table.reads == 1
    assert found.rows(keys, 1_100) == [[["1.0"], ["1.1"]], [["0.0"], ["0.1"]]]
    assert table.reads == 2


def test_what_fails_is_read_again() -> None:
    table = Table(2)
    assert lookups(table, reload=PeriodicReload(9), max_retries=2).rows([(0,)], 0) != [()]
    with pytest.raises(JobExecutionError, match="table shop failed 1 times: the server went away"):
        lookups(Table(1), reload=PeriodicReload(9), max_retries=0).rows([(0,)], 0)


@pytest.mark.parametrize(("fixed_rate", "due"), [(False, [100, 230, 755]), (True, [100, 200, 700])])
def test_periods(fixed_rate: bool, due: list[int]) -> None:
    """From 0 on, read as soon as somebody asks: at 130, and long after."""
    reload = PeriodicReload(100, fixed_rate)
    first = reload.next(0, None)
    second = reload.next(130, first)
    assert [first, second, reload.next(655, second)] == due


def at(text: str, zone: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


@pytest.mark.parametrize(
    ("time_of_day", "zone", "days", "moments"),
    [
        ("10:15", "UTC", 1, ["2024-03-01 09:00", "2024-03-01 10:15", "2024-03-02 10:15"]),
        ("10:15", "UTC", 3, ["2024-03-01 11:00", "2024-03-02 10:15", "2024-03-05 10:15"]),
        # a day with 23 hours
        ("10:15", "Europe/Berlin", 1, ["2024-03-30 09:00", "2024-03-30 10:15", "2024-03-31 10:15"]),
        ("10:15+02:00", "UTC", 1, ["2024-03-01 08:15", "2024-03-02 08:15", "2024-03-03 08:15"]),
    ],
)
def test_times_of_the_day(time_of_day: str, zone: str, days: int, moments: list[str]) -> None:
    reload = TimedReload(time.fromisoformat(time_of_day), zone, days)
    now, first, second = (at(text, zone) for text in moments)
    assert reload.next(now, None) == first
    assert reload.next(first, first) == second
    assert reload.next(first + 1_000, first) == second
