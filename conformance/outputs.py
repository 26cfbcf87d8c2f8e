"""What a program put out, in a form that both sides share: JSON values, compared as multisets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any


def plain(value: Any) -> Any:
    """A record as JSON: rows, tuples and lists alike become lists, so do dicts, as sorted pairs."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, dict):
        return sorted(([plain(k), plain(v)] for k, v in value.items()), key=json.dumps)
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=json.dumps)
    if hasattr(value, "__iter__"):
        return [plain(item) for item in value]
    return {type(value).__name__: str(value)}


def lines(records: Iterable[Any]) -> list[str]:
    """One line per record, sorted: two outputs are equal as multisets if their lines are."""
    return sorted(json.dumps(plain(record)) for record in records)


def difference(expected: list[str], actual: list[str]) -> str:
    """What is missing and what is too many, in a few words; empty when the outputs agree."""
    missing, extra = Counter(expected), Counter(actual)
    both = missing & extra
    parts = []
    for word, counts in (("missing", missing - both), ("unexpected", extra - both)):
        if counts:
            shown = ", ".join(list(counts.elements())[:3])
            parts.append(f"{counts.total()} {word}: {shown}")
    return "; ".join(parts)
