"""Number of replicas that must acknowledge a write."""

from __future__ import annotations

from enum import Enum
from typing import Any

from millrace.common.errors import JobDefinitionError

__all__ = ["ConsistencyLevel", "require_write_level"]


class ConsistencyLevel(Enum):
    """Consistency levels with the names and numbers of Cassandra's protocol."""

    ANY = 0
    """One node, which need be no replica."""
    ONE = 1
    TWO = 2
    THREE = 3
    QUORUM = 4
    """More than half of all replicas."""
    ALL = 5
    LOCAL_QUORUM = 6
    """More than half of the replicas in the data centre of the coordinator."""
    EACH_QUORUM = 7
    SERIAL = 8
    """For reads only, like LOCAL_SERIAL."""
    LOCAL_SERIAL = 9
    LOCAL_ONE = 10


def require_write_level(level: Any) -> ConsistencyLevel:
    """The consistency level itself, after a check that it is one for writes.

    Raises:
        JobDefinitionError: it is none, or one that no write can have.
    """
    if not isinstance(level, ConsistencyLevel):
        raise JobDefinitionError(
            f"set_consistency_level() takes a ConsistencyLevel such as LOCAL_QUORUM, not {level!r}"
        )
    if level in (ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL):
        raise JobDefinitionError(
            f"the level {level.name} is for reads: a write has QUORUM or LOCAL_QUORUM instead"
        )
    return level
