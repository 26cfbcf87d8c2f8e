"""Record of the subtask that has its turn in a process. It survives the death of the process.

A process that dies of a signal, or is killed, has no last words. The driver reads what ran from the
record, a small file in the job's directory that the worker overwrites with each turn.
"""

from __future__ import annotations

import mmap
import os
import struct
from contextlib import suppress

import msgspec

from millrace.common.typed_json import decode_json

__all__ = ["SUFFIX", "RecordedTurn", "TurnRecord", "read_turn"]

SUFFIX = ".turn"
_LENGTH = struct.Struct("<I")
_MOST_BYTES = 4096


class RecordedTurn(msgspec.Struct, frozen=True):
    """The subtask that a process ran last."""

    run_id: str
    stage: int
    subtask: int
    stage_name: str

    def encode(self) -> bytes:
        """The record's content."""
        data = msgspec.json.encode(self)
        if len(data) > _MOST_BYTES - _LENGTH.size:
            data = msgspec.json.encode(msgspec.structs.replace(self, stage_name=""))
        return _LENGTH.pack(len(data)) + data


class TurnRecord:
    """File of the running subtask of this process.

    The file is mapped into memory, since a turn can be shorter than two calls of the system. The
    content of a mapped file outlives a process that is killed.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        with suppress(FileExistsError):
            os.mkdir(os.path.dirname(path), 0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            # A disk that is full must be noticed here: later it would kill the process (SIGBUS).
            os.posix_fallocate(descriptor, 0, _MOST_BYTES)
            self._content = mmap.mmap(descriptor, _MOST_BYTES)
        except OSError:
            os.unlink(path)
            raise
        finally:
            os.close(descriptor)

    def begin(self, turn: bytes) -> None:
        """Record that a turn begins. ``turn`` is an encoded `RecordedTurn`."""
        self._content[: len(turn)] = turn

    def end(self) -> None:
        """Record that no subtask has its turn."""
        self._content[: _LENGTH.size] = _NONE

    def close(self) -> None:
        """Close and delete the file."""
        self._content.close()
        with suppress(OSError):
            os.unlink(self.path)


_NONE = _LENGTH.pack(0)


def read_turn(path: str) -> RecordedTurn | None:
    """The turn that was running when a process ended. None if no turn was running, or if this is
    not known.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES)
        (length,) = _LENGTH.unpack_from(data)
        return decode_json(data[_LENGTH.size :][:length], RecordedTurn) if length else None
    except (OSError, struct.error, msgspec.MsgspecError, ValueError):
        return None
