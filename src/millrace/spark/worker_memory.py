"""Settings of the allocators of a Python worker, for batches of columns that come and go.

A batch takes megabytes for a few milliseconds. NumPy asks the kernel for huge pages for each array
of four megabytes, and the kernel clears two megabytes at once, even if it has to move memory for
that. Arrow's allocator gives free memory back after 10 ms, and gets it again as new, cleared pages.
"""

from __future__ import annotations

import os
import sys
from typing import Final

__all__ = ["set_up_memory"]

_SETTINGS: Final = {
    "numpy": ("NUMPY_MADVISE_HUGEPAGE", "0"),
    "pyarrow": ("MIMALLOC_PURGE_DELAY", "1000"),
}
"""Library to the environment variable that it reads when it is loaded, and its value. The delay is
in milliseconds."""


def set_up_memory() -> None:
    """Configure the memory allocators of this process, unless the user has configured them, or
    their libraries are already loaded."""
    for library, (variable, value) in _SETTINGS.items():
        if library not in sys.modules:
            os.environ.setdefault(variable, value)
