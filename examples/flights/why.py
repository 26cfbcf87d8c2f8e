"""Why is an aircraft not among those of `late_again`, that was late four times out of five?"""

from __future__ import annotations

from late_again import late_again
from week import read_week

from millrace.testing import trace


def main() -> None:
    """Print what each departure did."""
    flights = [flight for flight in read_week() if flight.tailnum == "N717EV"]
    told = trace(late_again(), flights, timestamps=lambda value: value.happened)
    print(told.text(show=lambda value: f"{value.origin}-{value.dest} {value.delay} min"))


if __name__ == "__main__":
    main()
