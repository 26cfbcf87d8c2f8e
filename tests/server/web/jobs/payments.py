"""Fails for a payment of a country that it does not know: no arguments."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common import Configuration, WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import CollectingSink

SETTINGS = {
    "execution.checkpointing.interval": "1 s",
    "execution.runtime-mode": "STREAMING",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "2",
    "restart-strategy.fixed-delay.delay": "1 s",
}
LIMITS = {"DE": 900.0, "FR": 800.0, "JP": 1_200.0}


@dataclass(frozen=True)
class Payment:
    """A payment with a card."""

    card: str
    country: str
    amount: float


def payment(number: int) -> Payment:
    """A made-up payment; one of those after the two thousandth comes from elsewhere."""
    country = "XK" if number == 2_000 else ("DE", "FR", "JP")[number % 3]
    return Payment(f"4971 **** {number % 50:04}", country, 10 + number % 300)


def risk(payment: Payment) -> float:
    """Share of the country's limit."""
    return payment.amount / LIMITS[payment.country]


def score(payment: Payment) -> tuple[str, float]:
    """The card and its risk."""
    return payment.card, risk(payment)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration(SETTINGS))
    rate = RateLimiterStrategy.per_second(200)
    source = DataGeneratorSource(payment, rate_limiter_strategy=rate, splits=1)
    payments = env.from_source(source, WatermarkStrategy.no_watermarks(), "Payments")
    scores = payments.uid("payments").key_by(lambda payment: payment.card).map(score)
    scores.name("Score payments").uid("score").sink_to(CollectingSink()).uid("sink")
    env.execute("Payments by risk")


if __name__ == "__main__":
    main()
