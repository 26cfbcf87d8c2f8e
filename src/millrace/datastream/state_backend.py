"""State backends: the place of keyed state while a job runs."""

from __future__ import annotations

from millrace.missing_modules import explain_missing_names
from millrace.state.backend.rocksdb import EmbeddedRocksDBStateBackend, PredefinedOptions
from millrace.state.backend.state_backend import HashMapStateBackend, StateBackend

__all__ = [
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
]

explain_missing_names(__name__)
