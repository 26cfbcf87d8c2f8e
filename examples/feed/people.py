"""Made-up people who follow each other and post, always the same, in a file for each day.

``python people.py inbox 1`` delivers the first day. One author has most of the followers; another
one is suspended on the second day.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

PEOPLE = [f"p{number:03}" for number in range(120)]
STAR = "star"
STAR_POSTS = 4
"""How many times as much the star posts as others."""
SPAMMER = "spam"
AUTHORS = [STAR, SPAMMER, *(f"a{number:02}" for number in range(20))]
FIRST = 1_772_400_000_000
"""When the first day begins, in ms since 1970."""
DAY = 86_400_000
Event = dict[str, Any]


def events(day: int) -> list[Event]:
    """What happens in a day (1 or 2), in the order of time."""
    dice = random.Random(day)
    happening: list[Event] = []
    if day == 1:
        # everybody follows the star, and a few others
        for user in PEOPLE:
            for author in [STAR, *dice.sample(AUTHORS[1:], 3)]:
                happening.append({"kind": "follow", "author": author, "user": user})
        dice.shuffle(happening)
    for number in range(400):
        chance = dice.random()
        if chance < 0.2:
            kind = "follow" if chance < 0.1 else "unfollow"
            author, user = dice.choice(AUTHORS), dice.choice(PEOPLE)
            happening.append({"kind": kind, "author": author, "user": user})
        else:
            [author] = dice.choices(AUTHORS, weights=[STAR_POSTS] + [1] * (len(AUTHORS) - 1))
            post = f"{author}'s post {day}-{number}"
            happening.append({"kind": "post", "author": author, "post": post})
    if day == 2:
        happening.insert(150, {"kind": "suspend", "author": SPAMMER})
    begin, step = FIRST + (day - 1) * DAY, DAY // len(happening)
    return [{"time": begin + n * step, **event} for n, event in enumerate(happening)]


def deliver(inbox: Path, day: int) -> None:
    """Put the file of a day into a watched directory, where it must appear complete."""
    inbox.mkdir(parents=True, exist_ok=True)
    hidden = inbox / f".day-{day}.jsonl"
    hidden.write_text("".join(f"{json.dumps(event)}\n" for event in events(day)), "utf-8")
    hidden.rename(inbox / f"day-{day}.jsonl")


def main() -> None:
    """Deliver a day."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inbox", type=Path)
    parser.add_argument("day", type=int, choices=(1, 2))
    arguments = parser.parse_args()
    deliver(arguments.inbox, arguments.day)


if __name__ == "__main__":
    main()
