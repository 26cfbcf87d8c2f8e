"""Transport of an epoch's plan to its tasks, each of which reads only the part of its subtasks."""

from __future__ import annotations

import base64
import pickle
import uuid
import zlib
from dataclasses import replace
from pathlib import Path

from millrace.runtime.epoch import EpochPlan, SubtaskPlan
from millrace.state.checkpoint.directory import SHARED
from millrace.state.serialization.pickles import dump_pickle

_INLINE = 64 * 1024
"""Largest size in bytes of a plan that travels with every task of its epoch; a larger plan goes to
a file."""
_COMPRESSED = 4 * _INLINE
"""Largest size in bytes of a plan that is compressed in order to travel with the tasks. Deltas
hardly shrink, and to compress many takes longer than the driver's other work in an epoch."""
_LENGTH = 8

_known: dict[int, tuple[str, EpochPlan]] = {}
"""Last plan of each task in this process, with its encoded text."""


def encode_plan(plan: EpochPlan, tasks: int) -> tuple[str, str | None]:
    """The plan for a number of tasks as the text of a property, and the file of a large plan.

    Raises:
        OSError: the file cannot be written.
    """
    parts: list[dict[tuple[int, int], SubtaskPlan]] = [{} for _ in range(tasks)]
    for subtask, part in plan.subtasks.items():
        parts[subtask[1] % tasks][subtask] = part
    encoded = [dump_pickle(replace(plan, subtasks=part)) for part in parts]
    if sum(map(len, encoded)) <= _COMPRESSED:
        compressed = [zlib.compress(part, 1) for part in encoded]
        if sum(map(len, compressed)) <= _INLINE:
            return " ".join(["i", *(base64.b64encode(part).decode() for part in compressed)]), None
    assert plan.job_dir is not None
    # workers remember the last plan by its text: no other run may use the same path
    path = Path(plan.job_dir) / SHARED / f"plan-{plan.epoch}-{plan.attempt}-{uuid.uuid4().hex}"
    lengths = (len(part).to_bytes(_LENGTH, "big") for part in encoded)
    path.write_bytes(b"".join([*lengths, *encoded]))
    return f"f {tasks} {path}", str(path)


def decode_plan(text: str, task: int) -> EpochPlan:
    """One task's part of an encoded plan; the last result is cached.

    Raises:
        OSError: the plan's file cannot be read.
    """
    known = _known.get(task)
    if known is not None and known[0] == text:
        return known[1]
    form, _, rest = text.partition(" ")
    if form == "i":
        data = zlib.decompress(base64.b64decode(rest.split(" ")[task]))
    else:
        tasks, _, path = rest.partition(" ")
        data = _part_in(path, int(tasks), task)
    plan = pickle.loads(data)
    assert isinstance(plan, EpochPlan)
    _known[task] = text, plan
    return plan


def _part_in(path: str, tasks: int, task: int) -> bytes:
    with open(path, "rb") as file:
        header = file.read(tasks * _LENGTH)
        lengths = [
            int.from_bytes(header[at : at + _LENGTH], "big")
            for at in range(0, len(header), _LENGTH)
        ]
        file.seek(len(header) + sum(lengths[:task]))
        return file.read(lengths[task])
