"""Names of tables and of operators' own values: the operator's uid, a slash, the state's name."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["owner_of"]


def owner_of(name: str, uids: Iterable[str]) -> str | None:
    """Which of the operators ``uids`` a table or a value belongs to; None: to none of them.

    Example:
        >>> owner_of("parse/count/total", ["parse", "parse/count"])
        'parse/count'
    """
    return max((uid for uid in uids if name.startswith(f"{uid}/")), key=len, default=None)
