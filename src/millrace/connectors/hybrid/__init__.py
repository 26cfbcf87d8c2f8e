"""Several sources read one after the other as one source: history from files, then a log."""

from __future__ import annotations

from millrace.connectors.hybrid.hybrid_source import HybridSource, HybridSourceBuilder

__all__ = ["HybridSource", "HybridSourceBuilder"]
