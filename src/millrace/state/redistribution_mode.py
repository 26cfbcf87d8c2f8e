"""Redistribution modes: the assignment of state to subtasks when the parallelism changes."""

from __future__ import annotations

from enum import Enum

__all__ = ["RedistributionMode"]


class RedistributionMode(Enum):
    """Which state of the former subtasks a new subtask gets. Semantics: Flink docs, "Working with
    State" (operator state) and FLIP-27 (source splits).

    If the parallelism is unchanged, a subtask gets its own former state, except as noted below.
    """

    KEY_GROUP = "by key group"
    """The entries of the keys in its key groups: keyed state."""
    SPLIT = "split"
    """Elements of a list, each of which goes to one subtask in turn."""
    UNION = "union"
    """Elements of a list, all of which go to every subtask, whatever the parallelism."""
    BROADCAST = "broadcast"
    """A map that is the same in all subtasks: the copy of one of them."""
    SOURCE_SPLIT = "by source split"
    """Entries by split id: those of the splits that the subtask reads from now on."""
    SMALLEST_WATERMARK = "smallest watermark"
    """The least of all values, if every subtask had one. If a subtask had no value, nothing
    holds for all."""
    MERGE = "merge"
    """Result of the state's own function for all values, if every subtask had one."""
