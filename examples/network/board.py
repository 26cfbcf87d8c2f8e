"""The board in a terminal: dropped calls by region, a column for every five minutes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

BARS = " ▁▂▃▄▅▆▇█"
FULL = 0.08
"""Share of dropped calls at which a bar has its full height."""
Row = dict[str, Any]


def read(directory: Path) -> list[Row]:
    """The rows in the files of a table, each time in its place."""
    rows = [
        json.loads(line)
        for part in directory.glob("part-*")
        for line in part.read_text("utf-8").splitlines()
    ]
    return sorted(rows, key=lambda row: row["end"])


def bar(rate: float) -> str:
    """A share of dropped calls as a character."""
    return BARS[min(int(rate / FULL * (len(BARS) - 1)), len(BARS) - 1)]


def board(rows: Iterable[Row]) -> str:
    """A line for the network, one for each region, and its worst moment."""
    lines: dict[str, list[Row]] = {}
    for row in rows:
        if row["cell"] == "all":
            lines.setdefault(row["region"], []).append(row)
    text = []
    for region, moments in sorted(lines.items()):
        worst = max(moments, key=lambda row: row["drop_rate"])
        bars = "".join(bar(row["drop_rate"]) for row in moments)
        text.append(f"{region:6}{bars}  {worst['drop_rate']:.1%} at {worst['end'][11:16]}")
    return "\n".join(text)


def main() -> None:
    """Print the board."""
    results = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
    print(board(read(results / "board")))


if __name__ == "__main__":
    main()
