"""State backends: the place of keyed state while a job runs."""

from __future__ import annotations

from typing import NoReturn

from millrace.missing_modules import missing_name
from millrace.state.backend.rocksdb import EmbeddedRocksDBStateBackend, PredefinedOptions
from millrace.state.backend.state_backend import HashMapStateBackend, StateBackend

__all__ = [
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
]


def __getattr__(name: str) -> NoReturn:
    """Error for a name that programs import from here and that Millrace does not have."""
    raise missing_name(__name__, name)
