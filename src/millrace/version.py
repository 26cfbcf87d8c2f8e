"""PyFlink's import path for the version."""

from __future__ import annotations

from millrace import __version__

__all__ = ["__version__"]
