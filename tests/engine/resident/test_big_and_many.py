"""Jobs on resident tasks with big records, and with many subtasks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from threading import Event

import pytest

from millrace.common import Configuration, Time, WatermarkStrategy
from millrace.common.errors import JobExecutionError
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.resident.tasks import ResidentSettings
from millrace.runtime import exchange_output
from millrace.runtime.resident import control, outbox, resident_subtask
from millrace.testing.resident_tasks import local_resident_executor


@pytest.fixture(autouse=True)
def resident() -> Iterator[None]:
    before = JobLauncher.current()
    settings = ResidentSettings(barrier_interval=30)
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(2, settings)))
    yield
    JobLauncher.install(before)


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    config = Configuration({"execution.runtime-mode": "STREAMING"})
    return StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(parallelism)


def test_a_record_of_100_mb_goes_from_task_to_task() -> None:
    sizes = [100 << 20, 100 << 20, 10, 20]  # one of them goes to the other task, and one stays
    made = environment().from_collection(sizes).map(bytes)
    received = made.rebalance().map(len)
    assert sorted(received.execute_and_collect()) == sorted(sizes)


def test_records_that_are_too_big_together_are_sent_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchange_output, "_MOST_BYTES", 1_000)
    monkeypatch.setattr(outbox, "MOST_PAYLOAD", 2_000)
    made = environment().from_collection(range(20)).map(lambda n: (n, "x" * 900))
    received = made.rebalance().map(lambda record: record[0])
    assert sorted(received.execute_and_collect()) == list(range(20))


def test_a_record_that_is_too_big_fails_the_job_with_its_operator_and_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "MOST_PAYLOAD", 1_000_000)
    big = environment().from_collection([1]).map(lambda n: "x" * 1_200_000).name("swelling")
    result = big.broadcast().map(len)  # also to the other task
    with pytest.raises(JobExecutionError, match=r"a record of 1,200,\d\d\d bytes") as caught:
        list(result.execute_and_collect())
    assert "swelling" in str(caught.value)


def test_results_that_are_too_big_for_one_message_fail_the_job_with_their_operator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resident_subtask, "MOST_PAYLOAD", 100_000)
    big = environment(1).from_collection([1]).map(lambda n: "x" * 200_000).name("swelling")
    with pytest.raises(JobExecutionError, match="sends to the driver") as caught:
        list(big.execute_and_collect())
    assert "swelling" in str(caught.value)


def test_a_program_that_is_too_big_for_one_message_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(control, "MOST_PAYLOAD", 100_000)
    table = "x" * 200_000
    with pytest.raises(JobExecutionError, match=r"its program takes 2\d\d,\d\d\d"):
        list(environment().from_collection([1]).map(lambda n: table[n]).execute_and_collect())


def test_32_subtasks_in_two_tasks() -> None:
    numbers = environment(32).from_collection(range(640))
    counts = numbers.map(lambda n: (n % 64, 1)).key_by(lambda pair: pair[0]).sum(1)
    expected = Counter((key, count) for key in range(64) for count in range(1, 11))
    assert Counter(counts.execute_and_collect()) == expected


class Desk:
    """Requests of one operator, which another one in the same worker answers."""

    asked = 0
    running = 0
    most_running = 0
    is_open = Event()


async def ask(value: int) -> list[int]:
    Desk.asked += 1
    Desk.running += 1
    Desk.most_running = max(Desk.most_running, Desk.running)
    while not Desk.is_open.is_set():
        await asyncio.sleep(0.001)
    Desk.running -= 1
    return [value]


def answer(value: int) -> bool:
    if Desk.asked >= 3:
        Desk.is_open.set()
    return False


def test_records_that_are_too_many_for_an_async_function_do_not_hold_up_others() -> None:
    Desk.asked = Desk.running = Desk.most_running = 0
    Desk.is_open.clear()
    env = environment(1)
    rate = RateLimiterStrategy.per_second(500)
    source = DataGeneratorSource(lambda i: i, rate_limiter_strategy=rate, splits=1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    many = numbers.rebalance().flat_map(lambda n: range(50) if n == 0 else ())
    results = AsyncDataStream.unordered_wait(many, ask, Time.seconds(30), 3)
    with results.union(numbers.filter(answer)).execute_and_collect() as collected:
        assert sorted(islice(collected, 50)) == list(range(50))
    assert Desk.most_running == 3
