"""Logical types: what a value is, whatever holds it (Flink docs, "Data Types")."""

from __future__ import annotations

from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.logical.parser import parse_type

__all__ = ["LogicalType", "parse_type"]
