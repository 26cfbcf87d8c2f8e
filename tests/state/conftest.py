"""Property tests here are not timed: how long an example takes depends on who else is computing.
Makes `type_samples` importable: folders of tests are no packages."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
sys.path.insert(0, str(Path(__file__).parents[1] / "common" / "types"))
