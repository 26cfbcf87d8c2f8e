"""The lease of a job directory: one owner at a time, and none that was superseded may publish.

Two things guard against two drivers. An exclusive `flock` on ``lease.lock``, held as long as the
run lives, refuses a second driver at once; the operating system frees it when the process dies, be
it by kill -9. And a token in ``lease.json`` that grows with each owner: whatever makes results
visible runs inside `Lease.guard`, which holds ``commit.lock`` and checks that the token is still
ours. A takeover raises the token under that same lock, so an owner that was believed dead finds
out before it can do harm. Flink leaves this to its high-availability services (Flink docs, "High
Availability", leader election).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from millrace.common.errors import LeaseError, LeaseLostError
from millrace.state.checkpoint.files import StrPath, make_directory, write_file

__all__ = ["Lease", "Owner"]

LOCK = "lease.lock"
RECORD = "lease.json"
COMMIT_LOCK = "commit.lock"

_OURS_ALONE = 0o700
REMEMBERED = 100
"""Former runs that are remembered."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds, or held last, the lease: the content of ``lease.json``."""

    token: int
    run_id: str
    host: str
    pid: int
    since: int
    """Milliseconds since the epoch of Unix."""
    former: tuple[str, ...] = ()
    """The runs before it, oldest first, as far as they are remembered."""

    def __str__(self) -> str:
        return f"run {self.run_id} on host {self.host}, process {self.pid}"


class Lease:
    """The right to write checkpoints of a job and to commit its sinks.

    Example:
        >>> import tempfile
        >>> job_dir = tempfile.mkdtemp()
        >>> lease = Lease.acquire(job_dir, "run-1")
        >>> with lease.guard():
        ...     pass  # publish a checkpoint, commit the sinks
        >>> lease.release()

    A lease is taken with `acquire`, not made. Child processes that are forked without executing
    another program share the lock: it lives as long as any of them.
    """

    def __init__(self, job_dir: Path, owner: Owner, lock: int) -> None:
        self.owner = owner
        self._job_dir = job_dir
        self._lock: int | None = lock
        self._guards = threading.RLock()
        self._depth = 0

    @staticmethod
    def acquire(job_dir: StrPath, run_id: str, now: int | None = None) -> Lease:
        """Take the lease of a job directory, which is made if it is missing.

        Args:
            run_id: identifies the run; in its files' names and in the message to others.
            now: milliseconds since the epoch of Unix; None asks the system's clock.

        Raises:
            LeaseError: another run holds it; says which one and what to do.
        """
        directory = Path(job_dir)
        make_directory(directory, mode=_OURS_ALONE)
        lock = _lock_current(directory / LOCK)
        if lock is None:
            raise LeaseError(_refusal(directory))
        return _take(directory, run_id, now, lock)

    def verify(self) -> None:
        """Raises LeaseLostError unless this lease still counts."""
        if self._lock is None:
            raise LeaseLostError(f"the lease of {self._job_dir} was released")
        current = _read(self._job_dir)
        if current != self.owner:
            by = str(current) if current else "nobody: lease.json is gone"
            raise LeaseLostError(
                f"the lease of {self._job_dir} was taken over by {by}; this run must not commit"
            )
        if not _is_at(self._lock, self._job_dir / LOCK):
            raise LeaseLostError(
                f"{self._job_dir / LOCK} was replaced or deleted while this run held it; "
                "this run must not commit"
            )

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Hold this while publishing or committing; no takeover happens meanwhile. Reentrant.

        Raises:
            LeaseLostError: another run took over.
        """
        with self._guards, self._outermost_guard():
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    @contextlib.contextmanager
    def _outermost_guard(self) -> Iterator[None]:
        if self._depth:
            yield
            return
        if self._lock is None or not self._job_dir.is_dir():
            raise LeaseLostError(f"the lease of {self._job_dir} was released or deleted")
        with _commit_lock(self._job_dir):
            self.verify()
            yield

    def release(self) -> None:
        """Give the lease back; the record of its token stays, so that the next one is greater."""
        with self._guards:
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None


def _take(directory: Path, run_id: str, now: int | None, lock: int) -> Lease:
    """Enter the holder of ``lock`` as the new owner."""
    try:
        with _commit_lock(directory):
            return _record(directory, run_id, now, lock)
    except BaseException:
        os.close(lock)
        raise


def _record(directory: Path, run_id: str, now: int | None, lock: int) -> Lease:
    before = _read(directory)
    since = int(time.time() * 1000) if now is None else now
    token = before.token + 1 if before else 1
    former = (*before.former, before.run_id)[-REMEMBERED:] if before else ()
    owner = Owner(token, run_id, socket.gethostname(), os.getpid(), since, former)
    write_file(directory / RECORD, (json.dumps(asdict(owner)).encode(),), run_id=run_id)
    return Lease(directory, owner, lock)


def _read(directory: Path) -> Owner | None:
    """The owner on record; None when there never was one."""
    path = directory / RECORD
    try:
        content = json.loads(path.read_bytes())
        return Owner(**{**content, "former": tuple(content.get("former", ()))})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError) as error:
        raise LeaseError(
            f"{path} is damaged ({error}); make sure that no driver runs this job, "
            "then delete the file"
        ) from error


def _refusal(directory: Path) -> str:
    owner = _read(directory)
    return (
        f"the job directory {directory} belongs to {owner or 'another run'}; "
        "stop that run first, or give this one another name or checkpoint directory"
    )


def _open(path: Path) -> int:
    """Nobody else may open it: whoever can read a file can lock it, and so stop the job."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with contextlib.suppress(PermissionError):  # somebody else's; it is not ours to change
        os.fchmod(descriptor, 0o600)
    return descriptor


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _lock_current(path: Path) -> int | None:
    """Lock the file of that name; None when somebody else has."""
    while True:
        descriptor = _open(path)
        if not _try_lock(descriptor):
            os.close(descriptor)
            return None
        if _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)


@contextlib.contextmanager
def _commit_lock(directory: Path) -> Iterator[None]:
    """Hold ``commit.lock``; waits for who has it."""
    descriptor = _await_lock(directory / COMMIT_LOCK)
    try:
        yield
    finally:
        os.close(descriptor)


def _await_lock(path: Path) -> int:
    while True:
        descriptor = _open(path)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)
