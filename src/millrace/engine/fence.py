"""The fence of a job: a token below which no process of it may publish any more.

A job server that leads gives its fencing token to the processes that it starts, and raises the
fence of a job before it starts one in place of a process that another server left behind. It is the
file ``fence.json`` in the directory where the server keeps the job, wherever its checkpoints are.
Flink: ``LeaderElection`` and the leader session id, which Flink's components compare where we
compare tokens.
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
"""The environment variable with the token of the leader that has started this process."""
FENCE = "MILLRACE_FENCE"
"""The environment variable with the directory where that server keeps the fence of the job."""
RECORD = "fence.json"


class _Record(msgspec.Struct, frozen=True):
    token: int


class Fence:
    """The fence around the jobs in a directory.

    Args:
        directory: where a job server keeps the job.

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
        """The least token that may publish; 0: nothing was ever fenced off.

        Raises:
            CheckpointError: the file cannot be read.
            LeaseError: it is damaged.
        """
        return self._read()[0]

    def raise_to(self, token: int) -> None:
        """Let nothing publish any more that was started under a lesser token.

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
            found = self._files.read_version(self._path)
        if found is None:
            return 0, None
        try:
            return decode_json(found[0], _Record).token, found[1]
        except msgspec.MsgspecError as error:
            raise LeaseError(
                f"{self._path} is damaged ({error}); make sure that only the job server that leads "
                "runs this job, then delete the file"
            ) from error


def own_fencing_token() -> int | None:
    """The token under which this process was started; None: by no job server."""
    with suppress(KeyError, ValueError):
        return int(os.environ[FENCING_TOKEN])
    return None


def own_fence() -> str | None:
    """The directory with the fence of the job of this process; None: no job server has one."""
    return os.environ.get(FENCE) or None
