"""The next version of ``analytics.py``, which goes on from a savepoint of it.

The five best pages of an hour instead of three; profiles have one more field, the number of
purchases; long visits that bought nothing are written to a file of their own.

``millrace run -s SAVEPOINT --parallelism 3 analytics_2.py``
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from analytics import LATE, SETTINGS, read_clicks, top_pages, visits, write
from visits import Click, Profile, Profiles

from millrace.datastream import StreamExecutionEnvironment


@dataclass
class Customer(Profile):
    """What is known of a user, and how often they have bought something."""

    purchases: int = 0  # those of before the upgrade were not counted


class Customers(Profiles):
    """Counts purchases, too."""

    def __init__(self) -> None:
        super().__init__(Customer)

    def seen(self, profile: Profile, click: Click) -> None:
        super().seen(profile, click)
        assert isinstance(profile, Customer)
        profile.purchases += click.page == "paid"


def main() -> None:
    """Run until somebody stops it."""
    base = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    env = StreamExecutionEnvironment.get_execution_environment(SETTINGS)
    clicks = read_clicks(env, base)
    found = visits(clicks)
    write(found, base / "results/visits")
    write(found.get_side_output(LATE).map(Click._asdict), base / "results/late")
    write(top_pages(clicks, size=5), base / "results/top")
    write(clicks.process(Customers()).uid("profiles"), base / "results/users")
    long = found.filter(lambda visit: visit["clicks"] >= 5 and not visit["paid"]).uid("undecided")
    write(long, base / "results/undecided")
    env.execute("analytics")


if __name__ == "__main__":
    main()
