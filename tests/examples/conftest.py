"""The modules of the examples, importable by their names."""

from __future__ import annotations

import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"

# what the tests of several applications share
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(EXAMPLES.parent / "scripts"))
for directory in (
    *("flights", "cards", "fraud", "cleanup", "sessions", "shop"),
    *("greeter", "cart", "rides", "surge"),
    *("sensors", "network", "feed", "search", "payments_rings"),
):
    if str(EXAMPLES / directory) not in sys.path:
        sys.path.insert(0, str(EXAMPLES / directory))
