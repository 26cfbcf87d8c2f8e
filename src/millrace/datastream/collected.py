"""Return of records to the client: printing, and iteration over a stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.errors import JobCancelledError

if TYPE_CHECKING:
    from millrace.engine.embedded_job_client import EmbeddedJobClient

T = TypeVar("T")


class Printer:
    """Prints the records of a subtask after their epoch is committed."""

    def __init__(self, identifier: str | None) -> None:
        self._identifier = identifier

    def __call__(self, values: list[Any], subtask: int, subtasks: int) -> None:
        parts = [self._identifier] if self._identifier else []
        if subtasks > 1:
            parts.append(str(subtask + 1))
        prefix = ":".join(parts) + "> " if parts else ""
        print("\n".join(f"{prefix}{value}" for value in values), flush=True)


class CloseableIterator(Generic[T]):
    """Iterates over the committed records of a running job. Closing it cancels the job."""

    def __init__(self) -> None:
        self._batches: SimpleQueue[list[T] | None] = SimpleQueue()
        self._batch: Iterator[T] = iter(())
        self._client: EmbeddedJobClient | None = None
        self._ended = False

    def attach(self, client: EmbeddedJobClient) -> None:
        """Set the job whose records arrive; its end ends the iteration."""
        self._client = client
        client.when_done(lambda: self._batches.put(None))

    @property
    def client(self) -> EmbeddedJobClient | None:
        """Client of the job whose records arrive."""
        return self._client

    def __call__(self, values: list[T], subtask: int, subtasks: int) -> None:
        """Take the records of a subtask from a committed epoch."""
        self._batches.put(values)

    def __iter__(self) -> CloseableIterator[T]:
        return self

    def __next__(self) -> T:
        for value in self._batch:
            return value
        while not self._ended:
            batch = self._batches.get()
            if batch is None:
                self._ended = True
                assert self._client is not None
                self._client.result()
            else:
                self._batch = iter(batch)
                for value in self._batch:
                    return value
        raise StopIteration

    def next(self) -> T:
        """The next record; raises StopIteration when there is none."""
        return next(self)

    def take(self, limit: int) -> list[T]:
        """The first ``limit`` records; then the job is cancelled."""
        with self:
            return [value for _, value in zip(range(limit), self, strict=False)]

    def close(self) -> None:
        """Cancel the job unless it has ended, and wait for its end."""
        if self._client is None or self._ended:
            return
        self._ended = True
        self._batch = iter(())
        self._client.cancel()
        with suppress(JobCancelledError):
            self._client.result()

    def __enter__(self) -> CloseableIterator[T]:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
