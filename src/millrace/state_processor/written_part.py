"""The part of a savepoint that one task has written, in the form in which the task reports it."""

from __future__ import annotations

import dataclasses
import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from millrace.common.errors import UserFunctionError
from millrace.runtime.epoch import Failure
from millrace.state.checkpoint.delta_file import SUFFIX, DeltaFileRef, write_delta_file
from millrace.state.serialization.payload import decode, encode
from millrace.state.store import SubtaskState

__all__ = ["WrittenPart", "failed", "read_answer", "write_part"]


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A delta file with the state of one or more subtasks of a stage."""

    stage: str
    versions: dict[int, str]
    """Version of each subtask's state."""
    file: DeltaFileRef

    def encode(self) -> bytes:
        """The answer of a task."""
        return encode((True, self.stage, self.versions, dataclasses.astuple(self.file)))


def write_part(
    directory: str, stage: str, subtasks: Iterable[int], state: SubtaskState, epoch: int
) -> WrittenPart | None:
    """Write a state that all of ``subtasks`` share; None if it is empty.

    Raises:
        CheckpointError: the file system refused.
        SerializationError: a value cannot be written.
    """
    attempt = uuid.uuid4().hex[:12]
    delta = state.snapshot(epoch, attempt)
    if delta is None:
        return None
    versions = {subtask: f"{attempt}-{subtask}" for subtask in subtasks}
    entries = [
        (stage, subtask, dataclasses.replace(delta, version=version))
        for subtask, version in versions.items()
    ]
    name = f"{attempt}-{min(versions)}{SUFFIX}"
    written = write_delta_file(os.fspath(directory), name, entries)
    return WrittenPart(stage, versions, written.ref)


def failed(failure: Failure) -> bytes:
    """Answer of a task whose user function failed, so that a retry would not help."""
    return encode((False, failure.operator, failure.record, failure.user_traceback))


def read_answer(answer: bytes) -> WrittenPart | None:
    """The part that a task wrote.

    Raises:
        UserFunctionError: a function of the user failed.
    """
    if not answer:
        return None
    done, *rest = decode(answer)
    if not done:
        raise UserFunctionError(*rest)
    stage, versions, ref = rest
    return WrittenPart(stage, versions, DeltaFileRef(*ref))
