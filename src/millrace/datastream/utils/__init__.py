"""PyFlink's import path for `ResultTypeQueryable`."""

from __future__ import annotations

from millrace.common.config.configuration import Configuration
from millrace.common.types.composite_types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.external_type import ExternalTypeInfo
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.row import Row, RowKind
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.typeinfo import Types

__all__ = [
    "BasicArrayTypeInfo",
    "Configuration",
    "ExternalTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PrimitiveArrayTypeInfo",
    "ResultTypeQueryable",
    "Row",
    "RowKind",
    "RowTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
]
