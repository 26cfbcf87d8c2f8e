"""A made-up day of card charges, always the same."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import NamedTuple

MINUTE = 60_000
HOUR = 60 * MINUTE
MIDNIGHT = int(datetime(2026, 3, 2, tzinfo=UTC).timestamp()) * 1000
CARDS = 200
COUNTRIES = ("BE", "DE", "FR", "NL")


class Charge(NamedTuple):
    """Somebody paid with a card. The time is in ms since the epoch, the amount in euros."""

    time: int
    card: str
    country: str
    amount: float


def charges(begin: int, end: int) -> list[Charge]:
    """All charges between two hours of the day, in the order of their times."""
    return [one for one in _day() if begin * HOUR <= one.time - MIDNIGHT < end * HOUR]


def _day() -> list[Charge]:
    chance = Random(2026)
    day = [charge for number in range(CARDS) for charge in _honest(chance, f"c{number:03}")]
    # stolen numbers are tried with little, then used from elsewhere
    for hour, card, amount in (
        (9, "c017", 812.0), (11, "c054", 340.5), (13, "c101", 395.0), (15, "c017", 999.0),
        (18, "c160", 420.0), (19, "c033", 1250.0),
    ):  # fmt: skip
        tried = MIDNIGHT + hour * HOUR + chance.randrange(0, HOUR, 1000)
        used = tried + chance.randrange(5_000, 50_000, 1000)
        day += [Charge(tried, card, "NL", 1.0), Charge(used, card, "BR", amount)]
    return sorted(day)


def _honest(chance: Random, card: str) -> list[Charge]:
    """Somebody's charges: most at home, some little, some large."""
    home = chance.choice(COUNTRIES)
    times = [MIDNIGHT + chance.randrange(7 * HOUR, 22 * HOUR, 1000) for _ in range(12)]
    return [
        Charge(
            time,
            card,
            home if chance.random() < 0.95 else chance.choice(COUNTRIES),
            round(chance.choice((1.5, 20.0, 60.0, 400.0)) * chance.uniform(0.5, 1.5), 2),
        )
        for time in times
    ]
