"""Made-up transfers between accounts, always the same: ``python transfers.py transfers.csv``.

Most are everyday payments, some go round in rings, and some accounts pay each other as if they were
one.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ACCOUNTS = 2_000
TRANSFERS = 6_000
RINGS = [("R1", "R2", "R3"), ("S1", "S2", "S3", "S4")]
CLIQUE = [f"Q{number}" for number in range(6)]
"""Accounts that all pay each other."""


class Transfer(NamedTuple):
    """A payment of an amount in cents, at a time in ms since the epoch."""

    payer: str
    payee: str
    cents: int
    time: int


def transfers(seed: int = 7) -> Iterator[Transfer]:
    """All transfers, in the order of time."""
    dice = random.Random(seed)
    planned = dict(_planned(dice))
    for number in range(TRANSFERS):
        time = 1_700_000_000_000 + 250 * number
        pair = planned.get(number)
        if pair is None:
            # customers pay merchants, so everyday payments close no triangle
            payer = f"A{dice.randrange(ACCOUNTS)}"
            pair = payer, f"M{int(payer[1:]) % 50}"
        yield Transfer(*pair, dice.randrange(100, 50_000), time)


def _planned(dice: random.Random) -> Iterator[tuple[int, tuple[str, str]]]:
    pairs = [(ring[n], ring[(n + 1) % len(ring)]) for ring in RINGS for n in range(len(ring))]
    pairs += [(one, two) for one in CLIQUE for two in CLIQUE if one < two]
    return zip(sorted(dice.sample(range(TRANSFERS), len(pairs))), pairs, strict=True)


def write(made: Iterable[Transfer], path: Path) -> None:
    """Write transfers to a file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(made)


def main() -> None:
    """Write all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    write(transfers(), parser.parse_args().path)


if __name__ == "__main__":
    main()
