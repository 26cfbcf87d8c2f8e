"""Made-up exports of a shop, always the same: CSV files as dirty as those from real systems.

``python exports.py inbox 1`` puts the first export (of three) into the directory ``inbox``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from random import Random

HEADER = b"order,at,country,article,amount,note\n"
FILES = 4
ORDERS = 60
"""Orders of a file, wrong ones among them."""
COUNTRIES = ("BE", "DE", "FR", "NL")
ARTICLES = ("pen", "lamp", "chair")
NOTES = ("", "gift", '"call first, then ring twice"', '"it says ""fragile"" on it"', "fête")


def files(export: int) -> dict[str, bytes]:
    """Names and contents of the files of an export (1, 2 or 3)."""
    chance = Random(export)
    return {
        f"export-{export}-{number}.csv": HEADER + b"".join(_lines(chance, export, number))
        for number in range(FILES)
    }


def _lines(chance: Random, export: int, number: int) -> list[bytes]:
    first = (export - 1) * 1000 + number * 100
    lines = [_line(chance, f"A{first + index:04}") for index in range(ORDERS)]
    # exports overlap: some orders have been exported before, in another file or in this one
    for _ in range(5):
        lines.append(_line(Random(1), f"A{chance.choice([0, first]) + chance.randrange(20):04}"))
    dirty = [
        f"B{first},2025-03-03T10:00:00,NL,pen\n".encode(),
        f"B{first},2025-03-03T10:00:00,NL,pen,1.50,,,\n".encode(),
        f"B{first},2025-03-03T10:00:00,NL,pen,a lot,\n".encode(),
        f"B{first},2025-02-30T10:00:00,NL,pen,1.50,no such day\n".encode(),
        f"B{first},2025-03-03T10:00:00,NL,unicorn,1.50,no such article\n".encode(),
        f"B{first},2025-03-03T10:00:00,NL,pen,9000.00,a lot of pens\n".encode(),
        f"B{first},2025-03-03T10:00:00,NL,pen,1.50,caf".encode() + b"\xe9\n",
        b"\x00\x01\x02\xff\xfe\n",
    ]
    for line in dirty:
        lines.insert(chance.randrange(len(lines)), line)
    # a quote that nobody closes: at the end, where it can be told what it is
    return [*lines, f'B{first},2025-03-03T10:00:00,NL,pen,1.50,"open\n'.encode()]


def _line(chance: Random, order: str) -> bytes:
    at = f"2025-03-0{chance.randrange(3, 6)}T{chance.randrange(24):02}:00:00"
    amount = f"{chance.randrange(100, 99_999) / 100:.2f}"
    fields = order, at, chance.choice(COUNTRIES), chance.choice(ARTICLES), amount
    return f"{','.join(fields)},{chance.choice(NOTES)}\n".encode()


def deliver(inbox: Path, name: str, content: bytes) -> None:
    """Put a file into a watched directory, where it must appear complete."""
    inbox.mkdir(parents=True, exist_ok=True)
    hidden = inbox / f".{name}"
    hidden.write_bytes(content)
    hidden.rename(inbox / name)


def main() -> None:
    """Deliver an export."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inbox", type=Path)
    parser.add_argument("export", type=int, choices=(1, 2, 3))
    parser.add_argument("--every", type=float, default=0.5, help="seconds between two files")
    arguments = parser.parse_args()
    for name, content in files(arguments.export).items():
        deliver(arguments.inbox, name, content)
        time.sleep(arguments.every)


if __name__ == "__main__":
    main()
