from __future__ import annotations

from millrace.engine.rates import Rates, SubtaskTotals


def test_a_rate_looks_back_over_ten_seconds() -> None:
    rates = Rates()
    rates.begin(100.0)
    for second in range(1, 31):
        records = 500 if second <= 20 else 100
        rates.add(100.0 + second, {(0, 0): SubtaskTotals(records, busy_ms=250)})
    assert rates.of((0, 0)).records_in == 100
    assert rates.of((0, 0)).busy_ms == 250
    assert rates.totals[0, 0].records_in == 11_000


def test_short_epochs_are_not_rates_by_themselves() -> None:
    rates = Rates()
    rates.begin(0.0)
    for tenth in range(1, 11):
        rates.add(tenth / 10, {(0, 0): SubtaskTotals(records_in=10 * (tenth % 2))})
    assert rates.of((0, 0)).records_in == 50


def test_an_epoch_longer_than_that_is_a_window() -> None:
    rates = Rates()
    rates.begin(0.0)
    rates.add(60.0, {(0, 0): SubtaskTotals(records_out=600)})
    assert rates.of((0, 0)).records_out == 10
    rates.add(180.0, {(0, 0): SubtaskTotals(records_out=600)})
    assert rates.of((0, 0)).records_out == 5


def test_who_did_nothing() -> None:
    rates = Rates()
    rates.begin(0.0)
    rates.add(1.0, {})
    assert rates.of((7, 1)) == SubtaskTotals()
