"""How many replicas acknowledge a write."""

from __future__ import annotations

from enum import Enum

__all__ = ["ConsistencyLevel"]


class ConsistencyLevel(Enum):
    """Names and numbers of Cassandra's protocol, those of them that writes can have."""

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
    LOCAL_ONE = 10
