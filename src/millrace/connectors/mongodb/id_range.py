"""Ranges of ``_id`` as filters, in the order in which MongoDB sorts values of different types."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

__all__ = ["Bound", "id_range"]

Bound = tuple[Any, ...]
"""An ``_id`` in a tuple of one; empty: no bound."""

_ORDER = (
    *("null", "number", "string", "object", "binData", "objectId", "bool", "date", "timestamp"),
)
"""Types that an ``_id`` can be of (but for the two keys that are only bounds), lowest first."""


def id_range(lower: Bound, upper: Bound, after: bool = False) -> dict[str, Any]:
    """A filter for documents whose ``_id`` lies between ``lower`` and ``upper``. ``upper`` is
    exclusive; ``lower`` is exclusive only with ``after``.

    A comparison finds values of its own type only, so types between and beyond the bounds are
    asked for by name.

    Example:
        >>> id_range((5,), (9,))
        {'_id': {'$gte': 5, '$lt': 9}}
        >>> id_range((), ())
        {}
    """
    if not lower and not upper:
        return {}
    low = _place(lower[0]) if lower else -1
    high = _place(upper[0]) if upper else len(_ORDER)
    above = {"$gt" if after else "$gte": lower[0]} if lower else {}
    below = {"$lt": upper[0]} if upper else {}
    if low == high:
        return {"_id": {**above, **below}}
    ranges: list[dict[str, Any]] = [{"_id": bound} for bound in (above, below) if bound]
    between = list(_ORDER[low + 1 : high])
    if between:
        ranges.append({"_id": {"$type": between}})
    return {"$or": ranges}


def _place(value: Any) -> int:
    """Rank of a value's type in the sort order."""
    from bson.objectid import ObjectId
    from bson.timestamp import Timestamp

    if value is None:
        return _ORDER.index("null")
    for kinds, name in (
        (bool, "bool"),
        ((int, float, Decimal), "number"),
        (str, "string"),
        (dict, "object"),
        (bytes, "binData"),
        (ObjectId, "objectId"),
        (datetime, "date"),
        (Timestamp, "timestamp"),
    ):
        if isinstance(value, kinds):
            return _ORDER.index(name)
    return _ORDER.index("binData")  # UUIDs
