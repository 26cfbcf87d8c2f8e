"""Writer that sends commands to Redis immediately: at least once, and effectively once if the
commands are repeatable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.sink import SinkWriter, WriterContext, WriterEpoch
from millrace.common.types.batch import RowBatch
from millrace.connectors.redis.client import (
    Command,
    RedisClient,
    require_plain,
    shown_command,
)
from millrace.connectors.redis.mapper import RedisMapper
from millrace.connectors.refused_writes import RefusedWrites
from millrace.connectors.row_changes import ReplacedRows
from millrace.connectors.staged_epoch import StagedEpoch

__all__ = ["RedisStagingWriter", "RedisWriter", "refusals"]


class RedisWriter(SinkWriter[Any]):
    """Sends commands in pipelines as they are written.

    Args:
        pipeline: commands that are sent before answers are waited for.
    """

    def __init__(
        self,
        url: str,
        mapper: RedisMapper,
        pipeline: int,
        refused: RefusedWrites,
    ) -> None:
        self._mapper = mapper
        self._pipeline = pipeline
        self._refused = refused
        self._replaced = ReplacedRows()
        self._client = RedisClient(url)

    def write(self, batch: RowBatch[Any]) -> None:
        """Send a batch of commands.

        Raises:
            RedisError: the server cannot be reached, or refuses a command.
        """
        self._run(self._mapper.commands(batch.values, self._replaced))

    def flush(self, end_of_input: bool) -> None:
        self._run(self._mapper.last_commands(self._replaced))

    def _run(self, commands: list[Command]) -> None:
        require_plain(commands)
        for start in range(0, len(commands), self._pipeline):
            together = commands[start : start + self._pipeline]
            self._refused.take(refusals(together, self._client.run(together)))

    def close(self) -> None:
        self._client.close()


class RedisStagingWriter(SinkWriter[Any]):
    """Stages an epoch's commands for the committer."""

    def __init__(self, mapper: RedisMapper, context: WriterContext) -> None:
        self._mapper = mapper
        self._run_id = context.run_id
        self._epoch = 0
        self._commands: list[Command] = []
        self._replaced = ReplacedRows()

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        self._epoch = epoch.number

    def write(self, batch: RowBatch[Any]) -> None:
        """Add a batch to the staged commands.

        Raises:
            RedisError: a value cannot be written.
        """
        self._stage(self._mapper.commands(batch.values, self._replaced))

    def flush(self, end_of_input: bool) -> None:
        self._stage(self._mapper.last_commands(self._replaced))

    def _stage(self, commands: list[Command]) -> None:
        require_plain(commands)
        self._commands += commands

    def prepare_commit(self, end_of_input: bool) -> Sequence[tuple[Any, ...]]:
        if not self._commands:
            return ()
        commands, self._commands = self._commands, []
        try:
            staged = StagedEpoch.pack(self._run_id, self._epoch, commands)
        except OverflowError:  # a whole number of more than 64 bits; Redis is sent digits anyway
            commands = [tuple(map(_digits, command)) for command in commands]
            staged = StagedEpoch.pack(self._run_id, self._epoch, commands)
        return (tuple(staged),)


def _digits(part: Any) -> Any:
    return str(part) if isinstance(part, int) else part


def refusals(commands: Sequence[Command], answers: Sequence[Any]) -> list[str]:
    """Messages about the refused commands, with their reasons."""
    return [
        f"Redis refused '{shown_command(command)}': {answer}"
        for command, answer in zip(commands, answers, strict=True)
        if isinstance(answer, Exception)
    ]
