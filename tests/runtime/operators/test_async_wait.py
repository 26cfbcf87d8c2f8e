"""Asynchronous I/O. The requests wait for events that the test sets: no sleeps, no clocks."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Time
from millrace.common.errors import JobDefinitionError, JobExecutionError, UserFunctionError
from millrace.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    MapFunction,
    StreamExecutionEnvironment,
)
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.testing import Faults, OperatorHarness, run_local

MINUTE = Time.minutes(1)
WAITS = {
    "ordered": AsyncDataStream.ordered_wait,
    "unordered": AsyncDataStream.unordered_wait,
}


class Desk:
    """Where requests wait until the test answers them."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.open: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Future]] = {}
        self.changed = threading.Condition()

    async def ask(self, value):
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        with self.changed:
            self.asked.append(value)
            self.open[value] = (loop, future)
            self.changed.notify_all()
        return await future

    def wait_for(self, count: int) -> None:
        """Until so many requests were made in all."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.asked) >= count, timeout=180)

    def answer(self, value: int, results=None) -> None:
        loop, future = self.open.pop(value)
        found = [value * 10] if results is None else results
        loop.call_soon_threadsafe(lambda: future.done() or future.set_result(found))


DESK = Desk()


@pytest.fixture
def desk(monkeypatch) -> Desk:
    fresh = Desk()
    monkeypatch.setitem(globals(), "DESK", fresh)
    return fresh


async def at_desk(value):
    return await DESK.ask(value)


def harness(function, ordered=True, capacity=100, timeout=MINUTE, **options) -> OperatorHarness:
    env = StreamExecutionEnvironment.get_execution_environment()
    wait = WAITS["ordered" if ordered else "unordered"]
    return OperatorHarness(wait(env.from_collection([]), function, timeout, capacity, **options))


def until(made: OperatorHarness, count: int) -> None:
    """Let epochs pass until so much has come out; an epoch waits for requests itself."""
    for _ in range(2000):
        if len(made.output()) + len(made.watermarks()) >= count:
            return
        made.snapshot()
    raise AssertionError(f"only {made.output()} and {made.watermarks()}")


def ask(made: OperatorHarness, *values: int) -> None:
    """An epoch with these records."""
    made.process_elements(list(values))
    made.snapshot()


def test_the_order_is_kept(desk) -> None:
    with harness(at_desk) as made:
        made.process_elements([1, 2, 3], [11, 12, 13])
        desk.wait_for(3)
        desk.answer(3)
        desk.answer(2)
        made.snapshot()
        assert made.output() == []
        desk.answer(1)
        until(made, 3)
        assert [tuple(r) for r in made.records()] == [(10, 11), (20, 12), (30, 13)]


def test_unordered_results_come_as_they_end_but_never_overtake_a_watermark(desk) -> None:
    with harness(at_desk, ordered=False) as made:
        made.process_elements([1, 2], [11, 12])
        made.process_watermark(12)
        made.process_elements([3], [13])
        desk.wait_for(3)
        desk.answer(3)
        desk.answer(2)
        until(made, 1)
        assert made.output() == [20]
        assert made.watermarks() == []
        desk.answer(1)
        until(made, 4)
        assert made.output() == [20, 10, 30]
        assert made.watermarks() == [12]


def test_a_watermark_is_behind_all_the_records_before_it(desk) -> None:
    with harness(at_desk) as made:
        made.process_watermark(5)
        made.process_element(1, 11)
        made.process_watermark(11)
        made.process_watermark(12)
        desk.wait_for(1)
        assert made.watermarks() == [5]
        desk.answer(1)
        until(made, 3)
        assert made.watermarks() == [5, 12], "of several that wait the last is enough"


@pytest.mark.parametrize("ordered", [True, False])
def test_no_more_requests_than_the_capacity(ordered) -> None:
    under_way, most = 0, 0

    async def ask(value):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return [value]

    with harness(ask, ordered, capacity=3) as made:
        made.process_elements(list(range(50)))
        made.process_watermark(MAX_WATERMARK)
        assert sorted(made.output()) == list(range(50))
        assert most == 3


def test_room_is_what_the_capacity_leaves(desk) -> None:
    with harness(at_desk, capacity=3) as made:
        assert made.operator.room() == 3
        made.process_elements([1, 2, 3])
        assert made.operator.room() == 0
        desk.wait_for(3)
        desk.answer(1)
        until(made, 1)
        assert made.operator.room() == 1


def test_a_thousand_requests_are_under_way_at_once() -> None:
    """Each waits for the last one: with fewer at once this would never end."""
    everyone = None
    count = 0

    async def meet(value):
        nonlocal everyone, count
        everyone = everyone or asyncio.Event()
        count += 1
        if count == 1000:
            everyone.set()
        await everyone.wait()
        return [value]

    with harness(meet, capacity=1000) as made:
        made.process_elements(list(range(1000)))
        made.process_watermark(MAX_WATERMARK)
        assert made.output() == list(range(1000))


def test_the_end_of_the_input_waits_for_all_requests() -> None:
    async def later(value):
        for _ in range(value):
            await asyncio.sleep(0)
        return [value, value]

    with harness(later, ordered=False) as made:
        made.process_elements([9, 1], [1, 2])
        made.process_watermark(MAX_WATERMARK)
        assert sorted(made.output()) == [1, 1, 9, 9]
        assert made.watermarks() == [MAX_WATERMARK]


def test_drain_waits_at_the_end_of_the_epoch() -> None:
    with harness(later_on, drain=True) as made:
        made.process_elements([1, 2])
        made.snapshot()
        assert made.output() == [1, 2]
        assert made.next_wakeup() is None


async def later_on(value):
    await asyncio.sleep(0.005)
    return [value]


def test_records_with_and_without_event_times_keep_what_they_have() -> None:
    with harness(later_on, drain=True) as made:
        made.process_element(1)
        made.process_element(2, 12)
        ask(made, 3)
        assert [tuple(r) for r in made.records()] == [(1, None), (2, 12), (3, None)]


# -- over the end of an epoch ------------------------------------------------------------------


def test_requests_go_on_over_the_end_of_an_epoch(desk) -> None:
    with harness(at_desk) as made:
        made.process_element(1)
        desk.wait_for(1)
        made.snapshot()
        assert made.next_wakeup() is not None
        desk.answer(1)
        until(made, 1)
        assert desk.asked == [1], "nothing is asked twice"
        assert made.next_wakeup() is None


@pytest.mark.parametrize("ordered", [True, False])
def test_requests_and_watermarks_are_restored(desk, ordered) -> None:
    with harness(at_desk, ordered) as made:
        made.process_watermark(3)
        made.process_elements([1, 2], [11, 12])
        made.process_watermark(12)
        made.process_elements([3], [13])
        desk.wait_for(3)
        desk.answer(1)
        until(made, 2)
        taken = made.snapshot()
    with made.restored(taken) as other:
        assert other.operator.watermark == 3, "what follows has not seen a later one"
        desk.wait_for(5)
        assert sorted(desk.asked[3:]) == [2, 3]
        for value in (3, 2):
            desk.answer(value)
        until(other, 3)
        assert [tuple(r) for r in other.records()] == [(20, 12), (30, 13)]
        assert other.watermarks() == [12]


def test_requests_between_watermarks_are_restored_with_a_lower_capacity(desk) -> None:
    """Watermarks take no capacity from the requests behind them."""
    with harness(at_desk, capacity=100) as made:
        for value in (1, 2, 3):
            made.process_elements([value], [value])
            made.process_watermark(value)
        desk.wait_for(3)
        taken = made.snapshot()
    with harness(at_desk, capacity=1) as lower, lower.restored(taken) as other:
        for number, value in enumerate((1, 2, 3), 1):
            desk.wait_for(3 + number)
            assert desk.asked[3:] == [1, 2, 3][:number], "one at a time"
            desk.answer(value)
            until(other, 2 * number)
        assert [tuple(r) for r in other.records()] == [(10, 1), (20, 2), (30, 3)]
        assert other.watermarks() == [1, 2, 3]


def test_an_aborted_epoch_forgets_its_requests(desk) -> None:
    with harness(at_desk) as made:
        made.process_element(1)
        desk.wait_for(1)
        made.snapshot()
        made.process_element(2)
        desk.wait_for(2)
        made.abort()
        desk.wait_for(3)
        assert desk.asked == [1, 2, 1]
        desk.answer(1)
        until(made, 1)
        assert made.output() == [10]
        assert made.next_wakeup() is None


def test_another_parallelism_deals_the_requests_out(desk) -> None:
    with harness(at_desk) as first:
        first.process_elements([1, 2, 3, 4], [1, 2, 3, 4])
        first.process_watermark(4)
        desk.wait_for(4)
        one = first.snapshot()
    halves = [first.restored(one, subtask_index=index, parallelism=2) for index in (0, 1)]
    desk.wait_for(8)
    halves[0].process_element(5, 5)
    desk.wait_for(9)
    both = [half.snapshot() for half in halves]
    for half in halves:
        half.close()
    with first.restored(*both) as whole:
        desk.wait_for(14)
        assert sorted(desk.asked[9:]) == [1, 2, 3, 4, 5]
        for value in (1, 2, 3, 4, 5):
            desk.answer(value)
        until(whole, 5)
        assert sorted(whole.output()) == [10, 20, 30, 40, 50]


class OneClient(AsyncFunction):
    """Makes its client with the first request, as libraries for asyncio want it: a client is bound
    to the event loop it was made on."""

    def open(self, runtime_context) -> None:
        self.loop = None

    async def async_invoke(self, value):
        self.loop = self.loop or asyncio.get_running_loop()
        assert self.loop is asyncio.get_running_loop()
        return [value]


def test_the_event_loop_stays_when_tables_are_replaced() -> None:
    with harness(OneClient(), drain=True) as made:
        ask(made, 1)
        made.operator.restore()
        ask(made, 2)
        assert made.output() == [1, 2]


class Closed(AsyncFunction):
    def open(self, runtime_context) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True

    async def async_invoke(self, value):
        await asyncio.Event().wait()


def test_closing_gives_up_requests_and_ends_their_thread() -> None:
    function = Closed()
    made = harness(function)
    made.process_element(1)
    before = {thread for thread in threading.enumerate() if thread.name == "async I/O"}
    made.close()
    assert before - set(threading.enumerate())
    assert function.closed


# -- what goes wrong ---------------------------------------------------------------------------


async def never(value):
    await asyncio.Event().wait()


class Fallback(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.Event().wait()

    def timeout(self, value):
        return [-value]


def test_a_timeout_with_a_handler() -> None:
    with harness(Fallback(), timeout=1, drain=True) as made:
        made.process_elements([1, 2])
        made.snapshot()
        assert made.output() == [-1, -2]


class Exits(Fallback):
    def timeout(self, value):
        raise SystemExit(3)


def test_a_handler_that_exits() -> None:
    with harness(Exits(), timeout=1, drain=True) as made, pytest.raises(SystemExit):
        ask(made, 1)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_timeout_without_one_fails(ordered) -> None:
    with (
        harness(never, ordered, timeout=1, drain=True) as made,
        pytest.raises(TimeoutError, match="request for 7 has timed out"),
    ):
        ask(made, 7)


class OwnTimeout(AsyncFunction):
    async def async_invoke(self, value):
        raise TimeoutError("the database took too long")

    def timeout(self, value):
        raise AssertionError("this was not the operator's timeout")


def test_a_timeout_of_the_users_own_is_a_failure_like_others() -> None:
    failing = pytest.raises(TimeoutError, match="the database took too long")
    with harness(OwnTimeout(), drain=True) as made, failing:
        ask(made, 7)


class Breaks(AsyncFunction):
    def __init__(self, error):
        self.error = error

    async def async_invoke(self, value):
        raise self.error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("bad"), ValueError),
        (SystemExit(3), SystemExit),
        (asyncio.CancelledError(), JobExecutionError),
    ],
)
def test_whatever_a_request_raises_nobody_waits_for_ever(error, expected) -> None:
    with harness(Breaks(error), drain=True) as made, pytest.raises(expected):
        ask(made, 7)


@pytest.mark.parametrize("bad", [5, "text", {"a": 1}])
def test_results_must_be_a_list(bad) -> None:
    async def wrong(value):
        return bad

    failing = pytest.raises(JobExecutionError, match="returns a list of results")
    with harness(wrong, drain=True) as made, failing:
        ask(made, 7)


def test_none_means_no_results() -> None:
    async def nothing(value):
        return None

    with harness(nothing, drain=True) as made:
        made.process_elements([1, 2], [1, 2])
        made.snapshot()
        assert made.output() == []


async def refuse_three(value):
    if value == 3:
        raise ValueError("no threes")
    return [value]


def test_a_failure_shows_the_record() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection([1, 2, 3, 4])
        asked = AsyncDataStream.unordered_wait(stream, refuse_three, MINUTE).name("Ask")
        with pytest.raises(UserFunctionError) as failure:
            list(asked.execute_and_collect())
    assert failure.value.record == "3"
    assert "Ask" in str(failure.value)
    assert "no threes" in str(failure.value)
    assert "async_requests" not in str(failure.value)


# -- retries -----------------------------------------------------------------------------------


class Flaky(AsyncFunction):
    """Fails, or gives too little, so many times."""

    def __init__(self, failures: int, how: str) -> None:
        self.failures, self.how = failures, how

    def open(self, runtime_context) -> None:
        self.attempts: Counter = Counter()

    async def async_invoke(self, value):
        self.attempts[value] += 1
        if self.attempts[value] <= self.failures:
            if self.how == "raise":
                raise OSError("try again")
            return []
        return [(value, self.attempts[value])]


def no_results(results) -> bool:
    return not results


def is_os_error(error) -> bool:
    return isinstance(error, OSError)


FIXED = AsyncRetryStrategy.fixed_delay(2, 0, no_results, is_os_error)
GROWING = AsyncRetryStrategy.exponential_backoff(2, 1, 2, 1.5, no_results, is_os_error)


@pytest.mark.parametrize("strategy", [FIXED, GROWING])
@pytest.mark.parametrize("how", ["raise", "empty"])
@pytest.mark.parametrize(
    "wait", [AsyncDataStream.ordered_wait_with_retry, AsyncDataStream.unordered_wait_with_retry]
)
def test_retries(strategy, how, wait) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([])

    def made(failures):
        return OperatorHarness(wait(stream, Flaky(failures, how), MINUTE, strategy, 10, drain=True))

    with made(2) as enough:
        enough.process_elements([1, 2])
        enough.snapshot()
        assert sorted(enough.output()) == [(1, 3), (2, 3)]
    with made(3) as too_often:
        if how == "raise":
            with pytest.raises(OSError, match="try again"):
                ask(too_often, 1)
        else:
            ask(too_often, 1)
            assert too_often.output() == []


def test_without_predicates_nothing_is_tried_again() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = AsyncRetryStrategy.fixed_delay(5, 0)
    function = Flaky(1, "raise")
    stream = AsyncDataStream.ordered_wait_with_retry(
        env.from_collection([]), function, MINUTE, strategy, drain=True
    )
    with OperatorHarness(stream) as made, pytest.raises(OSError, match="try again"):
        ask(made, 1)


def test_the_timeout_counts_for_all_attempts_together() -> None:
    forever = AsyncRetryStrategy.fixed_delay(10**9, 0, no_results)
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = AsyncDataStream.ordered_wait_with_retry(
        env.from_collection([]), Flaky(10**9, "empty"), Time.milliseconds(20), forever, drain=True
    )
    with OperatorHarness(stream) as made, pytest.raises(TimeoutError):
        ask(made, 1)


# -- what is refused ---------------------------------------------------------------------------


class NotAsync(AsyncFunction):
    def async_invoke(self, value):
        return [value]


@pytest.mark.parametrize(
    ("function", "timeout", "capacity", "message"),
    [
        (len, MINUTE, 1, "takes an AsyncFunction or an 'async def' function"),
        (NotAsync(), MINUTE, 1, "async_invoke must be an 'async def' method"),
        (later_on, 0, 1, "timeout and a capacity above 0, got 0 ms and 1"),
        (later_on, MINUTE, 0, "timeout and a capacity above 0"),
    ],
)
def test_what_cannot_work_is_refused(function, timeout, capacity, message) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(JobDefinitionError, match=message):
        AsyncDataStream.ordered_wait(env.from_collection([]), function, timeout, capacity)


def test_a_retry_strategy_must_be_one() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(JobDefinitionError, match="takes an AsyncRetryStrategy"):
        AsyncDataStream.ordered_wait_with_retry(env.from_collection([]), later_on, MINUTE, 3)


# -- whole jobs --------------------------------------------------------------------------------


class Slow(AsyncFunction):
    """Takes longer for some records, in turns of the event loop."""

    async def async_invoke(self, value):
        for _ in range(value % 7):
            await asyncio.sleep(0)
        return [value] * (value % 3)


class Next(MapFunction):
    def map(self, value):
        return value + 1


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 50), max_size=40),
    st.sampled_from(["ordered", "unordered"]),
    st.booleans(),
    st.sampled_from([1, 3]),
    st.integers(0, 99),
    st.sampled_from([Faults(), Faults(0.2, 0.3, 0.1, 0.1)]),
)
def test_nothing_is_lost_or_doubled(values, kind, drain, parallelism, seed, faults) -> None:
    with run_local(2, seed, faults=faults, epoch_records=5, buffer_records=3):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        stream = env.from_collection(values).rebalance().map(Next())
        asked = WAITS[kind](stream, Slow(), MINUTE, 4, drain=drain)
        found = list(asked.execute_and_collect())
    expected = [value + 1 for value in values for _ in range((value + 1) % 3)]
    assert Counter(found) == Counter(expected)
    if kind == "ordered" and parallelism == 1:
        assert found == expected
