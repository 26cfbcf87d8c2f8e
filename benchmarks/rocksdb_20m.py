"""Twenty million keys on rocksdb, with little memory."""

from __future__ import annotations

from bar import Data, Row, Section
from large_state import CAP, directories, run_until

TITLE = "State larger than memory"
KEYS = 20_000_000


def measure(quick: bool) -> Data:
    keys = 400_000 if quick else KEYS
    with directories() as scratch:
        first = run_until(scratch, keys, stop_at=keys * 5 // 4)
        second = run_until(scratch, keys, "--resume")
    return {
        "keys": keys,
        "peak": max(first.peak, second.peak),
        "load_seconds": first.reports[-1]["seconds"],
        "loaded": first.records,
        "resumed_records": second.records,
        "first_output": second.reports[0]["since_start"],
    }


def section(data: Data) -> Section:
    megabytes = data["peak"] / 2**20
    row = Row(
        f"{data['keys']:,} keys (about {data['keys'] * 100 / 1e9:.1f} GB) on rocksdb: most memory "
        "of a Python worker",
        f"under {CAP >> 20} MiB, restored exactly",
        f"{megabytes:.0f} MiB",
        data["peak"] < CAP,
    )
    text = (
        f"Parallelism 2. {data['loaded']:,} records in {data['load_seconds']:.0f} s, then kill -9 "
        f"of everything; the run that resumed had its first output after "
        f"{data['first_output']:.1f} s, and found every key as it was left. Memory: `VmHWM` of "
        "every worker, looked at after each epoch."
    )
    return Section([row], [text])
