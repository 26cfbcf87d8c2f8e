"""Stolen card numbers: tried with a small charge, used within a minute from another country.

The rule changes while the job runs. Run it with ``millrace run examples/cards/card_fraud.py``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from charges import Charge, charges
from fraud_rules import probe, stop

from millrace.cep import CEP
from millrace.cep.rules import RuleMatch
from millrace.common import WatermarkStrategy
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment

# one after the other, as they would come all day long: read at once, a rule and the charges before
# it would arrive together
PACE = RateLimiterStrategy.per_second(500)


def inbox() -> list[Charge | str]:
    """A day in the order in which it comes: charges and, in between, what is to be looked for."""
    return [
        probe(version=1, large=500),
        *charges(0, 12),
        probe(version=2, large=300),
        *charges(12, 18),
        stop(),
        *charges(18, 24),
    ]


def alert(match: RuleMatch) -> str:
    """A line on the card, the charges, and the rule that found them."""
    [small], [large] = match["small"], match["large"]
    time = datetime.fromtimestamp(large.time / 1000, UTC)
    return (
        f"{time:%H:%M:%S} card {large.card}: {small.amount:.2f} in {small.country}, "
        f"then {large.amount:.2f} in {large.country} ({match.rule}, version {match.version})"
    )


def main() -> None:
    """Print the alerts."""
    env = StreamExecutionEnvironment.get_execution_environment()
    # one split keeps them in order; elsewhere rules have a topic or a directory of their own
    received = inbox()
    source: DataGeneratorSource[Any] = DataGeneratorSource(
        lambda index: received[index], len(received), PACE, splits=1
    )
    day: DataStream[Any] = env.from_source(source, WatermarkStrategy.no_watermarks(), "inbox")
    strategy: WatermarkStrategy[Any] = WatermarkStrategy.for_monotonous_timestamps()
    by_time = strategy.with_timestamp_assigner(lambda value, _: value.time)
    paid = day.filter(lambda value: isinstance(value, Charge))
    paid = paid.assign_timestamps_and_watermarks(by_time)
    rules = day.filter(lambda value: isinstance(value, str))
    by_card = paid.key_by(lambda value: value.card)
    CEP.dynamic_pattern(by_card, rules).select(alert).print()
    env.execute("card fraud")


if __name__ == "__main__":
    main()
