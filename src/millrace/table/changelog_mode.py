"""`ChangelogMode` at the path of PyFlink: ``pyflink.table.changelog_mode``."""

from __future__ import annotations

from millrace.common.types.changelog_mode import ChangelogMode

__all__ = ["ChangelogMode"]
