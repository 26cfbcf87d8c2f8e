"""Modules and tests that a process has loaded are no longer searched for garbage.

Python's collector looks at all living objects again and again. In a process that holds a million
of them, modules for the most part, that took a tenth of the processor time of all tests.
"""

from __future__ import annotations

import atexit
import gc

__all__ = ["freeze", "pytest_collection_finish"]


def freeze() -> None:
    """Keep all living objects to the end of the process. A further call adds those made since,
    without their garbage."""
    gc.collect()
    gc.freeze()


# what a test leaves behind is little: to look at each 700 new objects takes a twentieth of its time
gc.set_threshold(50_000, 20, 20)
# libraries in C++ look then whether something of theirs is left, and print what they find
atexit.register(gc.unfreeze)


def pytest_collection_finish() -> None:
    """Freeze what is loaded in a run that collects everything at its beginning."""
    freeze()
