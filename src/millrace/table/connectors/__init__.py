"""Connectors as tables, created from the options of a table.

A connector of your own finds here `TableFactory`, the requests that it gets, and the values of
options.
"""

from __future__ import annotations

from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_factory import (
    LookupRequest,
    OptionValues,
    ScanRequest,
    SinkRequest,
    TableFactory,
)

__all__ = [
    "LookupRequest",
    "OptionValues",
    "ResolvedTable",
    "ScanRequest",
    "SinkRequest",
    "TableFactory",
]
