"""Counts in ``results`` who wrote to most feeds, and how much of it one subtask had to do."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path


def main() -> None:
    """Print the author with most deliveries, and the bucket."""
    results = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
    told = [
        json.loads(line)
        for part in sorted(results.glob("part-*"))
        for line in part.read_text("utf-8").splitlines()
    ]
    authors = Counter(one["post"].partition("'")[0] for one in told)
    buckets = Counter((one["post"].partition("'")[0], one["bucket"]) for one in told)
    for what, counts in ("author", authors), ("bucket", buckets):
        [(name, count)] = counts.most_common(1)
        print(f"{count / len(told):4.0%} of {len(told)} deliveries are of one {what}, {name}")


if __name__ == "__main__":
    main()
