"""What the files of a checkpoint cost: time, flushes to the disk, requests to an object store."""

from __future__ import annotations

from bar import Data, Row, Section
from job_process import run_ours

TITLE = "Files of a checkpoint"
CHECKPOINTS = 300
FLUSHES, REQUESTS = 6.1, 5


def measure(quick: bool) -> Data:
    return run_ours("checkpoint_files.py", CHECKPOINTS // 10 if quick else CHECKPOINTS)


def section(data: Data) -> Section:
    row = Row(
        "checkpoint of 128 small subtasks: flushes to the disk; requests to an object store",
        f"{FLUSHES:.1f}; {REQUESTS}",
        f"{data['flushes']:.1f}; {data['requests']}",
        data["flushes"] <= FLUSHES and data["requests"] <= REQUESTS,
    )
    text = (
        f"{data['checkpoints']} checkpoints with a delta of 200 bytes per subtask, each with the "
        f"note of its commit. On the disk a median of {data['median_ms']:.1f} ms, most of it one "
        "wait for the disk: what a checkpoint flushes, it flushes at once."
    )
    return Section([row], [text])
