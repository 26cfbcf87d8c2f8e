"""Made-up readings of twelve pumps, always the same: ``python machines.py data``.

Writes ``healthy.csv`` (a morning without faults, to learn from), ``shift.csv`` (eight hours with
faults) and ``labels.csv`` (what the faults are, and when: only `judge` reads it).
"""

from __future__ import annotations

import argparse
import csv
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

MACHINES = [f"pump-{number:02}" for number in range(1, 13)]
EVERY = timedelta(seconds=15)
LEARNING = datetime(2026, 3, 2, 6), timedelta(hours=4)
SHIFT = datetime(2026, 3, 3, 6), timedelta(hours=8)
SEED = 5
Reading = tuple[datetime, str, float, float]
"""Time, machine, vibration in mm/s and temperature in degrees."""


@dataclass(frozen=True)
class Fault:
    """What is wrong with a machine, and when."""

    machine: str
    kind: str
    begin: datetime
    end: datetime

    def at(self, machine: str, time: datetime) -> bool:
        """Whether the machine has the fault at this time."""
        return machine == self.machine and self.begin <= time < self.end


def faults(seed: int = SEED) -> list[Fault]:
    """The faults of the shift, none of which meets another of its machine."""
    dice = random.Random(seed)
    begin, _ = SHIFT
    planned = []
    for machine in MACHINES:
        # one fault in each third of the shift, if any
        for third in range(3):
            kind = dice.choice(["shock", "shock", "wear", "stuck", "", ""])
            since = begin + timedelta(minutes=160 * third + 30 + dice.randrange(60))
            lasts = EVERY if kind == "shock" else timedelta(minutes=40)
            if kind:
                planned.append(Fault(machine, kind, since, since + lasts))
    return sorted(planned, key=lambda fault: (fault.begin, fault.machine))


def readings(begin: datetime, lasts: timedelta, wrong: list[Fault], seed: int) -> Iterator[Reading]:
    """What the sensors measure, in the order of time."""
    dice = random.Random(seed)
    last: dict[str, Reading] = {}
    for number in range(lasts // EVERY):
        time = begin + number * EVERY
        for place, machine in enumerate(MACHINES):
            reading = _measured(dice, time, machine, place)
            for fault in wrong:
                if fault.at(machine, time):
                    reading = _disturbed(fault, reading, last[machine], dice)
            last[machine] = reading
            yield reading


def _measured(dice: random.Random, time: datetime, machine: str, place: int) -> Reading:
    """A healthy machine: each has its own level, and afternoons are warmer than mornings."""
    hour = time.hour + time.minute / 60
    vibration = 2 + 0.15 * place + dice.gauss(0, 0.2)
    temperature = 40 + place + 2 * math.sin((hour - 8) / 24 * 2 * math.pi) + dice.gauss(0, 0.5)
    return time, machine, round(vibration, 3), round(temperature, 2)


def _disturbed(fault: Fault, healthy: Reading, last: Reading, dice: random.Random) -> Reading:
    time, machine, vibration, temperature = healthy
    if fault.kind == "shock":
        return time, machine, round(vibration + dice.uniform(1.2, 4), 3), temperature
    if fault.kind == "stuck":
        return time, machine, last[2], last[3]
    # no single reading of a worn bearing is unusual, but all together are
    grown = (time - fault.begin) / (fault.end - fault.begin)
    return time, machine, round(vibration + 0.5 * grown, 3), round(temperature + 2 * grown, 2)


def write(directory: Path, seed: int = SEED) -> None:
    """Write the three files."""
    directory.mkdir(parents=True, exist_ok=True)
    wrong = faults(seed)
    for name, (begin, lasts), disturbed in (("healthy", LEARNING, []), ("shift", SHIFT, wrong)):
        with (directory / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(
                readings(begin, lasts, disturbed, seed + len(disturbed))
            )
    with (directory / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(
            (fault.machine, fault.kind, fault.begin, fault.end) for fault in wrong
        )


def main() -> None:
    """Write to a directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    write(parser.parse_args().directory)


if __name__ == "__main__":
    main()
