"""Context in which Python's cyclic garbage collector is paused, while a test's records are
processed."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["paused_collector"]


@contextmanager
def paused_collector() -> Iterator[None]:
    """Context without cyclic garbage collection.

    State and results are many objects without cycles; the collector would walk through all of them
    again and again, which took most of the time of a pattern with many matches. Workers on a
    cluster have it set to run rarely; a test's process is left as it was.

    Example:
        >>> import gc
        >>> with paused_collector():
        ...     gc.isenabled()
        False
        >>> gc.isenabled()
        True
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
