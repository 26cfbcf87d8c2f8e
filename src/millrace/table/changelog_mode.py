"""`ChangelogMode`: which kinds of rows a changelog has. Flink: ``ChangelogMode``."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ChangelogMode"]


@dataclass(frozen=True)
class ChangelogMode:
    """Kinds of rows.

    Attributes:
        kinds: their short names.

    Example:
        >>> sorted(ChangelogMode.upsert().kinds)
        ['+I', '+U', '-D']
    """

    kinds: frozenset[str]

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Rows that are inserted."""
        return ChangelogMode(frozenset({"+I"}))

    @staticmethod
    def upsert() -> ChangelogMode:
        """Rows after updates, by a key, and rows that are deleted."""
        return ChangelogMode(frozenset({"+I", "+U", "-D"}))

    @staticmethod
    def all() -> ChangelogMode:
        """Rows of every kind: updates as a row before and a row after."""
        return ChangelogMode(frozenset({"+I", "-U", "+U", "-D"}))
