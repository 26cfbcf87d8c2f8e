"""Messages between the driver and its resident workers."""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path

import msgspec

from millrace.common.errors import JobExecutionError
from millrace.runtime.epoch import EpochPlan
from millrace.runtime.program import Program
from millrace.runtime.resident.frames import MOST_PAYLOAD, Body
from millrace.state.serialization.pickles import dump_pickle

__all__ = [
    "HeldSubtask",
    "Hello",
    "News",
    "WorkerAddress",
    "ProgramLoader",
    "LoadFailure",
    "Wiring",
    "decode_news",
    "decode_plan",
    "encode_news",
    "encode_plan",
    "host_id",
    "require_sendable",
]

ProgramLoader = Callable[[bytes], Program]
"""Function that decodes a program. Called once per attempt, so it should remember the last one."""


class News(IntEnum):
    """Reason why an open epoch may end."""

    RECORDS = 0
    """Something has been processed that is worth a checkpoint."""
    REQUEST = 1
    """An operator waits for the next epoch: a reader's request, feedback, a file to close."""
    EXHAUSTED = 2
    """The run has no more input for the sources of this task."""
    IDLENESS = 3
    """A subtask knows only after a barrier which of its channels are idle."""


class WorkerAddress(msgspec.Struct, frozen=True):
    """Addresses at which a worker accepts connections of other workers."""

    host: str
    """Identity of the machine, for workers that share it."""
    unix: str = ""
    """Path of a socket for workers on the same machine."""
    tcp: str = ""

    def addresses_from(self, other: WorkerAddress) -> list[str]:
        """Addresses at which the worker at ``other`` can reach this worker, the preferred one
        first. The Unix socket alone is not enough, because containers may share a host's name but
        no files.
        """
        here = [f"unix:{self.unix}"] if self.unix and self.host == other.host else []
        return [*here, self.tcp] if self.tcp else here


class HeldSubtask(msgspec.Struct, frozen=True, array_like=True):
    """Identity of a subtask whose state is in the memory of a process."""

    run: str
    stage: int
    index: int


class Hello(msgspec.Struct, frozen=True):
    """First message of a worker to the driver."""

    worker: str
    """Name of the process, as host:pid."""
    place: WorkerAddress
    attempt: int
    """Spark's number of the task attempt, by which a frozen one is killed."""
    held: tuple[HeldSubtask, ...] = ()
    """Subtasks whose state the process has, from a task that it ran before."""

    def encode(self) -> bytes:
        """The message as bytes."""
        return msgspec.json.encode(self)

    @staticmethod
    def decode(body: Body) -> Hello:
        """The message from the bytes of `encode`."""
        return msgspec.json.decode(body, type=Hello)


@dataclass(frozen=True)
class Wiring:
    """Message with which the driver wires the tasks of an attempt: it has the program and the
    address of each task.
    """

    attempt: int
    """Number of the attempt, never used again in a run. A process of an earlier attempt is refused
    by all others."""
    program: bytes
    places: tuple[WorkerAddress, ...]
    """WorkerAddress of each task."""
    buffer_timeout: float | None = 0.005
    """Seconds that records wait at most for a buffer to fill. None: there is no such time."""
    task: int = 0
    """Number of the receiving task among ``places``."""
    saturated_timeout: float = 0.0
    """`buffer_timeout` in a saturated worker."""

    def encode(self) -> bytes:
        """The message as bytes."""
        return pickle.dumps(self, 5)

    @staticmethod
    def decode(body: Body) -> Wiring:
        """Decode the bytes of `encode`. They must come from an authenticated driver."""
        wiring = pickle.loads(body)
        assert isinstance(wiring, Wiring)
        return wiring


class LoadFailure(msgspec.Struct, frozen=True):
    """Message of a worker that cannot load the program or a plan from the driver."""

    attempt: int
    """Number of the attempt that the worker is, or was to be, wired for."""
    what: str
    """Name of the thing that cannot be loaded, for messages."""
    traceback: str
    is_lasting: bool
    """Whether another attempt would fail for the same reason."""

    def encode(self) -> bytes:
        """The message as bytes."""
        return msgspec.json.encode(self)

    @staticmethod
    def decode(body: Body) -> LoadFailure:
        """The message from the bytes of `encode`."""
        return msgspec.json.decode(body, type=LoadFailure)


def encode_plan(plan: EpochPlan) -> bytes:
    """Encode the part of a plan that concerns one task.

    Raises:
        JobExecutionError: it is too big.
    """
    body = dump_pickle(plan)
    what = "the plan of a task (splits, and state that checkpoints hold inline)"
    way_out = "Make the source's splits smaller, or lower millrace.state.inline-limit"
    require_sendable(body, what, way_out)
    return body


def decode_plan(body: Body) -> EpochPlan:
    """The plan from the bytes of `encode_plan`, from an authenticated driver."""
    plan = pickle.loads(body)
    assert isinstance(plan, EpochPlan)
    return plan


def encode_news(epoch: int, news: News) -> bytes:
    """News of an epoch as bytes."""
    return f"{epoch} {int(news)}".encode()


def decode_news(body: Body) -> tuple[int, News]:
    """The epoch number and the news in a message."""
    epoch, _, news = body.partition(b" ")
    return int(epoch), News(int(news))


def require_sendable(body: bytes, what: str, way_out: str) -> None:
    """Raise a JobExecutionError if a message to a task is too big."""
    if len(body) > MOST_PAYLOAD:
        raise JobExecutionError(
            f"resident tasks get at most {MOST_PAYLOAD:,} bytes at a time, and {what} takes "
            f"{len(body):,}. {way_out}"
        )


@cache
def host_id() -> str:
    """Identity of this machine since it was started."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    started = boot.read_text().strip() if boot.exists() else ""
    return f"{socket.gethostname()}/{started}/{os.getuid()}"
