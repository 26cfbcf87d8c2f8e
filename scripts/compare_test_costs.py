"""Prints what files of tests cost before and after a change, as a table in Markdown.

    python scripts/compare_test_costs.py BEFORE AFTER [--heaviest 40]

BEFORE and AFTER are directories that `pytest --costs DIRECTORY` has written.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Cost:
    """Seconds of a file's tests."""

    processor: float = 0.0
    wall: float = 0.0

    def add(self, other: Cost) -> None:
        self.processor += other.processor
        self.wall += other.wall


Costs = dict[str, Cost]


def read(directory: Path) -> Costs:
    """The costs of a run, summed over its processes."""
    costs: Costs = defaultdict(Cost)
    for path in sorted(directory.glob("*.json")):
        for name, cost in json.loads(path.read_text(encoding="utf-8"))["files"].items():
            costs[name].add(Cost(cost["processor_s"], cost["wall_s"]))
    if not costs:
        raise SystemExit(f"{directory} has no files that `pytest --costs` writes")
    return costs


def table(before: Costs, after: Costs, heaviest: int) -> str:
    """A row for each of the heaviest files of either run, and one each for the others and all."""
    names = sorted(
        before.keys() | after.keys(),
        key=lambda name: -max(before[name].processor, after[name].processor),
    )
    rows = [(f"`{name}`", [name]) for name in names[:heaviest]]
    rows += [(f"{len(names) - heaviest} others", names[heaviest:])] if names[heaviest:] else []
    rows += [("**all**", names)]
    head = "| file | processor s, before | after | wall s, before | after |"
    lines = [head, "|---|--:|--:|--:|--:|"]
    for title, summed in rows:
        of = [_sum(costs, summed) for costs in (before, after)]
        cells = [f"{cost.processor:,.0f}" for cost in of] + [f"{cost.wall:,.0f}" for cost in of]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _sum(costs: Costs, names: list[str]) -> Cost:
    total = Cost()
    for name in names:
        total.add(costs[name])
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--heaviest", type=int, default=40)
    given = parser.parse_args()
    print(table(read(given.before), read(given.after), given.heaviest))


if __name__ == "__main__":
    main()
