"""`OutputArea`: a place below a cell whose HTML can be replaced."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from millrace.common.errors import JobDefinitionError

__all__ = ["OutputArea"]

REDRAW_SECONDS = 0.2


class OutputArea:
    """HTML below the running cell, redrawn in place at a limited rate.

    Raises:
        JobDefinitionError: the program does not run in a notebook.
    """

    def __init__(self, html: str) -> None:
        try:
            shown: Any = import_module("IPython.display")
        except ImportError:
            raise JobDefinitionError(
                "millrace.notebook is for Jupyter, whose IPython is not installed here"
            ) from None
        self._html: Any = shown.HTML
        self._handle: Any = shown.display(shown.HTML(html), display_id=True)
        self._drawn = time.monotonic()

    def is_due(self) -> bool:
        """Whether enough time has passed since the last drawing."""
        return time.monotonic() - self._drawn >= REDRAW_SECONDS

    def draw(self, html: str) -> None:
        """Replace the HTML."""
        self._drawn = time.monotonic()
        if self._handle is not None:  # outside of a kernel there is nothing to replace
            self._handle.update(self._html(html))
