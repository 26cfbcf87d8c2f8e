"""Looking keys up: what fails is tried again, what is missing too where that is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import inf

import pytest

from millrace.common.errors import JobExecutionError
from millrace.common.functions.lookup_functions import (
    AsyncLookupFunction,
    Key,
    LookupFunction,
    Rows,
)
from millrace.runtime.metrics import MetricRegistry
from millrace.table_runtime.lookups import CacheSettings, LookupBehaviour, Lookups


class Flaky(LookupFunction):
    """Fails so many times; has even keys from the third answer on."""

    batch_size = 3

    def __init__(self, failures: int) -> None:
        self.failures, self.calls, self.closed = failures, 0, False

    def lookup(self, keys: Sequence[Key]) -> Rows:
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the server went away")
        self.calls += 1
        return {key: [key] for key in keys if key[0] % 2 or self.calls > 2}

    def close(self) -> None:
        self.closed = True


def lookups(function: LookupFunction | AsyncLookupFunction, **settings: object) -> Lookups:
    pauses: list[float] = []
    made = Lookups(
        function,
        LookupBehaviour("shop", **settings),  # type: ignore[arg-type]
        MetricRegistry(),
        pauses.append,
    )
    made.pauses = pauses  # type: ignore[attr-defined]
    return made


def test_what_fails_is_tried_again() -> None:
    function = Flaky(2)
    found = lookups(function, max_retries=2)
    assert found.rows([(1,), (3,), (5,), (7,)]) == [[(1,)], [(3,)], [(5,)], [(7,)]]
    assert function.calls == 2  # three keys, and one
    assert found.pauses == [0.1, 0.2]  # type: ignore[attr-defined]
    found.close()
    assert function.closed


def test_a_failure_names_the_table() -> None:
    with pytest.raises(JobExecutionError, match=r"table shop failed 2 times: the server went away"):
        lookups(Flaky(2), max_retries=1).rows([(1,)])


def test_missing_keys_are_asked_for_again() -> None:
    found = lookups(Flaky(0), miss_attempts=3, miss_delay_s=5.0)
    assert found.rows([(1,), (2,)]) == [[(1,)], [(2,)]]
    assert found.pauses == [5.0, 5.0]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("missing", "calls"), [(True, 1), (False, 2)])
def test_a_cache_keeps_what_is_missing_if_it_is_to(missing: bool, calls: int) -> None:
    function = Flaky(0)
    found = lookups(function, cache=CacheSettings(9, inf, inf, missing))
    for _ in range(2):
        assert found.rows([(1,), (2,)]) == [[(1,)], ()]
    assert function.calls == calls


class Slow(AsyncLookupFunction):
    """Notes how many calls are under way; never answers for keys below zero."""

    batch_size = 2

    def __init__(self) -> None:
        self.running = self.most = 0

    async def lookup(self, keys: Sequence[Key]) -> Rows:
        self.running += 1
        self.most = max(self.most, self.running)
        if min(keys)[0] < 0:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        self.running -= 1
        return {key: [key] for key in keys}


def test_asynchronous_calls_run_at_the_same_time_up_to_the_capacity() -> None:
    function = Slow()
    found = lookups(function, capacity=6)
    keys = [(number,) for number in range(20)]
    assert found.rows(keys) == [[key] for key in keys]
    assert function.most == 3
    found.close()


def test_a_call_that_takes_too_long_fails() -> None:
    found = lookups(Slow(), timeout_s=0.01, max_retries=0)
    with pytest.raises(JobExecutionError, match=r"table shop failed 1 times: TimeoutError"):
        found.rows([(-1,)])
    found.close()
