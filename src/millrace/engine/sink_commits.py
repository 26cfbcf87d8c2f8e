"""Commits by the driver: with retries, immediately or in the background."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobCancelledError, JobExecutionError
from millrace.common.sink import CommitRequest
from millrace.runtime.committing import Committing
from millrace.state.serialization.payload import decode

__all__ = ["FIRST_BACKOFF", "BackgroundCommits", "DriverCommits", "Pause", "backoff", "too_often"]

log = logging.getLogger(__name__)

Pause = Callable[[float], object]
"""Waits for the given number of seconds. If the job is being cancelled, it returns True at once,
and the commit is not tried again."""

FIRST_BACKOFF = 0.1
MAX_BACKOFF = 10.0
MOST_BEHIND = 20
"""Maximum number of commits that wait in the background. Their committables are kept in memory
and in every checkpoint."""
MOST_BYTES = 64 << 20
"""Limit for the total bytes of waiting commits, unless there is only one."""
_MOMENT_S = 0.002
"""Seconds that the engine waits for a step to be done. Most steps only hand records to a client,
and would have to wait for the interpreter's lock while the engine works: the records leave
earlier."""


def backoff(retries: int) -> float:
    """Seconds to wait before the next try of a commit that has failed ``retries`` times."""
    return min(MAX_BACKOFF, FIRST_BACKOFF * 2.0 ** min(retries - 1, 20))


def too_often(name: str, tries: int, reason: str) -> JobExecutionError:
    """Error for a sink whose committables could not be committed in ``tries`` tries; ``reason``
    may be empty."""
    because = f": {reason}" if reason else ", as its committer reported"
    return JobExecutionError(
        f"sink '{name}' could not be committed in {tries} tries{because}. The checkpoint is "
        "complete: resume the job to commit the rest"
    )


class DriverCommits:
    """Commits the pending committables of one sink until all are done.

    Args:
        retries: number of retries for a committable before the job fails.
    """

    def __init__(self, name: str, committing: Committing, retries: int):
        self._name = name
        self._committing = committing
        self._retries = retries
        self._begun: tuple[list[bytes], list[CommitRequest[Any]]] | None = None
        """Committables and requests of a commit that was begun before its checkpoint is
        complete."""

    def begin(self, committables: Sequence[bytes]) -> None:
        """Begin to commit while the checkpoint is being written. Errors are left to `commit`."""
        self.abandon()
        requests = [CommitRequest(decode(item)) for item in committables]
        if self._committing.begin(requests):
            self._begun = list(committables), requests

    def abandon(self) -> None:
        """Undo what was begun, because the checkpoint was not completed.

        Raises:
            JobExecutionError: the committer could not undo it.
        """
        if self._begun is not None:
            self._begun = None
            self._committing.abandon()

    def _requests(self, committables: Sequence[bytes]) -> list[CommitRequest[Any]]:
        """Requests of a commit: those with which it was begun, or new ones."""
        if self._begun is not None and self._begun[0] == list(committables):
            requests, self._begun = self._begun[1], None
            return requests
        self.abandon()
        return [CommitRequest(decode(item)) for item in committables]

    def commit(self, committables: Sequence[bytes], pause: Pause) -> None:
        """Commit, and return when all committables are committed or finally lost.

        Raises:
            JobExecutionError: a committable could not be committed; no data is lost.
            JobCancelledError: the job was cancelled in a pause.
        """
        left = self._committing.attempt(self._requests(committables))
        tries = 1
        while left:
            if tries > self._retries:
                error = next((request.error for request in left if request.error), None)
                raise too_often(self._name, tries, str(error or "")) from error
            if pause(backoff(tries)):
                raise JobCancelledError(
                    f"the job was cancelled before sink '{self._name}' had committed "
                    "everything; when it is resumed, it commits the rest"
                )
            again = [CommitRequest(request.committable, tries) for request in left]
            left = self._committing.attempt(again)
            tries += 1

    def close(self) -> None:
        """Undo what was begun, and close the committer."""
        try:
            self.abandon()
        except JobExecutionError as error:  # a new committer makes the next commit
            log.warning("%s", error)
        self._committing.close()


@dataclass(frozen=True, slots=True)
class _BackgroundCommit:
    uid: str
    checkpoint: int
    committables: list[bytes]
    future: Future[None]


class BackgroundCommits:
    """Thread that commits while the job goes on, in the order of the checkpoints.

    After a failed commit the sink makes no more, because a committer may record the position that
    it has reached. All methods are called from the engine's thread.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._running: list[_BackgroundCommit] = []
        self._failed: dict[str, BaseException] = {}
        """Errors by sink; used by the thread only."""

    def start(
        self,
        uid: str,
        checkpoint: int,
        committables: list[bytes],
        commit: Callable[[list[bytes]], None],
        ended: Callable[[], None],
    ) -> None:
        """Commit a checkpoint's committables of a sink in the background. ``ended`` is called,
        in any thread, when this is done or has failed."""
        future = self._thread().submit(self._commit, uid, committables, commit)
        self._running.append(_BackgroundCommit(uid, checkpoint, committables, future))
        future.add_done_callback(lambda _: ended())

    def prepare(self, uid: str, step: Callable[[], None]) -> None:
        """Run a step before a commit of a sink, or in place of one, but after all earlier commits.
        If one of those fails, the step is left out. If the step fails, the next commit fails, too.
        """
        future = self._thread().submit(self._step, uid, step)
        if all(commit.future.done() for commit in self._running):  # else it is not its turn
            wait((future,), _MOMENT_S)

    def _thread(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "sink-commits")
        return self._pool

    def _step(self, uid: str, step: Callable[[], None]) -> None:
        if uid in self._failed:
            return
        try:
            step()
        except BaseException as error:
            self._failed[uid] = error

    def _commit(
        self, uid: str, committables: list[bytes], commit: Callable[[list[bytes]], None]
    ) -> None:
        if uid in self._failed:
            raise self._failed[uid]
        try:
            commit(committables)
        except BaseException as error:
            self._failed[uid] = error
            raise

    def unfinished(self) -> dict[str, list[bytes]]:
        """Committables that are not committed yet, by sink.

        Raises the error that made a commit fail.
        """
        committables: dict[str, list[bytes]] = {}
        running = []
        for entry in self._running:
            if entry.future.done():
                entry.future.result()
            else:
                running.append(entry)
                committables.setdefault(entry.uid, []).extend(entry.committables)
        self._running = running
        return committables

    def oldest(self) -> int | None:
        """First checkpoint with uncommitted committables; None if all are committed.

        Raises the error that made a commit fail.
        """
        self.unfinished()
        return self._running[0].checkpoint if self._running else None

    @property
    def owes(self) -> bool:
        """Whether a committable is not committed yet, or its commit failed."""
        return any(not e.future.done() or e.future.exception() for e in self._running)

    def wait_for_room(self) -> None:
        """Wait until the number and size of the waiting commits are within their limits. If the
        external system cannot be reached, this stops the job from running further ahead."""
        waiting = [entry for entry in self._running if not entry.future.done()]
        held = 0
        for count, entry in enumerate(reversed(waiting), 1):
            held += sum(map(len, entry.committables))
            if count > MOST_BEHIND or (held > MOST_BYTES and count > 1):
                wait([entry.future])  # and so those before it
                return

    def wait(self) -> None:
        """Wait until all is committed. Raises the error that made a commit fail."""
        for entry in self._running:
            entry.future.result()
        self._running = []

    def close(self) -> None:
        """Finish the running commits, and leave the others to the next run."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
