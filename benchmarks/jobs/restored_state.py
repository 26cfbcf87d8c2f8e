"""How long workers take to restore a large state from checkpoint files, without Spark.

    python restored_state.py --checkpoint-dir DIR [--keys K] [--workers W]

The state of a job with so many keys is written as its workers write it: 67 epochs that bring new
keys, each with its part of the incremental compaction. Then it is restored by as many processes at
a time as there are workers, in three ways: into nothing (every piece is read, checked and decoded
into one dict, and dropped: the least that this format takes), into dicts, and into RocksDB. Prints
one JSON line: per way the ``seconds`` of the slowest worker, the ``cpu`` seconds of all of them and
the ``peak`` bytes of the largest. Takes about 350 bytes of memory per key.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millrace.spark.task import worker
from millrace.state.backend.rocksdb import EmbeddedRocksDBStateBackend
from millrace.state.backend.state_backend import HashMapStateBackend, StateBackend, SubtaskId
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.checkpoint.segment import write_segment
from millrace.state.delta_payload import contents, entries_in, table_deltas_of
from millrace.state.state_delta import StateDelta, live
from millrace.state.store import EMPTY, SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT

EPOCHS = 67
PAYLOAD = "x" * 40
TABLE = TableId("operator", "value")
WAYS = "nothing", "hashmap", "rocksdb"


def value_of(key: int) -> tuple[int, str, float]:
    """About 100 bytes."""
    return key, f"{key:012d}{PAYLOAD}", key / 7


class Part:
    """What one worker does."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.directory = Path(args.checkpoint_dir, f"worker-{args.part}")
        self.keys = range(args.part, args.keys, args.workers)
        self.place = SubtaskId("restored", "run", "stage", args.part)

    def write(self) -> dict[str, Any]:
        """Run the epochs."""
        (self.directory / "shared").mkdir(parents=True)
        state, deltas = SubtaskState(), list[StateDelta]()
        table, version = state.table(TABLE, FLAT), EMPTY
        step = -(-len(self.keys) // EPOCHS)
        for epoch in range(1, EPOCHS + 1):
            keys = self.keys[(epoch - 1) * step : epoch * step]
            state.align(version, deltas[-1:], DeltaLoader(self.directory))
            entries = table.writable(keys)
            for key in keys:
                entries[key] = value_of(key)
            name = f"{epoch}.segment"
            delta = state.snapshot(
                epoch, f"v{epoch}", lambda p, name=name: write_segment(self.directory, name, p)
            )
            if delta is not None:
                version, deltas = delta.version, live([*deltas, delta])
        with (self.directory / "deltas").open("wb") as file:
            pickle.dump(deltas, file)
        return {"bytes": sum(delta.size() for delta in deltas)}

    def deltas(self) -> list[StateDelta]:
        with (self.directory / "deltas").open("rb") as file:
            found: list[StateDelta] = pickle.load(file)
        return found

    def nothing(self) -> None:
        """Only decode."""
        load = DeltaLoader(self.directory)
        for delta in self.deltas():
            for content in contents(delta, load):
                for _, _, _, stored in entries_in(content):
                    for table_delta in table_deltas_of(stored):
                        table_delta.clear()

    def restore(self, backend: StateBackend) -> None:
        state = SubtaskState(backend=backend.create_keyed_state_backend(self.place))
        deltas = self.deltas()
        state.restore(deltas[-1].version, deltas, DeltaLoader(self.directory))
        some = self.keys[:: max(1, len(self.keys) // 1000)]
        table = state.table(TABLE, FLAT)
        table.prefetch(some)
        assert all(table.get(key) == value_of(key) for key in some), "another state was restored"
        if isinstance(backend, EmbeddedRocksDBStateBackend):
            state.close()

    def hashmap(self) -> None:
        self.restore(HashMapStateBackend())

    def rocksdb(self) -> None:
        backend = EmbeddedRocksDBStateBackend()
        backend.set_db_storage_paths(str(self.directory))
        self.restore(backend)


def act(part: Part, name: str) -> dict[str, Any]:
    """Run a method of a part in this process, which is as a worker is."""
    worker()
    method: Callable[[], dict[str, Any] | None] = getattr(part, name)
    started = time.perf_counter()
    found = method() or {}
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": time.perf_counter() - started,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss << 10,
        **found,
    }


def by_all(args: argparse.Namespace, name: str) -> dict[str, Any]:
    """The same by all workers at a time."""
    commands = [
        [sys.executable, *sys.argv, "--part", str(n), "--act", name] for n in range(args.workers)
    ]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for command in commands]
    outputs = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        raise SystemExit(f"a worker failed to do '{name}'")
    found = [json.loads(output) for output in outputs]
    return {
        "seconds": max(report["seconds"] for report in found),
        "cpu": sum(report["cpu"] for report in found),
        "peak": max(report["peak"] for report in found),
        "bytes": sum(report.get("bytes", 0) for report in found),
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--keys", type=int, default=20_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--part", type=int, help="used by the script itself")
    parser.add_argument("--act", help="used by the script itself")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    if args.act:
        print(json.dumps(act(Part(args), args.act)))
        return
    report: dict[str, Any] = {
        "keys": args.keys,
        "workers": args.workers,
        "write": by_all(args, "write"),
    }
    report |= {way: by_all(args, way) for way in WAYS}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
