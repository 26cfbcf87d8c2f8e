"""`ChangelogMode`: the kinds of rows in a changelog. Flink: ``ChangelogMode``."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ChangelogMode"]


@dataclass(frozen=True)
class ChangelogMode:
    """Set of row kinds.

    Attributes:
        kinds: their short names.

    Example:
        >>> sorted(ChangelogMode.upsert().kinds)
        ['+I', '+U', '-D']
    """

    kinds: frozenset[str]

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Inserts only."""
        return ChangelogMode(frozenset({"+I"}))

    @staticmethod
    def upsert() -> ChangelogMode:
        """Inserts, rows after updates by a key, and deletes."""
        return ChangelogMode(frozenset({"+I", "+U", "-D"}))

    @staticmethod
    def all() -> ChangelogMode:
        """All kinds: updates are a row before and a row after."""
        return ChangelogMode(frozenset({"+I", "-U", "+U", "-D"}))
