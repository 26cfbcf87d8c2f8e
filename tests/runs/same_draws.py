"""In CI, Hypothesis draws the same examples in every run, whichever tests ran before.

Hypothesis reads the source of every loaded module of this repository for constants, and draws some
of them as values. So what it drew depended on the files that a process of a divided run had been
given before. To read them also took each process seconds.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis.internal.conjecture import providers

__all__ = ["without_constants_of_modules"]


def without_constants_of_modules() -> Any:
    """The constants of no module. Hypothesis' own ones, such as great numbers, are still drawn."""
    return providers._local_constants


if "CI" in os.environ:
    providers._get_local_constants = without_constants_of_modules
