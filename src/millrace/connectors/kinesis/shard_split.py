"""Shards of Kinesis streams as splits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from millrace.common.source import SourceSplit

__all__ = ["InitialPosition", "KinesisShardSplit"]


class InitialPosition(Enum):
    """Start position in a stream for a job that is not resumed from a checkpoint."""

    LATEST = "LATEST"
    TRIM_HORIZON = "TRIM_HORIZON"
    AT_TIMESTAMP = "AT_TIMESTAMP"


@dataclass(frozen=True)
class KinesisShardSplit(SourceSplit):
    """A shard; a position in it is the sequence number of the last record read.

    Attributes:
        start: arrival time of the first record to read, in ms since 1970; None for the oldest
            record that Kinesis has.
        hash_range: the first and the last hash key of its records.
    """

    stream: str
    shard_id: str
    start: int | None
    hash_range: tuple[int, int]
