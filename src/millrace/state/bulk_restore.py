"""Suspends garbage collection while much state is restored."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["without_collections"]

MANY_OBJECTS = 1_000_000
"""Number of new objects from which it pays to hide them from the collector."""


@contextmanager
def without_collections() -> Iterator[None]:
    """Suspend garbage collection within the ``with`` block.

    Restored objects stay alive, but the collector would check each of their tuples repeatedly. If
    there are many new objects, they are frozen afterwards, because the next collection would
    otherwise check all of them at once.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > MANY_OBJECTS:
            gc.freeze()
        gc.enable()
