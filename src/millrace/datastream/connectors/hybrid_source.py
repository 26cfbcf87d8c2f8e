"""Several sources as one: the first to its end, then the next."""

from __future__ import annotations

from millrace.common.source.source import Source
from millrace.connectors.hybrid import HybridSource, HybridSourceBuilder

__all__ = [
    "HybridSource",
    "HybridSourceBuilder",
    "Source",
]
