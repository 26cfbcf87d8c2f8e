"""Sizes of property tests whose examples are whole jobs.

``make test`` draws a few, which finds what is wrong at large. ``make torture`` sets
``MILLRACE_EXAMPLES`` and draws that many times as many.
"""

from __future__ import annotations

import os

__all__ = ["job_examples"]


def job_examples(count: int) -> int:
    """The value of ``max_examples`` for a test that has ``count`` in ``make test``."""
    return count * int(os.environ.get("MILLRACE_EXAMPLES", "1"))
