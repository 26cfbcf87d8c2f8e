"""Which aircraft left New York more than 30 minutes late three times in a row within a day?

Run it with ``millrace run examples/flights/late_again.py``.
"""

from __future__ import annotations

from events import Flight
from week import clock, departures

from millrace.cep import CEP, AfterMatchSkipStrategy, Pattern
from millrace.common import Time
from millrace.datastream import StreamExecutionEnvironment


def late_again() -> Pattern:
    """Three late legs with no punctual one between them; a fourth begins anew."""
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    late = Pattern.begin("late", skip).where(lambda value: value.delay > 30)
    return late.times(3).consecutive().within(Time.hours(24))


def alert(match: dict[str, list[Flight]]) -> str:
    """A line on the aircraft and its legs."""
    legs = match["late"]
    delays = ", ".join(f"{leg.origin}-{leg.dest} {leg.delay} min" for leg in legs)
    return f"{clock(legs[-1].happened)}  {legs[0].tailnum}  {delays}"


def main() -> None:
    """Print the alerts."""
    env = StreamExecutionEnvironment.get_execution_environment()
    by_aircraft = departures(env).key_by(lambda value: value.tailnum)
    CEP.pattern(by_aircraft, late_again()).select(alert).print()
    env.execute("late again")


if __name__ == "__main__":
    main()
