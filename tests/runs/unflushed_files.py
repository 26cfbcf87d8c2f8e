"""Tests do not wait for the disk: what they write need not outlive the machine.

A flush is milliseconds of waiting, and a checkpoint has several. The kernel keeps what a killed
process has written, so the fault tests lose nothing. Tests of flushing put a function of their own
in the place of `os.fsync`.
"""

from __future__ import annotations

import os

__all__ = ["checked_only"]


def checked_only(descriptor: int) -> None:
    """A flush that only looks whether the descriptor is one."""
    os.fstat(descriptor)


os.fsync = checked_only  # type: ignore[assignment]
