"""Fence of a job: processes with a token below it may not publish any more.

The leading job server gives its fencing token to the processes that it starts. Before it replaces a
process that another server left behind, it raises the fence of the job. The fence is the file
``fence.json`` in the server's directory for the job, wherever its checkpoints are. Flink:
``LeaderElection`` and the leader session id, which Flink's components compare as we compare tokens.
"""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

from millrace.common.errors import LeaseError, LeaseLostError
from millrace.common.typed_json import decode_json
from millrace.filesystem.file_system import Version
from millrace.filesystem.registry import file_system_of
from millrace.state.checkpoint.files import StrPath, reading, writing

__all__ = ["FENCE", "FENCING_TOKEN", "Fence", "own_fence", "own_fencing_token"]

FENCING_TOKEN = "MILLRACE_FENCING_TOKEN"
"""Environment variable with the token of the leader that has started this process."""
FENCE = "MILLRACE_FENCE"
"""Environment variable with the directory where that server keeps the fence of the job."""
RECORD = "fence.json"


class _Record(msgspec.Struct, frozen=True):
    token: int


class Fence:
    """Smallest fencing token with which processes may still publish in a directory of jobs.

    Args:
        directory: a job server's directory for the job.

    Example:
        >>> import tempfile
        >>> fence = Fence(tempfile.mkdtemp())
        >>> fence.raise_to(7)
        >>> fence.token()
        7
    """

    def __init__(self, directory: StrPath) -> None:
        self.directory = os.fspath(directory)
        self._files = file_system_of(self.directory)
        self._path = os.path.join(self.directory, RECORD)

    def token(self) -> int:
        """Least token that may publish; 0 if no process was ever fenced off.

        Raises:
            CheckpointError: the file cannot be read.
            LeaseError: it is damaged.
        """
        return self._read()[0]

    def raise_to(self, token: int) -> None:
        """Forbid publishing for all processes that were started under a lesser token.

        Raises:
            LeaseLostError: the fence is higher already: there is a newer leader.
            CheckpointError: the file cannot be written.
        """
        with writing(self._path):
            self._files.make_directory(self.directory)
        while True:
            current, version = self._read()
            if current > token:
                raise LeaseLostError(
                    f"{self._path} names the fencing token {current}: a newer leader has the job, "
                    f"and {token} must not start it"
                )
            data = msgspec.json.encode(_Record(token))
            with writing(self._path):
                if current == token or self._files.write_if(self._path, data, version) is not None:
                    return

    def _read(self) -> tuple[int, Version | None]:
        with reading(self._path):
            versioned = self._files.read_version(self._path)
        if versioned is None:
            return 0, None
        try:
            return decode_json(versioned[0], _Record).token, versioned[1]
        except msgspec.MsgspecError as error:
            raise LeaseError(
                f"{self._path} is damaged ({error}); make sure that only the job server that leads "
                "runs this job, then delete the file"
            ) from error


def own_fencing_token() -> int | None:
    """Fencing token with which the job server started this process; None if no job server
    started it."""
    with suppress(KeyError, ValueError):
        return int(os.environ[FENCING_TOKEN])
    return None


def own_fence() -> str | None:
    """Directory with the fence of this process's job; None if no job server has one."""
    return os.environ.get(FENCE) or None
