from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from millrace.engine.pacing import Pacer, processing_ms
from millrace.runtime.epoch import Ack, TimeReport

TARGET = 1000
MOST = 1_000_000

Work = Callable[[int, random.Random], tuple[int, float]]
"""Given the records per split and some chance, what the fullest split gives, and how many records
the busiest subtask works off."""


def even(limit: int, dice: random.Random) -> tuple[int, float]:
    return limit, limit


def one_long_split(limit: int, dice: random.Random) -> tuple[int, float]:
    return limit, limit + min(limit, 50) + min(limit, 3)


def skewed_keys(limit: int, dice: random.Random) -> tuple[int, float]:
    return limit, limit * (1 + dice.random())


def bursts(limit: int, dice: random.Random) -> tuple[int, float]:
    read = min(limit, dice.choice((5, 500, MOST)))
    return read, read


@pytest.mark.parametrize("work", [even, one_long_split, skewed_keys, bursts])
@pytest.mark.parametrize("cost", [0.01, 0.1, 1, 3, 10, 30, 100, 300, 1000])
def test_from_the_fourth_on_no_epoch_takes_more_than_twice_the_target(
    cost: float, work: Work
) -> None:
    for initial in (1, 100, 20_000, MOST):
        for fixed in (0, 50, 300):
            if fixed + 3 * cost > TARGET:
                continue  # one record of each split takes longer
            times = simulated(Pacer(initial, MOST, TARGET), cost, fixed, work)
            assert max(times[3:]) <= 2 * TARGET, (initial, fixed, times)
    if cost == 1000:
        times = simulated(Pacer(MOST, MOST, TARGET), cost, 0, even)
        assert max(times[1:]) < 2 * TARGET


def simulated(pacer: Pacer, cost: float, fixed: float, work: Work) -> list[float]:
    dice = random.Random(7)
    times = []
    for _ in range(40):
        largest, records = work(pacer.records, dice)
        times.append((fixed + cost * records) * dice.uniform(0.92, 1.08))
        pacer.observe(times[-1], largest)
    return times


def test_a_source_with_a_rate_does_not_make_epochs_long_for_ever() -> None:
    pacer, waiting, times = Pacer(20_000, MOST, TARGET), 0.0, []
    for _ in range(20):
        read = min(pacer.records, int(waiting))
        times.append(100 + 10.0 * read)
        waiting += times[-1] * 1.0 - read  # a record per millisecond
        pacer.observe(times[-1], read)
    assert max(times[4:]) <= 2 * TARGET


def test_an_operator_that_becomes_slow_is_noticed_within_an_epoch() -> None:
    pacer = Pacer(100, MOST, TARGET)
    for _ in range(10):
        pacer.observe(0.01 * pacer.records, pacer.records)
    assert pacer.records > 90_000
    pacer.observe(10.0 * pacer.records, pacer.records)
    assert pacer.records == 100


def test_a_quick_job_is_at_full_size_after_a_few_epochs() -> None:
    pacer = Pacer(100, MOST, TARGET)
    for _ in range(5):
        pacer.observe(50 + 0.001 * pacer.records, pacer.records)
    assert pacer.records > MOST / 2


def test_a_quick_full_epoch_makes_the_next_bigger_but_not_too_much() -> None:
    pacer = Pacer(100, 10_000, target_ms=1000)
    pacer.observe(500, 100)
    assert pacer.records == 200
    pacer.observe(1, 200)
    assert pacer.records == 3200


def test_a_slow_epoch_shrinks_the_next_from_what_was_read() -> None:
    pacer = Pacer(20_000, MOST, target_ms=1000)
    pacer.observe(4000, 100)
    assert pacer.records == 25


@pytest.mark.parametrize("fixed", [1250, 8000])
def test_where_reading_less_does_not_help_epochs_do_not_shrink_to_nothing(fixed: float) -> None:
    pacer = Pacer(1000, 100_000, target_ms=1000)
    for _ in range(40):
        pacer.observe(fixed, pacer.records)
    assert pacer.records > 1000
    pacer.observe(500, pacer.records)
    before = pacer.records
    pacer.observe(2000, before)
    assert pacer.records == before // 2, "the wanted target is in force again"


def test_what_was_slow_once_does_not_count_for_ever() -> None:
    pacer = Pacer(1000, MOST, TARGET)
    pacer.observe(4000, 1000)
    pacer.observe(4000, 250)  # state was restored, say
    for _ in range(10):
        pacer.observe(4.0 * pacer.records, pacer.records)
    assert pacer.records == 250


def test_an_epoch_that_was_not_full_does_not_make_the_next_bigger() -> None:
    pacer = Pacer(100, 10_000, target_ms=1000)
    pacer.observe(1, 99)
    assert pacer.records == 100


def test_an_epoch_that_read_nothing_changes_nothing() -> None:
    pacer = Pacer(100, 10_000, target_ms=1000)
    pacer.observe(1e6, 0)  # timers fired
    assert pacer.records == 100


def test_bounds() -> None:
    pacer = Pacer(100, 150, target_ms=1000)
    pacer.observe(1, 100)
    assert pacer.records == 150
    for _ in range(20):
        pacer.observe(1e9, 1)
    assert pacer.records == 1
    pacer.observe(1, 1)
    assert pacer.records == 16
    assert Pacer(1000, 10, 1).records == 10


def test_subtasks_of_a_worker_follow_one_another_as_levels_do() -> None:
    def ack(stage: int, worker: str, seconds: float) -> Ack:
        return Ack(stage, 0, 0, worker=worker, time=TimeReport(seconds=seconds))

    acks = [ack(0, "a", 1.0), ack(0, "a", 0.5), ack(0, "b", 1.2), ack(1, "b", 2.0)]
    assert processing_ms(acks, {0: 0, 1: 1}) == 3500


@pytest.mark.parametrize("chance", [0.0, 0.08])
@pytest.mark.parametrize("cost", [0.01, 1, 10])
@pytest.mark.parametrize("fixed", [800, 900, 950, 990, 1010, 1100])
def test_an_epoch_that_costs_the_target_by_itself_is_used_for_records(
    fixed: float, cost: float, chance: float
) -> None:
    """Else a backlog is never worked off: hardly any time would be left for records."""
    read, took = steady(Pacer(100, MOST, TARGET), cost, fixed, chance)
    assert sum(read) * cost > 0.25 * sum(took)
    assert max(took) < 2.2 * max(TARGET, fixed) * (1 + chance)


@pytest.mark.parametrize("fixed", [0, 50, 150, 400])
def test_looking_what_an_epoch_costs_that_reads_less_takes_hardly_any_time(fixed: float) -> None:
    read, took = steady(Pacer(100, MOST, TARGET), 0.1, fixed, 0.0)
    assert max(took) <= TARGET
    assert sum(read) * 0.1 / sum(took) > 0.97 * (TARGET - fixed) / TARGET


def steady(pacer: Pacer, cost: float, fixed: float, chance: float) -> tuple[list[int], list[float]]:
    """What the epochs read and how long they take, once the pacer has seen forty of them."""
    dice = random.Random(3)
    read, took = [], []
    for _ in range(120):
        read.append(pacer.records)
        took.append((fixed + cost * read[-1]) * dice.uniform(1 - chance, 1 + chance))
        pacer.observe(took[-1], read[-1])
    return read[40:], took[40:]
