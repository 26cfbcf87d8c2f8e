"""Commits that the driver makes: with retries, at once or in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from millrace.common.errors import JobCancelledError, JobExecutionError
from millrace.common.sink import CommitRequest
from millrace.runtime.committing import Committing
from millrace.state.serialization.payload import decode

__all__ = ["FIRST_BACKOFF", "BackgroundCommits", "DriverCommits", "Pause", "backoff", "too_often"]

Pause = Callable[[float], object]
"""Waits for so many seconds. It returns true, and at once, when the job is being cancelled: then
the commit is not tried again."""

FIRST_BACKOFF = 0.1
MAX_BACKOFF = 10.0


def backoff(retries: int) -> float:
    """Seconds to wait before a commit that has failed so often is tried again."""
    return min(MAX_BACKOFF, FIRST_BACKOFF * 2.0 ** min(retries - 1, 20))


def too_often(name: str, tries: int, reason: str) -> JobExecutionError:
    """The error of a sink whose committables could not be committed in all the tries; the reason
    may be empty."""
    because = f": {reason}" if reason else ", as its committer said"
    return JobExecutionError(
        f"sink '{name}' could not be committed in {tries} tries{because}. The checkpoint is "
        "complete: resume the job to commit the rest"
    )


class DriverCommits:
    """Commits what one sink has pending, until all is done.

    Args:
        retries: how often a committable is tried again before the job fails.
    """

    def __init__(self, name: str, committing: Committing, retries: int):
        self._name = name
        self._committing = committing
        self._retries = retries

    def commit(self, committables: Sequence[bytes], pause: Pause) -> None:
        """Returns when all are committed or lost for good.

        Raises:
            JobExecutionError: one could not be; nothing is lost by that.
            JobCancelledError: the job was cancelled in a pause.
        """
        requests = [CommitRequest(decode(item)) for item in committables]
        left = self._committing.attempt(requests)
        tries = 1
        while left:
            if tries > self._retries:
                error = next((request.error for request in left if request.error), None)
                raise too_often(self._name, tries, str(error or "")) from error
            if pause(backoff(tries)):
                raise JobCancelledError(
                    f"the job was cancelled before sink '{self._name}' had committed all; resumed, "
                    "it commits the rest"
                )
            again = [CommitRequest(request.committable, tries) for request in left]
            left = self._committing.attempt(again)
            tries += 1

    def close(self) -> None:
        """Close the committer."""
        self._committing.close()


@dataclass(frozen=True, slots=True)
class _BackgroundCommit:
    uid: str
    checkpoint: int
    committables: list[bytes]
    future: Future[None]


class BackgroundCommits:
    """A thread that commits while the job goes on, in the order of the checkpoints.

    All methods are called from the engine's thread.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._running: list[_BackgroundCommit] = []

    def start(
        self,
        uid: str,
        checkpoint: int,
        committables: list[bytes],
        commit: Callable[[list[bytes]], None],
        ended: Callable[[], None],
    ) -> None:
        """Have committed what a checkpoint names for a sink; ``ended`` is called, in any thread,
        when that is done or has failed."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "sink-commits")
        future = self._pool.submit(commit, committables)
        self._running.append(_BackgroundCommit(uid, checkpoint, committables, future))
        future.add_done_callback(lambda _: ended())

    def unfinished(self) -> dict[str, list[bytes]]:
        """What is not committed yet, by sink.

        Raises whatever made a commit fail.
        """
        found: dict[str, list[bytes]] = {}
        running = []
        for entry in self._running:
            if entry.future.done():
                entry.future.result()
            else:
                running.append(entry)
                found.setdefault(entry.uid, []).extend(entry.committables)
        self._running = running
        return found

    def oldest(self) -> int | None:
        """The first of the checkpoints that name what is not committed yet; None: all is.

        Raises whatever made a commit fail.
        """
        self.unfinished()
        return self._running[0].checkpoint if self._running else None

    @property
    def owes(self) -> bool:
        """Whether something is not committed yet, or could not be."""
        return any(not e.future.done() or e.future.exception() for e in self._running)

    def wait(self) -> None:
        """Until all is committed; raises whatever made a commit fail."""
        for entry in self._running:
            entry.future.result()
        self._running = []

    def close(self) -> None:
        """What runs comes to its end; what has not begun is left to the next run."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
