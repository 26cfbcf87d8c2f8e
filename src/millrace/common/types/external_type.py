"""`ExternalTypeInfo`: a type under another name, with the same values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.type_information import TypeInformation

__all__ = ["ExternalTypeInfo"]


@dataclass(frozen=True, slots=True, repr=False)
class ExternalTypeInfo(TypeInformation[Any]):
    """A type under the other name that PyFlink gives to types of the Table API."""

    type_info: TypeInformation[Any]

    @property
    def name(self) -> str:
        return self.type_info.name

    @property
    def bridged_type(self) -> LogicalType:
        return self.type_info.bridged_type

    @property
    def is_immutable(self) -> bool:
        return self.type_info.is_immutable

    def __repr__(self) -> str:
        return f"ExternalTypeInfo<{self.type_info!r}>"
