"""Three made-up days of card payments, always the same, in files that arrive one after the other.

``python payments.py inbox 1`` puts the files of the first day into the directory ``inbox``.
"""

from __future__ import annotations

import argparse
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
FIRST = int(datetime(2025, 3, 3, tzinfo=UTC).timestamp()) * 1000
FILES = 6
CARDS = [f"c{number:02}" for number in range(40)]
HOMES = ("BE", "DE", "FR", "NL")


def lines(day: int) -> list[str]:
    """What the terminals send on a day (1, 2 or 3), in the order in which it arrives."""
    chance = Random(day)
    midnight = FIRST + (day - 1) * DAY
    payments = [
        *(payment for number in range(len(CARDS)) for payment in _honest(chance, number)),
        *_probes(chance),
        *_travels(chance),
    ]
    for payment in payments:
        payment["time"] += midnight
    # networks are slow, by less than five minutes
    payments.sort(key=lambda payment: payment["time"] + chance.randrange(4 * MINUTE))
    if day == 2:  # a terminal that was without a network since yesterday, one with a broken clock
        payments.insert(150, _payment("c07", 12 * HOUR + 1, 5_000, "NL") | {"time": FIRST + HOUR})
        payments.insert(80, _payment("c08", 0, 70_000, "NL") | {"time": 4_102_444_800_000})
    text = [json.dumps(payment) for payment in payments]
    text.insert(30, text[30][:40])
    text.insert(90, '{"card": "c09", "time": "noon", "cents": 100, "country": "NL"}')
    text.insert(120, '{"card": "c09", "cents": 100, "country": "NL"}')
    # the last payment of the day comes late enough to bring the time forward
    return [*text, json.dumps(_payment("c00", midnight + 21 * HOUR, 2_500, "DE"))]


def files(day: int) -> dict[str, str]:
    """Names and contents of the files of a day."""
    rows = lines(day)
    size = -(-len(rows) // FILES)
    return {
        f"day-{day}-{number}.jsonl": "".join(
            f"{row}\n" for row in rows[number * size : (number + 1) * size]
        )
        for number in range(FILES)
    }


def deliver(inbox: Path, name: str, text: str) -> None:
    """Put a file into a watched directory, where it must appear complete."""
    inbox.mkdir(parents=True, exist_ok=True)
    hidden = inbox / f".{name}"
    hidden.write_text(text, encoding="utf-8")
    hidden.rename(inbox / name)


def _payment(card: str, at: int, cents: int, country: str) -> dict[str, Any]:
    return {"card": card, "time": at, "cents": cents, "country": country}


def _honest(chance: Random, number: int) -> list[dict[str, Any]]:
    """What somebody buys between seven and eight: at home, at times for more than the limit."""
    home = HOMES[number % len(HOMES)]
    # no two payments with one card at the same time
    times = chance.sample(range(7 * HOUR + number, 20 * HOUR, 1_009), 6)
    return [
        _payment(CARDS[number], at, chance.choice((1_500, 4_000, 9_000, 20_000)), home)
        for at in times
    ]


def _probes(chance: Random) -> list[dict[str, Any]]:
    """Stolen numbers: tried twice with little, then used for a lot."""
    found = []
    for cents in (30_100, 55_000, 90_000):
        number = chance.randrange(len(CARDS))
        card, home = CARDS[number], HOMES[number % len(HOMES)]
        start = chance.randrange(9 * HOUR, 19 * HOUR, 1_013)
        for after, spent in ((0, 100), (70_000, 150), (140_000, cents)):
            found.append(_payment(card, start + after, spent, home))
    return found


def _travels(chance: Random) -> list[dict[str, Any]]:
    """Cards that pay in two countries within minutes, and again in a third a little later."""
    found = []
    for _ in range(3):
        card = chance.choice(CARDS)
        start = chance.randrange(9 * HOUR, 19 * HOUR, 1_019)
        for after, country in ((0, "ES"), (3 * MINUTE, "IT"), (15 * MINUTE, "GR")):
            found.append(_payment(card, start + after, 3_000, country))
    return found


def main() -> None:
    """Deliver a day."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inbox", type=Path)
    parser.add_argument("day", type=int, choices=(1, 2, 3))
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two files")
    arguments = parser.parse_args()
    for name, text in files(arguments.day).items():
        deliver(arguments.inbox, name, text)
        time.sleep(arguments.every)


if __name__ == "__main__":
    main()
