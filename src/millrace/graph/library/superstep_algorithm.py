"""`SuperstepAlgorithm`: base of the library's algorithms that run as superstep programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.runtime.supersteps.superstep_program import SuperstepProgram

__all__ = ["SuperstepAlgorithm"]

Columns = dict[str, Any]
"""Columns of a result by name: their Arrow type, or its name."""


class SuperstepAlgorithm(ABC):
    """An algorithm for ``graph.run``."""

    @abstractmethod
    def columns(self, ids: Any, values: Any) -> Columns:
        """Columns of the result.

        Args:
            ids: Arrow type of ids.
            values: Arrow type of vertices' values; None if they have none.
        """

    @abstractmethod
    def program(self) -> SuperstepProgram:
        """The program of one task."""


def at_least_one(number: int | None, name: str) -> int | None:
    """A parameter that counts something.

    Raises:
        JobDefinitionError: it is less than 1.
    """
    if number is not None and number < 1:
        raise JobDefinitionError(f"{name} is {number}: it must be at least 1")
    return number


def between_zero_and_one(number: float, name: str) -> float:
    """A parameter that is a share.

    Raises:
        JobDefinitionError: it is not greater than 0 and less than 1.
    """
    if not 0 < number < 1:
        raise JobDefinitionError(f"{name} is {number}: it must be greater than 0 and less than 1")
    return number
