"""Lease of a job directory: there is one owner at a time, and a superseded owner can never publish.

The record ``lease.json`` names the owner and a token, which grows with each owner. Only a process
that has read the present record can replace it (`FileSystem.write_if`). All code that makes results
visible runs inside `Lease.guard`, which checks that the record is still ours. Flink leaves this to
its high-availability services (Flink docs, "High Availability", leader election).

If the file system has locks, a run holds one on ``lease.lock`` as long as it lives, and a second
driver is refused at once. The lock ends with the process, even after kill -9. `Lease.guard` holds
``commit.lock``, and a takeover raises the token under the same lock, so a former owner that was
believed dead notices this before it can do harm.

If there are no locks (object stores), the record has an end time, and the run renews it while it
lives. For half of this time the owner trusts the record without reading it. A process need not wait
for the end time if the recorded process has died on the same machine. Checkpoints of a superseded
owner are refused by their number (see `CheckpointStorage`).

A run started by a job server has its leader's fencing token. It takes the lease from a run with a
lesser token, even if that run lives on another machine. It checks the record and the `Fence` each
time, because a run that was left behind must not publish once its successor may start.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace

from millrace.common.errors import CheckpointError, LeaseError, LeaseLostError, MillraceError
from millrace.engine.fence import Fence
from millrace.engine.process_identity import has_died, process_space
from millrace.filesystem.file_system import FileLock, FileSystem, Version
from millrace.filesystem.registry import file_system_of
from millrace.state.checkpoint.files import StrPath, reading, writing

__all__ = ["Lease", "Owner"]


log = logging.getLogger(__name__)

LOCK = "lease.lock"
RECORD = "lease.json"
COMMIT_LOCK = "commit.lock"
LIFETIME = 60_000
"""Milliseconds for which a lease is valid in file systems without locks; it is renewed three
times in this time."""
REMEMBERED = 100
"""Number of former runs that the record keeps."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Present or last holder of the lease: the content of ``lease.json``."""

    token: int
    run_id: str
    host: str
    pid: int
    since: int
    """Milliseconds since the epoch of Unix."""
    former: tuple[str, ...] = ()
    """Runs that had the lease before, oldest first, as far as the record keeps them."""
    until: int = field(default=0, compare=False)
    """End of the lease unless it is renewed (ms since the epoch of Unix); 0 if it ends with its
    lock."""
    space: str = ""
    """Space in which the process id is unique (see `process_space`)."""
    fencing: int = 0
    """Fencing token of the server that started the run; 0 if no server started it."""

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

    A lease is taken with `acquire`, not made.
    """

    def __init__(self, record: _Record, owner: Owner, lock: FileLock | None) -> None:
        self.owner = owner
        self._record = record
        self._lock = lock
        self._renewal = None if lock else LeaseRenewal(self._renew, LIFETIME / 3000)
        self._released = False
        self._trusted_until = 0 if owner.fencing else owner.until - LIFETIME // 2
        """Time until which no other process can have taken over, if the file system has no
        locks."""
        self._guards = threading.RLock()
        self._depth = 0

    @staticmethod
    def acquire(
        job_dir: StrPath,
        run_id: str,
        now: int | None = None,
        clock: Callable[[], int] | None = None,
        fencing: int | None = None,
        fence: str | None = None,
    ) -> Lease:
        """Take the lease of a job directory, which is created if it is missing.

        Args:
            run_id: identifies the run in the names of its files and in messages to other runs.
            now: milliseconds since the epoch of Unix; None for the clock's time.
            clock: function that returns ms since the epoch of Unix; None for the system's clock.
            fencing: token of the job server that has started this process; None if none has.
            fence: directory with the fence of that server; None for the parent of ``job_dir``.

        Raises:
            LeaseError: another run holds it; says which one and what to do.
            LeaseLostError: a newer leader than the one of ``fencing`` has the job.
            CheckpointError: the directory cannot be made or written.
        """
        record = _Record(os.fspath(job_dir), clock or _system_clock, fencing or 0, fence)
        record.require_fencing()
        try:
            record.files.make_directory(record.job_dir)
            lock = record.lock() if record.files.has_locks else None
        except OSError as error:  # read only, full, no directory, or of somebody else
            raise CheckpointError(
                f"the job cannot use its directory {record.job_dir}: {error.strerror or error}. "
                "Name another place with --checkpoint-dir or execution.checkpointing.dir"
            ) from error
        try:
            with record.commit_lock():
                owner = record.enter(run_id, now)
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        return Lease(record, owner, lock)

    @staticmethod
    def last_owner(job_dir: StrPath) -> Owner | None:
        """Run that has the lease of a job directory, or had it last; None if no run ever had it.

        Raises:
            CheckpointError: the record cannot be read.
            LeaseError: it is damaged.
        """
        return _Record(os.fspath(job_dir), _system_clock, 0).read()[0]

    @property
    def has_predecessor(self) -> bool:
        """Whether another run had the lease before."""
        return self.owner.token > 1

    def verify(self) -> None:
        """Raises LeaseLostError if this run no longer has the lease."""
        job_dir = self._record.job_dir
        if self._released:
            raise LeaseLostError(f"the lease of {job_dir} was released")
        if self._record.now() < self._trusted_until:
            return
        self._record.require_fencing()
        current, _ = self._record.read()
        if current != self.owner:
            by = str(current) if current else "nobody: lease.json is gone"
            raise LeaseLostError(
                f"the lease of {job_dir} was taken over by {by}; this run must not commit"
            )
        if self._lock is not None and not self._lock.is_current():
            raise LeaseLostError(
                f"{self._record.path(LOCK)} was replaced or deleted while this run held it; "
                "this run must not commit"
            )

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Context to hold while publishing or committing. On file systems with locks, no other run
        can take over during this time. Reentrant.

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
        files, job_dir = self._record.files, self._record.job_dir
        if self._released or (files.has_directories and not files.is_directory(job_dir)):
            raise LeaseLostError(f"the lease of {job_dir} was released or deleted")
        with self._record.commit_lock():
            self.verify()
            yield

    def release(self) -> None:
        """Release the lease. The record of its token stays, so that the next token is greater."""
        with self._guards:
            if self._released:
                return
            self._released = True
            if self._lock is not None:
                self._lock.release()
            if self._renewal is not None:
                self._renewal.end()
                with contextlib.suppress(CheckpointError, LeaseError):  # it ends by itself
                    self._record.extend(self.owner, 0)

    def _renew(self) -> bool:
        now = self._record.now()
        self._trusted_until = 0  # whatever happens now, `verify` asks the record until it is over
        renewed = self._record.extend(self.owner, LIFETIME)
        if renewed and not self.owner.fencing:
            self._trusted_until = now + LIFETIME // 2
        return renewed


class _Record:
    """File that names the owner of the lease."""

    def __init__(
        self, job_dir: str, clock: Callable[[], int], fencing: int, fence: str | None = None
    ) -> None:
        self.job_dir = job_dir
        self.files: FileSystem = file_system_of(job_dir)
        self.now = clock
        self.fencing = fencing
        self._fence = Fence(fence or os.path.dirname(job_dir))

    def path(self, name: str) -> str:
        return os.path.join(self.job_dir, name)

    def read(self) -> tuple[Owner | None, Version | None]:
        """Owner on record, and version of the record; None for both if there never was one."""
        path = self.path(RECORD)
        with reading(path):
            stored = self.files.read_version(path)
        if stored is None:
            return None, None
        try:
            content = json.loads(stored[0])
            owner = Owner(**{**content, "former": tuple(content.get("former", ()))})
        except (ValueError, TypeError, AttributeError) as error:
            raise LeaseError(
                f"{path} is damaged ({error}); make sure that no driver runs this job, "
                "then delete the file"
            ) from error
        return owner, stored[1]

    def require_fencing(self) -> None:
        """Raises LeaseLostError if the server that started this process is no longer the leader."""
        if self.fencing and (least := self._fence.token()) > self.fencing:
            raise LeaseLostError(
                f"the job in {self.job_dir} has a newer leader, with the fencing token {least}; "
                f"this run was started under {self.fencing} and must not commit"
            )

    def _supersedes(self, owner: Owner | None) -> bool:
        """Whether the server that started this process has replaced the leader that started the
        recorded run. Such a run may still be active on another machine."""
        return owner is not None and 0 < owner.fencing < self.fencing

    def lock(self) -> FileLock:
        """Take the lock that a run holds during its life.

        Raises:
            LeaseError: another run is alive, and its leader has not been replaced.
        """
        path = self.path(LOCK)
        lock = self.files.lock(path)
        if lock is None:
            with self.commit_lock():
                if not self._supersedes(self.read()[0]):
                    raise self.refusal()
                self.files.delete(path)  # who holds it sees that it is not the lock any more
                lock = self.files.lock(path)
        if lock is None:
            raise self.refusal()
        return lock

    def enter(self, run_id: str, now: int | None) -> Owner:
        """Write a new owner to the record.

        Raises:
            LeaseError: the run before has not ended, or another run was faster.
        """
        before, version = self.read()
        clock = self.now()
        if before is not None and before.fencing > self.fencing > 0:
            raise LeaseLostError(
                f"{before} has the job in {self.job_dir}: it was started by a newer leader"
            )
        if before is not None and not self.files.has_locks and before.until > clock:
            if not (self._supersedes(before) or has_died(before.space, before.pid)):
                raise self.refusal()
            log.info("%s has died without releasing its lease, or was superseded", before)
        token = before.token + 1 if before else 1
        former = (*before.former, before.run_id)[-REMEMBERED:] if before else ()
        since = clock if now is None else now
        until = 0 if self.files.has_locks else clock + LIFETIME
        owner = Owner(
            token=token,
            run_id=run_id,
            host=socket.gethostname(),
            pid=os.getpid(),
            since=since,
            former=former,
            until=until,
            space=process_space(),
            fencing=self.fencing,
        )
        if not self._write(owner, version):
            raise self.refusal()
        return owner

    def extend(self, owner: Owner, milliseconds: int) -> bool:
        """Extend the owner's lease to ``milliseconds`` from now; returns whether it is still the
        owner."""
        current, version = self.read()
        if current != owner:
            return False
        return self._write(replace(owner, until=self.now() + milliseconds), version)

    def _write(self, owner: Owner, version: Version | None) -> bool:
        path, data = self.path(RECORD), json.dumps(asdict(owner)).encode()
        with writing(path):
            return self.files.write_if(path, data, version) is not None

    def refusal(self) -> LeaseError:
        owner, _ = self.read()
        return LeaseError(
            f"the job directory {self.job_dir} belongs to {owner or 'another run'}; "
            "stop that run first, or give this one another name or checkpoint directory"
            + self._advice(owner)
        )

    def _advice(self, owner: Owner | None) -> str:
        if self.files.has_locks or owner is None:
            return ""
        seconds = max(0, owner.until - self.now()) // 1000
        return f". If it has died, its lease ends in {seconds} s"

    @contextlib.contextmanager
    def commit_lock(self) -> Iterator[None]:
        """Hold ``commit.lock``, after waiting for its present holder. Do nothing if the file
        system has no locks."""
        if not self.files.has_locks:
            yield
            return
        with self.files.lock(self.path(COMMIT_LOCK), wait=True) or contextlib.nullcontext():
            yield


def _system_clock() -> int:
    return int(time.time() * 1000)


class LeaseRenewal:
    """Thread that renews the lease at intervals, until it is ended or the lease is lost.

    Args:
        renew: function that renews the lease, and returns whether this run still has it.
        interval: in seconds.
    """

    def __init__(self, renew: Callable[[], bool], interval: float) -> None:
        self._renew = renew
        self._interval = interval
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="lease-renewal", daemon=True).start()

    def end(self) -> None:
        """Stop the renewal."""
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(self._interval):
            try:
                if not self._renew():
                    return
            except (OSError, MillraceError) as error:
                log.warning("the lease could not be renewed, to be tried again: %s", error)
