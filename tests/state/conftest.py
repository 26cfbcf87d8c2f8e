"""Property tests here are not timed: how long an example takes depends on who else is computing."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
