"""Publishes checkpoints of small subtasks on a disk and in an object store in memory."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "stores"))

from object_store import ObjectStore

from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.lease import Lease
from millrace.filesystem.registry import register_file_system
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.state_delta import StateDelta

SUBTASKS = 128
KEPT = 10
"""Epochs after which a delta is dead."""


def publish(job_dir: str, checkpoints: int) -> list[float]:
    """Milliseconds of each checkpoint."""
    lease = Lease.acquire(job_dir, "run")
    storage = CheckpointStorage(job_dir, "run", lease)
    times = []
    for epoch in range(1, checkpoints + 1):
        version, low_epoch = f"v{epoch}", max(1, epoch - KEPT)
        content = Manifest(
            job_name="small", epoch=epoch, timestamp=0, max_parallelism=128,
            stages={"s": SUBTASKS}, operators={"s": "count"},
            versions={("s", n): version for n in range(SUBTASKS)}, sources={}, pending={},
        )  # fmt: skip
        delta = StateDelta(epoch, version, low_epoch, bytes(200))
        start = time.perf_counter()
        storage.publish(content, [("s", n, delta) for n in range(SUBTASKS)])
        with lease.guard():
            storage.note_committed(epoch)
        times.append((time.perf_counter() - start) * 1000)
    storage.close()
    lease.release()
    return times


def main() -> None:
    checkpoints = int(sys.argv[1])
    flushes, fsync = [0], os.fsync

    def counted(descriptor: Any) -> None:
        flushes[0] += 1
        fsync(descriptor)

    os.fsync = counted
    with tempfile.TemporaryDirectory() as directory:
        times = publish(f"{directory}/job", checkpoints)
    store = ObjectStore()
    register_file_system("memory", lambda: store)
    publish("memory://bucket/job", checkpoints)
    result = {
        "checkpoints": checkpoints,
        "median_ms": median(times),
        "flushes": flushes[0] / checkpoints,
        "requests": round(sum(store.requests.values()) / checkpoints),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
