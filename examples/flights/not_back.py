"""Which aircraft flew from New York to Washington, an hour away, and was not back within a day?

Run it with ``millrace run examples/flights/not_back.py``.
"""

from __future__ import annotations

from events import Flight
from week import END, clock, departures

from millrace.cep import CEP, Pattern
from millrace.common import Time
from millrace.datastream import StreamExecutionEnvironment


def not_back() -> Pattern:
    """The recording has departures from New York only: back is who departs again."""
    out = Pattern.begin("out").where(lambda value: value.dest == "DCA")
    # later, the recording is over too soon to tell
    out = out.where(lambda value: value.happened < END)
    return out.not_followed_by("back").within(Time.hours(24))


def alert(match: dict[str, list[Flight]]) -> str:
    """A line on the aircraft and its flight."""
    [out] = match["out"]
    return f"{out.tailnum} left {out.origin} {clock(out.happened)} as {out.carrier} {out.number}"


def main() -> None:
    """Print the alerts."""
    env = StreamExecutionEnvironment.get_execution_environment()
    by_aircraft = departures(env).key_by(lambda value: value.tailnum)
    CEP.pattern(by_aircraft, not_back()).select(alert).print()
    env.execute("not back")


if __name__ == "__main__":
    main()
