"""From kill -9 to the first new output, with two gigabytes of state; and how much of that is the
restore itself.

    python benchmarks/restore_2gb.py [--keys K]     another size; prints the rows, saves nothing
"""

from __future__ import annotations

import argparse

from bar import Data, Row, Section, table
from job_process import run_ours
from large_state import directories, run_until

TITLE = "Restore"
KEYS = 20_000_000
LIMIT = 20.0
LIMIT_FROM_FILES = 30.0
FROM_FILES = "from checkpoint files"
VARIANTS = {
    FROM_FILES: (),
    "from the database on the host (execution.state-recovery.from-local)": ("--from-local",),
}
WAYS = {
    "nothing": "read, checked and decoded only: the least that the format takes",
    "hashmap": "into dicts",
    "rocksdb": "into RocksDB",
}


def measure(quick: bool) -> Data:
    return measure_with(400_000 if quick else KEYS)


def measure_with(keys: int) -> Data:
    """Measure with so many keys of about 100 bytes."""
    alone = run_ours("restored_state.py", "--keys", keys, timeout=1800)
    return {
        **{name: _restore(keys, options) for name, options in VARIANTS.items()},
        "keys": keys,
        "alone": alone,
    }


def _restore(keys: int, options: tuple[str, ...]) -> Data:
    with directories() as scratch:
        run_until(scratch, keys, *options, stop_at=keys * 5 // 4)
        again = run_until(scratch, keys, "--resume", *options, stop_at=1)
    return {"seconds": again.reports[0]["since_start"]}


def section(data: Data) -> Section:
    seconds = {name: data[name]["seconds"] for name in VARIANTS}
    best = min(seconds.values())
    what = f"restore of {data['keys']:,} keys (about {data['keys'] * 100 / 1e9:.1f} GB)"
    rows = [
        Row(
            f"{what} after kill -9, until the first new output",
            f"under {LIMIT:.0f} s",
            f"{best:.1f} s",
            best < LIMIT,
        ),
        Row(
            "the same from checkpoint files alone",
            f"under {LIMIT_FROM_FILES:.0f} s",
            f"{seconds[FROM_FILES]:.1f} s",
            seconds[FROM_FILES] < LIMIT_FROM_FILES,
        ),
    ]
    text = "State on rocksdb, parallelism 2; the time includes that of Python and the JVM to start."
    lines = [[name, f"{value:.1f} s"] for name, value in seconds.items()]
    details = [text, table(["how", "first output after"], lines)]
    if "alone" in data:
        details += _alone(data["alone"])
    return Section(rows, details)


def _alone(data: Data) -> list[str]:
    """The restore without a job around it."""
    text = (
        f"The same state, restored by {data['workers']} processes at a time without Spark, from "
        f"{data['write']['bytes'] / 1e6:,.0f} MB of live deltas. Seconds are of the slower one, "
        "CPU is that of both, with what the database does in other threads."
    )
    lines = [
        [what, f"{data[way]['seconds']:.1f} s", f"{data[way]['cpu']:.1f} s",
         f"{data[way]['peak'] / 2**20:,.0f} MiB"]
        for way, what in WAYS.items()
    ]  # fmt: skip
    return [text, table(["into what", "seconds", "CPU", "most memory of one"], lines)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=KEYS)
    found = section(measure_with(parser.parse_args().keys))
    for row in found.rows:
        print(f"{row.bar}: {row.measured} (bar: {row.required})")
    print("\n\n".join(found.details))


if __name__ == "__main__":
    main()
