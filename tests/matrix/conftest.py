"""The search path of the smoke suite where pytest runs without ``make test-matrix``."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

for helpers in (HERE, HERE.parent / "spark" / "connect"):
    if str(helpers) not in sys.path:
        sys.path.insert(0, str(helpers))
