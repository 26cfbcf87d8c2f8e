"""Three made-up days of clicks on a web shop, always the same, in files that arrive one by one.

``python click_stream.py inbox 1`` puts the files of the first day into the directory ``inbox``.
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
FIRST = int(datetime(2025, 6, 2, tzinfo=UTC).timestamp()) * 1000
FILES = 6
USERS = [f"u{number:02}" for number in range(25)]
PAGES = ("home", "search", "lamps", "desks", "chairs", "cart", "paid")


def clicks(day: int) -> list[dict[str, Any]]:
    """The clicks of a day (1, 2 or 3), in the order in which they arrive."""
    chance = Random(day)
    midnight = FIRST + (day - 1) * DAY
    arriving: list[tuple[int, dict[str, Any]]] = []
    for user in USERS:
        for start in chance.sample(range(6 * HOUR, 21 * HOUR, 17 * MINUTE), 3):
            at = midnight + start + USERS.index(user)
            for page in chance.choices(PAGES, k=chance.randrange(1, 8)):
                at += chance.randrange(1, 25 * MINUTE)
                # most arrive within a minute; some phones have been in a tunnel
                delay = 50 * MINUTE if chance.random() < 0.1 else chance.randrange(MINUTE)
                arriving.append((at + delay, {"user": user, "time": at, "page": page}))
    arriving.sort(key=lambda pair: pair[0])
    found = [click for _, click in arriving]
    if day > 1:  # a phone that was off since yesterday
        found.insert(150, {"user": "u03", "time": midnight - 12 * HOUR, "page": "home"})
    # the last click comes late enough to bring the time forward
    return [*found, {"user": "night owl", "time": midnight + DAY - 1, "page": "home"}]


def files(day: int) -> dict[str, str]:
    """Names and contents of the files of a day."""
    rows = [json.dumps(click) for click in clicks(day)]
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
