"""`ChangelogMode`: the kinds of rows in a changelog. Flink: ``ChangelogMode``."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.types.row import ALL_ROW_KINDS, INSERT_ONLY, UPSERTS, RowKind

__all__ = ["ChangelogMode"]


@dataclass(frozen=True)
class ChangelogMode:
    """Set of row kinds.

    Attributes:
        kinds: the kinds.

    Example:
        >>> sorted(map(str, ChangelogMode.upsert().kinds))
        ['+I', '+U', '-D']
    """

    kinds: frozenset[RowKind]

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Inserts only."""
        return ChangelogMode(INSERT_ONLY)

    @staticmethod
    def upsert() -> ChangelogMode:
        """Inserts, rows after updates by a key, and deletes."""
        return ChangelogMode(UPSERTS)

    @staticmethod
    def all() -> ChangelogMode:
        """Changelog mode with all row kinds: an update is a row with the old values and a row
        with the new ones."""
        return ChangelogMode(ALL_ROW_KINDS)
