"""Tags of side outputs."""

from __future__ import annotations

from millrace.common.functions.output_tag import (
    OutputTag,
)
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.typeinfo import Types

__all__ = [
    "OutputTag",
    "RowTypeInfo",
    "TypeInformation",
    "Types",
]
