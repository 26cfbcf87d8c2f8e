"""Committer of a Redis sink: executes the commands of complete checkpoints, each epoch's in one
transaction, once.

The transaction (``MULTI``, ``EXEC``) also sets the sink's mark, which says what has been carried
out, and is void if another has set it meanwhile (``WATCH``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.sink import CommitRequest, Committer
from millrace.connectors.redis.client import (
    Command,
    RedisClient,
    RedisError,
    RedisUnavailableError,
)
from millrace.connectors.redis.writer import refusals
from millrace.connectors.refused_writes import RefusedWrites
from millrace.connectors.staged_epoch import CommittedEpochs, StagedEpoch, whole_epochs
from millrace.filesystem.crash_points import crash_point

__all__ = ["RedisTransactionCommitter", "mark_key"]

TRANSACTION_BYTES = 1 << 20
"""A transaction takes further epochs while it has less: meanwhile the server does nothing else."""


def mark_key(sink_id: str) -> str:
    """Key of a sink's commit mark."""
    return f"millrace:commits:{sink_id}"


class RedisTransactionCommitter(Committer):
    """Commits the commands that `RedisStagingWriter` has staged.

    Args:
        sink_id: the mark is named after it.
    """

    def __init__(self, url: str, sink_id: str, refused: RefusedWrites) -> None:
        self._client = RedisClient(url)
        self._key = mark_key(sink_id)
        self._refused = refused

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        try:
            for together in whole_epochs(requests, TRANSACTION_BYTES):
                fresh = self._write([staged for _, staged in together])
                for request, staged in together:
                    if staged not in fresh:
                        request.signal_already_committed()
        except RedisUnavailableError as error:
            # an error of millrace's own ends the job: this is tried again
            raise ConnectionError(str(error)) from error

    def _write(self, epochs: Sequence[StagedEpoch]) -> Sequence[StagedEpoch]:
        """Execute whole epochs, and return those that were not committed before."""
        omitted: set[int] = set()
        while True:
            with self._client.transaction(self._key) as transaction:
                noted = self._noted(transaction.value)
                fresh = [staged for staged in epochs if not noted.cover(staged)]
                if not fresh:
                    transaction.give_up()
                    return fresh
                staged = [tuple(command) for one in fresh for command in one.content()]
                commands = [c for index, c in enumerate(staged) if index not in omitted]
                mark: Command = ("SET", self._key, noted.with_epochs(fresh).encode())
                crash_point("before-redis-exec")
                done, answers = transaction.execute([*commands, mark])
                crash_point("after-redis-exec")
            reasons = refusals([*commands, mark], answers)
            if done:
                self._told(reasons)
                return fresh
            self._refused.take(reasons)  # nothing was carried out
            kept = [index for index in range(len(staged)) if index not in omitted]
            refused = {i for i, a in zip(kept, answers, strict=False) if isinstance(a, Exception)}
            if reasons and not refused:
                raise RedisError(f"the sink cannot write its commit mark: {reasons[0]}")
            omitted |= refused

    def _told(self, reasons: list[str]) -> None:
        """Report commands that failed in an executed transaction."""
        try:
            self._refused.take(reasons)
        except RedisError as error:
            raise RedisError(
                f"{error}. The rest of the checkpoint is written: a resumed job continues "
                "without it"
            ) from None

    def _noted(self, mark: Any) -> CommittedEpochs:
        try:
            return CommittedEpochs.decode(mark)
        except ValueError:
            raise RedisError(
                f"key '{self._key}' is not a commit mark of a Redis sink: choose another "
                "set_sink_id()"
            ) from None

    def close(self) -> None:
        self._client.close()
