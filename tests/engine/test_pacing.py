from __future__ import annotations

from millrace.engine.pacing import Pacer


def test_a_quick_full_epoch_makes_the_next_bigger_but_not_too_much() -> None:
    pacer = Pacer(100, 10_000, target_ms=1000)
    pacer.observe(500, 100)
    assert pacer.records == 200
    pacer.observe(1, 200)
    assert pacer.records == 800


def test_a_slow_epoch_makes_the_next_smaller() -> None:
    pacer = Pacer(1000, 10_000, target_ms=1000)
    pacer.observe(4000, 1000)
    assert pacer.records == 250
    pacer.observe(2000, 250)
    assert pacer.records == 125


def test_where_reading_less_does_not_help_epochs_do_not_shrink_to_nothing() -> None:
    pacer = Pacer(1000, 100_000, target_ms=1000)
    for _ in range(20):
        pacer.observe(1250, pacer.records)
    assert pacer.records > 1000
    pacer.observe(500, pacer.records)
    before = pacer.records
    pacer.observe(2000, before)
    assert pacer.records == before // 2, "the wanted target is in force again"


def test_an_epoch_that_was_not_full_tells_nothing() -> None:
    pacer = Pacer(100, 10_000, target_ms=1000)
    pacer.observe(1, 99)
    assert pacer.records == 100


def test_bounds() -> None:
    pacer = Pacer(100, 150, target_ms=1000)
    pacer.observe(1, 100)
    assert pacer.records == 150
    for _ in range(20):
        pacer.observe(1e9, 1)
    assert pacer.records == 1
    pacer.observe(1, 1)
    assert pacer.records == 4
    assert Pacer(1000, 10, 1).records == 10
