"""`StreamRecord`: a record and its timestamp, as tests compare them."""

from __future__ import annotations

from typing import Any, NamedTuple


class StreamRecord(NamedTuple):
    """A record with its event time in ms since the Unix epoch, or None."""

    value: Any
    timestamp: int | None
