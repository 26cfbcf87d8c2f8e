"""Made-up measurements of a mobile network, always the same.

``python cells.py measurements.jsonl`` writes them to a file.

Four regions of six cells each tell every minute of a morning of their calls. One cell fails for a
while, and one region is congested; the link of a third one is slow, so that its measurements arrive
late; and two cells of the fourth are cut off, and tell of ten minutes long after.
"""

from __future__ import annotations

import argparse
import json
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

BEGIN = datetime(2026, 5, 4, 8)
MINUTES = 240
REGIONS = ("east", "north", "south", "west")
CELLS = 6
FAILING = "east-3"
FAILS = range(60, 95)
CONGESTED = "north"
CONGESTION = range(130, 180)
SLOW = "south"
"""Its measurements come three minutes later than the others."""
CUT_OFF = ("west-1", "west-2")
"""They tell of the minutes `CUT` all at once, long after."""
CUT = range(70, 80)
BACK = 220
Measurement = dict[str, Any]


def arriving(seed: int = 11) -> list[list[Measurement]]:
    """What arrives in each minute."""
    dice = random.Random(seed)
    minutes: list[list[Measurement]] = [[] for _ in range(MINUTES + 3)]
    for minute in range(MINUTES):
        for region in REGIONS:
            for number in range(1, CELLS + 1):
                cell = f"{region}-{number}"
                late = 3 if region == SLOW else 0
                if cell in CUT_OFF and minute in CUT:
                    late = BACK - minute
                measured = _measured(dice, minute, region, cell)
                minutes[minute + late].append(measured)
    return minutes


def _measured(dice: random.Random, minute: int, region: str, cell: str) -> Measurement:
    calls = dice.randrange(40, 80)
    chance = 0.01
    speed = dice.gauss(60, 5)
    if cell == FAILING and minute in FAILS:
        chance = 0.25
    if region == CONGESTED and minute in CONGESTION:
        chance, calls, speed = 0.08, calls * 3, speed / 4
    dropped = sum(dice.random() < chance for _ in range(calls))
    return {
        "ts": str(BEGIN + timedelta(minutes=minute)),
        "region": region,
        "cell": cell,
        "calls": calls,
        "dropped": dropped,
        "mbps": round(speed, 1),
    }


def write(path: Path) -> None:
    """Write the measurements to a file, in the order of arrival."""
    rows = (json.dumps(row) for minute in arriving() for row in minute)
    path.write_text("".join(f"{row}\n" for row in rows), "utf-8")


def main() -> None:
    """Write a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    write(parser.parse_args().path)


if __name__ == "__main__":
    main()
