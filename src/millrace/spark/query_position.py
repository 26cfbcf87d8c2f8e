"""Position of a Structured Streaming query, from its checkpoint directory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from millrace.common.errors import JobExecutionError
from millrace.spark.stateful_plan import keeps_state

__all__ = ["QueryPosition"]

_COMMITTED = b'v1\n{"nextBatchWatermarkMs":0}'
"""Content of Spark's file for a completed micro-batch; the watermark is that of stateful
queries."""
_LOGS = ("offsets", "commits")
_LIMIT = 8 << 20


@dataclass(frozen=True)
class QueryPosition:
    """The position after a micro-batch, small enough for millrace's checkpoints.

    Attributes:
        batch: number of the micro-batch.
        files: content of files by their path in the directory: the micro-batch's offsets, and
            the notes of the query's sources.
    """

    batch: int
    files: dict[str, bytes]

    @classmethod
    def read(cls, directory: Path, batch: int) -> QueryPosition:
        """Read the position after a micro-batch that the query has begun.

        Raises:
            JobDefinitionError: the query has state of its own.
            JobExecutionError: its sources note too much.
        """
        files: dict[str, bytes] = {}
        for parent, _, names in os.walk(directory):
            within = os.path.relpath(parent, directory)
            top = within.split(os.sep)[0]
            if top == "state":
                raise keeps_state("aggregates, joins streams or drops duplicates")
            if top not in _LOGS:
                files.update(_read(directory, within, names))
        for number in range(max(0, batch - 1), batch + 1):  # Spark looks at the last two
            files[f"offsets/{number}"] = (directory / "offsets" / str(number)).read_bytes()
        if sum(map(len, files.values())) > _LIMIT:
            raise JobExecutionError(
                "what the sources of a streaming DataFrame have to remember has become more than "
                f"{_LIMIT >> 20} MB (Spark's file source keeps every name); read files with "
                "millrace's FileSource"
            )
        return cls(batch, files)

    def write(self, directory: Path) -> None:
        """Write a checkpoint directory from which a query continues with the next micro-batch."""
        for name, content in {**self.files, f"commits/{self.batch}": _COMMITTED}.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _read(directory: Path, within: str, names: list[str]) -> dict[str, bytes]:
    """The files of a directory, without Spark's checksums and unfinished files."""
    return {
        os.path.normpath(os.path.join(within, name)): (directory / within / name).read_bytes()
        for name in names
        if not name.startswith(".")
    }
