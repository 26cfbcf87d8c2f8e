"""The next version of ``fraud.py``, which goes on from a savepoint of it.

A card is now in two places within 20 minutes instead of 10. What is remembered of a card's day has
one more field, the countries, and the third country is an alert. The turnover is new.

``millrace run -s SAVEPOINT --parallelism 3 fraud_2.py``
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from detectors import (
    Alert,
    DailyLimit,
    Payment,
    Spending,
    day_of,
    two_places,
    two_places_alert,
)
from fraud import found_by_limits, found_by_rules, payments_by_card, write

from millrace.cep import CEP
from millrace.common import Time, Types
from millrace.datastream import (
    AggregateFunction,
    KeyedBroadcastProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    TimeWindow,
)
from millrace.datastream.window import TumblingEventTimeWindows


@dataclass
class Day(Spending):
    """What was spent with a card on a day, and where."""

    countries: list[str] = field(default_factory=list)  # what the savepoint has gets the default


class DailyLimitAndCountries(DailyLimit):
    """Reports the third country of a day, too."""

    def __init__(self) -> None:
        super().__init__(Day)

    def process_element(
        self, value: Payment, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[Alert]:
        yield from super().process_element(value, ctx)
        day = self.days.get(day_of(value))
        assert isinstance(day, Day)
        if value.country not in day.countries:
            day.countries.append(value.country)
            self.days.put(day_of(value), day)
            if len(day.countries) == 3:
                yield {"kind": "third country", "card": value.card, "at": [day_of(value)]}


class Sum(AggregateFunction[Payment, int, int]):
    """Adds up payments, so that a window keeps a number instead of its payments."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Payment, accumulator: int) -> int:
        return accumulator + value.cents

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Turnover(ProcessWindowFunction[int, dict[str, Any], str, TimeWindow]):
    """What was paid in a country in an hour."""

    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[int],
    ) -> Iterator[dict[str, Any]]:
        for cents in elements:
            yield {"country": key, "hour": context.window().start, "cents": cents}


def main() -> None:
    """Run until somebody stops it."""
    base = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    env = StreamExecutionEnvironment.get_execution_environment()
    payments = payments_by_card(env, base)
    places = CEP.pattern(payments, two_places(minutes=20)).select(two_places_alert)
    alerts = found_by_rules(payments, base).union(
        found_by_limits(payments, DailyLimitAndCountries(), base), places.uid("two places")
    )
    write(alerts, base / "results/alerts")
    hours = payments.key_by(lambda payment: payment.country, key_type=Types.STRING()).window(
        TumblingEventTimeWindows.of(Time.hours(1))
    )
    write(hours.aggregate(Sum(), Turnover()).uid("turnover per hour"), base / "results/turnover")
    env.execute("fraud")


if __name__ == "__main__":
    main()
