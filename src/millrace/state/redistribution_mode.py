"""Redistribution modes: the assignment of state to subtasks when the parallelism changes."""

from __future__ import annotations

from enum import Enum

__all__ = ["RedistributionMode"]


class RedistributionMode(Enum):
    """Rule that decides which state of the former subtasks a new subtask gets. Semantics: Flink
    docs, "Working with State" (operator state) and FLIP-27 (source splits).

    If the parallelism is unchanged, a subtask gets its own former state, except as noted below.
    """

    KEY_GROUP = "by key group"
    """Entries of the keys in the subtask's key groups: keyed state."""
    SPLIT = "split"
    """Elements of a list, each of which goes to one subtask in turn."""
    UNION = "union"
    """Elements of a list, all of which go to every subtask, whatever the parallelism."""
    BROADCAST = "broadcast"
    """A map that is the same in all subtasks: the copy of one of them."""
    SOURCE_SPLIT = "by source split"
    """Entries by split id, for the splits that the subtask reads from now on."""
    SMALLEST_WATERMARK = "smallest watermark"
    """The least of all values, if every former subtask had one; else no value."""
    MERGE = "merge"
    """Result of the state's own function for all values, if every former subtask had one."""
