"""The modules of the examples, importable by their names."""

from __future__ import annotations

import sys
from pathlib import Path

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"

if str(FLIGHTS) not in sys.path:
    sys.path.insert(0, str(FLIGHTS))
