"""What the fraud application must find, computed in plain Python from all lines at once."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from payments import DAY, FIRST, HOUR, MINUTE, files

PROBES = {1: ("probe 1", 50_000), 2: ("probe 2", 30_000), 3: ("probe 2", 30_000)}
"""Day -> the rule in force, and what is large to it."""
PLACES = {1: 10, 2: 10, 3: 20}
LIMITS = {1: {"*": 80_000}, 2: {"*": 80_000, "NL": 50_000}, 3: {"*": 80_000, "NL": 50_000}}
Found = tuple[str, str, tuple[int, ...]]
"""Kind, card, and what was paid."""


def accepted(day: int) -> list[dict[str, Any]]:
    """The payments that the files of a day bring, without those from the future."""
    found = []
    for line in "".join(files(day).values()).splitlines():
        try:
            payment = json.loads(line)
        except ValueError:
            continue
        if isinstance(payment.get("time"), int) and payment["time"] < FIRST + 30 * DAY:
            found.append(payment)
    return found


def in_order(day: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Each card, and its payments of this day in the order of their times."""
    cards = defaultdict(list)
    for payment in accepted(day):
        if day_of(payment) == day:
            cards[payment["card"]].append(payment)
    for card, paid in cards.items():
        yield card, sorted(paid, key=lambda payment: payment["time"])


def day_of(payment: dict[str, Any]) -> int:
    return (payment["time"] - FIRST) // DAY + 1


def probes(day: int) -> Iterator[Found]:
    kind, large = PROBES[day]
    for card, paid in in_order(day):
        for i, first in enumerate(paid):
            rest = [p for p in paid[i + 1 :] if p["time"] < first["time"] + 10 * MINUTE]
            second = next((n for n, p in enumerate(rest) if p["cents"] < 200), None)
            if first["cents"] < 200 and second is not None:
                last = [p for p in rest[second + 1 :] if p["cents"] > large]
                if last:
                    yield kind, card, tuple(p["cents"] for p in (first, rest[second], last[0]))


def places(day: int) -> Iterator[Found]:
    for card, paid in in_order(day):
        for i, here in enumerate(paid):
            for there in paid[i + 1 :]:
                if there["time"] >= here["time"] + PLACES[day] * MINUTE:
                    break
                if there["country"] != here["country"]:
                    yield "two places", card, (here["cents"], there["cents"])
                    break


def limits_and_countries() -> Iterator[Found]:
    """In the order of arrival, as limits change between the days."""
    spent: Counter[tuple[str, int]] = Counter()
    reported = set()
    countries = defaultdict(set)
    for day in (1, 2, 3):
        for payment in accepted(day):
            key = payment["card"], day_of(payment)
            spent[key] += payment["cents"]
            limit = LIMITS[day].get(payment["country"], LIMITS[day]["*"])
            if spent[key] > limit and key not in reported:
                reported.add(key)
                yield "daily limit", payment["card"], (limit,)
            if day == 3:
                countries[key].add(payment["country"])
    for (card, _), seen in countries.items():
        if len(seen) >= 3:
            yield "third country", card, ()


def alerts() -> Counter[Found]:
    """All alerts of the three days."""
    patterns = [found for day in (1, 2, 3) for found in (*probes(day), *places(day))]
    return Counter([*patterns, *limits_and_countries()])


def turnover() -> Counter[tuple[str, int, int]]:
    """Country, hour and cents: since version 2 runs."""
    sums: Counter[tuple[str, int]] = Counter()
    for payment in accepted(3):
        sums[payment["country"], payment["time"] // HOUR * HOUR] += payment["cents"]
    return Counter((*key, cents) for key, cents in sums.items())
