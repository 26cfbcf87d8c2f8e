"""The tests of this folder share the reference matcher and the notation of short patterns."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
