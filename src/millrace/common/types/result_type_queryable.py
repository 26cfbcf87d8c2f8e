"""Sources and deserialization schemas that declare the type of their records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from millrace.common.types.type_information import TypeInformation

__all__ = ["ResultTypeQueryable"]


class ResultTypeQueryable(ABC):
    """Object that declares the type of its records. Flink: interface ``ResultTypeQueryable``.

    A source that is one gives its stream that type where ``from_source`` is given none.
    """

    @abstractmethod
    def get_produced_type(self) -> TypeInformation[Any]:
        """The type of the records."""
