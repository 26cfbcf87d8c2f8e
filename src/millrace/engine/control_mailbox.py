"""Mailbox of a job, by which other processes communicate with it without a port.

The mailbox is the directory ``control`` in the job's checkpoint directory. Only the owner of the
job may write there (mode 0700). The owner puts a request into a file, and the running job answers
with another file. ``run.json`` names the running process. It lives as long as it holds a lock,
which the operating system releases when the process dies. A request names its run, so a request to
an earlier run is never carried out.

Requests and answers are small JSON objects with the fields of `MailboxRequest` and `MailboxAnswer`,
and no others.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from millrace.common.errors import JobControlError
from millrace.common.typed_json import learn
from millrace.state.checkpoint.files import StrPath, delete_quietly, write_file

__all__ = ["CONTROL", "Mailbox", "MailboxAnswer", "MailboxRequest", "RunNote"]

CONTROL = "control"
MAX_BYTES = 64 * 1024
"""Limit for the bytes of a request or answer."""
_NOTE = "run.json"
_ALIVE = "alive.lock"
_REQUEST = re.compile(r"request-([0-9a-f]{16})\.json")
_ID = re.compile(r"[0-9a-f]{16}")

T = TypeVar("T", "RunNote", "MailboxRequest", "MailboxAnswer")


class RunNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Process that runs the job: the content of ``run.json``."""

    run_id: str
    job_name: str
    job_id: str
    host: str
    pid: int
    since: int
    """Milliseconds since the epoch of Unix."""

    def __str__(self) -> str:
        return f"process {self.pid} on host {self.host}"


class MailboxRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request to a running job."""

    id: str
    run_id: str
    """Id of the run that the request is for."""
    command: str
    arguments: dict[str, Any]


class MailboxAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Answer of the job to a request. After "accepted", another answer follows."""

    id: str
    state: Literal["accepted", "done", "failed"]
    result: dict[str, Any] = {}
    error: str = ""


