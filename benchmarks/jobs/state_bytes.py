"""What the checkpoints of a large state write, epoch by epoch, without Spark.

    python state_bytes.py --checkpoint-dir DIR --keys K --epochs N [--updates U] [--value-bytes B]

Several subtasks' states and the storage of checkpoints are driven directly: all keys are loaded,
then each epoch changes some of them at random and ends with a durable checkpoint. Every byte counts
that this process writes, as the kernel sees it. Prints one JSON line; per epoch after loading:
``written`` bytes, ``changed`` (bytes of the changed entries as such), ``files`` in the job's
directory, ``wall_ms``. Afterwards the newest checkpoint is restored and compared.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import time
from pathlib import Path
from typing import Any

from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.lease import Lease
from millrace.state.checkpoint.delta_file import DeltaEntry, DeltaLoader
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.segment import write_segment
from millrace.state.serialization.payload import encode
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT

SUBTASKS = 4
TABLE = TableId("operator", "value")
INLINE_LIMIT = 1 << 20


class Job:
    """A job's state and its checkpoints."""

    def __init__(self, directory: str, keys: int, value_bytes: int) -> None:
        self.job_dir = Path(directory) / "job"
        self._keys = keys
        self._filling = b"." * max(0, value_bytes - 8)
        self._lease = Lease.acquire(self.job_dir, "run-1")
        self.storage = CheckpointStorage(self.job_dir, "run-1", self._lease)
        self._load = DeltaLoader(self.job_dir)
        self.states = [SubtaskState() for _ in range(SUBTASKS)]
        self.tables = [state.table(TABLE, FLAT) for state in self.states]
        self._versions = dict.fromkeys(range(SUBTASKS), "")
        self._recent: list[list[StateDelta]] = [[] for _ in range(SUBTASKS)]

    def value(self, key: int, epoch: int) -> Any:
        """A value that each epoch makes anew."""
        number = key * 1_000_003 + epoch & 0x3FFF_FFFF
        return number.to_bytes(8) + self._filling if self._filling else number

    def load_all(self) -> None:
        """The first epoch: all the keys."""
        for index, table in enumerate(self.tables):
            for key in range(index, self._keys, SUBTASKS):
                table.put(key, self.value(key, 1))
        self._checkpoint(1)
        gc.freeze()

    def run_epoch(self, epoch: int, keys: list[int]) -> int:
        """Change some keys and make a checkpoint; returns the bytes of what changed."""
        changed: list[dict[int, Any]] = [{} for _ in range(SUBTASKS)]
        for key in keys:
            changed[key % SUBTASKS][key] = self.value(key, epoch)
        for index, entries in enumerate(changed):
            self.states[index].align(self._versions[index], self._recent[index], self._load)
            for key, value in entries.items():
                self.tables[index].put(key, value)
        self._checkpoint(epoch)
        return sum(len(encode(entries)) for entries in changed)

    def _checkpoint(self, epoch: int) -> None:
        deltas: list[DeltaEntry] = []
        for index, state in enumerate(self.states):
            delta = state.snapshot(epoch, f"run-1-{epoch}-0-{index}")
            if delta is not None:
                deltas.append(("stage", index, self._placed(delta, index)))
                self._versions[index] = delta.version
                self._recent[index] = [delta]
        self.storage.publish(
            Manifest(
                job_name="bytes",
                epoch=epoch,
                timestamp=epoch,
                max_parallelism=128,
                stages={"stage": SUBTASKS},
                operators={"operator": "operator"},
                versions={("stage", index): version for index, version in self._versions.items()},
                sources={},
                pending={},
            ),
            deltas,
        )

    def _placed(self, delta: StateDelta, index: int) -> StateDelta:
        if delta.size() <= INLINE_LIMIT:
            return delta
        assert isinstance(delta.data, bytes)
        reference = write_segment(self.job_dir, f"{delta.version}-{index}", delta.data)
        return StateDelta(delta.epoch, delta.version, delta.low_epoch, reference)

    def files(self) -> int:
        """How many there are in the job's directory."""
        return sum(len(names) for _, _, names in os.walk(self.job_dir))

    def restored_rightly(self) -> bool:
        """Whether another run finds what this one has."""
        self.storage.close()
        self._lease.release()
        lease = Lease.acquire(self.job_dir, "run-2")
        storage = CheckpointStorage(self.job_dir, "run-2", lease)
        manifest = storage.load_latest()
        assert manifest is not None
        deltas = storage.deltas(manifest)
        right = all(self._same(index, deltas["stage", index]) for index in range(SUBTASKS))
        storage.close()
        lease.release()
        return right

    def _same(self, index: int, deltas: list[StateDelta]) -> bool:
        state = SubtaskState()
        state.restore(self._versions[index], deltas, self._load)
        return bool(state.table(TABLE, FLAT).data == self.tables[index].data)


def written() -> int:
    """The bytes that this process has handed to the kernel."""
    for line in Path("/proc/self/io").read_text().splitlines():
        name, _, count = line.partition(": ")
        if name == "wchar":
            return int(count)
    raise OSError("/proc/self/io does not tell what was written")


def directory_bytes(directory: Path) -> int:
    """The size of all files."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--keys", type=int, required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--value-bytes", type=int, default=8)
    return parser.parse_args()


def main() -> None:
    args = arguments()
    rng = random.Random(7)
    job = Job(args.checkpoint_dir, args.keys, args.value_bytes)
    before, started = written(), time.perf_counter()
    job.load_all()
    report: dict[str, Any] = {
        "keys": args.keys,
        "updates": args.updates,
        "load_bytes": written() - before,
        "load_seconds": round(time.perf_counter() - started, 2),
        "written": [],
        "changed": [],
        "files": [],
        "wall_ms": [],
    }
    before = written()
    for epoch in range(2, args.epochs + 2):
        keys = rng.sample(range(args.keys), args.updates)
        started = time.perf_counter()
        report["changed"].append(job.run_epoch(epoch, keys))
        report["wall_ms"].append(round((time.perf_counter() - started) * 1000, 2))
        now = written()
        report["written"].append(now - before)
        report["files"].append(job.files())
        before = now
    report["directory_bytes"] = directory_bytes(job.job_dir)
    started = time.perf_counter()
    report["restored"] = job.restored_rightly()
    report["restore_seconds"] = round(time.perf_counter() - started, 2)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
