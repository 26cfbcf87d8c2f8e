"""A process of tests does not search what it has loaded for garbage."""

from __future__ import annotations

import gc
import sys


def test_modules_are_frozen() -> None:
    assert gc.get_freeze_count() > 10 * len(sys.modules)
