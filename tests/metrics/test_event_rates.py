from __future__ import annotations

from millrace.metrics.event_rates import EventRates


def test_a_rate_looks_back_over_a_minute() -> None:
    rates = EventRates()
    for second in range(0, 121):
        rate = rates.of("a", second * (10 if second <= 60 else 1), second * 1_000 if second else 0)
        if second == 60:
            assert rate == 10
    assert rates.of("b", 5, 0) == 0


def test_what_counts_anew_does_not_fall() -> None:
    rates = EventRates()
    rates.of("a", 100, 0)
    assert rates.of("a", 200, 10_000) == 10
    assert rates.of("a", 10, 20_000) == 0
    assert rates.of("a", 30, 30_000) == 2


def test_counts_that_were_0_when_the_job_began() -> None:
    rates = EventRates()
    rates.began = 1_000
    assert rates.of("a", 40, 5_000) == 10