class Mailbox:
    """Mailbox of one job. The running job has such an object, and so has each process that sends
    requests to the job.

    Example:
        >>> import tempfile
        >>> mailbox = Mailbox(tempfile.mkdtemp())
        >>> note = RunNote("r1", "count", "count-1", "host", 1, 0)
        >>> with mailbox.open_for(note):
        ...     id = mailbox.send("r1", "status", {})
        ...     [request] = mailbox.requests()
        ...     mailbox.answer(MailboxAnswer(id, "done", {"epoch": 7}))
        ...     mailbox.receive(id).result
        {'epoch': 7}
        >>> mailbox.running() is None
        True
    """

    def __init__(self, job_dir: StrPath) -> None:
        self.directory = Path(job_dir, CONTROL)

    # -- the side of those who operate the job -------------------------------------------------

    def running(self) -> RunNote | None:
        """Process that runs the job; None if no process can be reached (yet).

        Raises:
            JobControlError: the mailbox belongs to another user, so its lock cannot be checked.
        """
        if not self.is_open():
            return None
        try:
            return _read(self.directory / _NOTE, RunNote)
        except (FileNotFoundError, JobControlError):
            return None

    def is_open(self) -> bool:
        """Whether a run holds the mailbox. A run holds it from just before it writes its note until
        just after it has removed the note.

        Raises:
            JobControlError: the mailbox belongs to another user, so its lock cannot be checked.
        """
        return _is_locked(self.directory / _ALIVE)

    def send(
        self, run_id: str, command: str, arguments: dict[str, Any], id: str | None = None
    ) -> str:
        """Put a request into the mailbox; returns its id.

        Args:
            id: result of `new_id`, for a caller that must know the id before; None for a new id.

        Raises:
            JobControlError: the mailbox belongs to another user, or cannot be written.
        """
        request = MailboxRequest(id or self.new_id(), run_id, command, arguments)
        if not os.access(self.directory, os.W_OK | os.X_OK):
            raise JobControlError(
                f"{self.directory} cannot be written: only the user who runs a job can operate it"
            )
        _write(self._request_path(request.id), request)
        return request.id

    @staticmethod
    def new_id() -> str:
        """New id, which no request has."""
        return secrets.token_hex(8)

    def is_waiting(self, id: str) -> bool:
        """Whether the job has not taken the request yet."""
        return self._request_path(id).exists()

    def withdraw(self, id: str) -> bool:
        """Withdraw a request; False if the job has already taken it."""
        try:
            self._request_path(id).unlink()
        except FileNotFoundError:
            return False
        return True

    def receive(self, id: str, remove: bool = True) -> MailboxAnswer | None:
        """Latest answer to a request, or None. A final answer is removed unless ``remove`` is
        False."""
        path = self._answer_path(id)
        try:
            answer = _read(path, MailboxAnswer)
        except FileNotFoundError:
            return None
        if remove and answer.state != "accepted":
            delete_quietly(path)
        return answer

    # -- the side of the job ---------------------------------------------------------------------

    @contextlib.contextmanager
    def open_for(self, note: RunNote) -> Iterator[None]:
        """Receive requests as the run in ``note``.

        Raises:
            BlockingIOError: the previous run has not ended yet.
            JobControlError: the directory is not safe to take requests from.
        """
        self._make_directory()
        lock = os.open(self.directory / _ALIVE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._sweep()
            _write(self.directory / _NOTE, note)
            try:
                yield
            finally:
                delete_quietly(self.directory / _NOTE)
        finally:
            os.close(lock)

    def requests(self) -> list[MailboxRequest | MailboxAnswer]:
        """Yield the new requests. For a file that is not a valid request, yield the answer that
        refuses it.
        """
        requests: list[MailboxRequest | MailboxAnswer] = []
        with contextlib.suppress(FileNotFoundError):
            for entry in sorted(os.scandir(self.directory), key=lambda entry: entry.name):
                match = _REQUEST.fullmatch(entry.name)
                if match is not None and not entry.is_dir(follow_symlinks=False):
                    requests += self._read_request(match[1])
        return requests

    def _read_request(self, id: str) -> list[MailboxRequest | MailboxAnswer]:
        path = self._request_path(id)
        try:
            request = _read(path, MailboxRequest)
            if request.id != id:
                raise JobControlError(f"{path} holds the request {request.id!r}")
        except FileNotFoundError:  # withdrawn
            return []
        except JobControlError as error:
            return [MailboxAnswer(id, "failed", error=str(error))]
        return [request]

    def take(self, id: str) -> bool:
        """Remove a request from the mailbox before it is carried out. Returns False if it must not
        be carried out: it was withdrawn, or its file cannot be removed, so that it would be carried
        out repeatedly.
        """
        try:
            return self.withdraw(id)
        except OSError:
            return False

    def answer(self, answer: MailboxAnswer) -> None:
        """Answer a request.

        Raises:
            CheckpointError: the file system refused.
        """
        _write(self._answer_path(answer.id), answer)

    def _make_directory(self) -> None:
        with contextlib.suppress(FileExistsError):
            self.directory.mkdir(mode=0o700)
        status = os.lstat(self.directory)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise JobControlError(f"{self.directory} is not a directory of the user who runs this")
        if stat.S_IMODE(status.st_mode) != 0o700:
            self.directory.chmod(0o700)

    def _sweep(self) -> None:
        """Remove files of earlier runs, for which no process waits any more."""
        for entry in os.scandir(self.directory):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != _ALIVE:
                delete_quietly(entry.path)

    def _request_path(self, id: str) -> Path:
        return self.directory / f"request-{_checked(id)}.json"

    def _answer_path(self, id: str) -> Path:
        return self.directory / f"answer-{_checked(id)}.json"


def _checked(id: str) -> str:
    if not _ID.fullmatch(id):
        raise JobControlError(f"{id!r} is not the id of a request")
    return id


def _is_locked(path: Path) -> bool:
    """Whether a process holds the lock. The check itself takes the lock, shared, for an instant."""
    try:
        # a pipe in the place of the file would have this wait for its writer
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except PermissionError:
        raise JobControlError(
            f"{path.parent} belongs to another user: only that user can see whether the job runs"
        ) from None
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _write(path: Path, content: RunNote | MailboxRequest | MailboxAnswer) -> None:
    data = json.dumps(msgspec.structs.asdict(content)).encode()
    if len(data) > MAX_BYTES:
        raise JobControlError(f"a message of {len(data)} bytes is too long for {path.parent}")
    write_file(path, (data,), durable=False)


def _read(path: Path, kind: type[T]) -> T:
    """Content of a file. Raises FileNotFoundError, or JobControlError if the content is invalid."""
    data = _bytes_of(path)
    try:
        # not by msgspec: a directory's name need not be Unicode
        fields = json.loads(data, object_pairs_hook=_object, parse_constant=_no_constant)
        learn(kind)
        return msgspec.convert(fields, kind)
    except (ValueError, RecursionError) as error:
        raise JobControlError(f"{path} is not a valid message: {error}") from None


def _bytes_of(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise JobControlError(f"cannot read {path}: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise JobControlError(f"{path} is not a file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise JobControlError(f"{path} is longer than a message can be")
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field is there twice")
    return fields


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
