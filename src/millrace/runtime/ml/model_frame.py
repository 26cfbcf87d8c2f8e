"""`ModelFrame`: the columns that stages of a model read and add; `ModelStage`, a stage.

A column of numbers is a NumPy array of doubles, NaN where there is none; one of vectors has two
dimensions; one of texts is an array of objects, None where there is none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace.common.errors import JobExecutionError

__all__ = ["Column", "Doubles", "ModelFrame", "ModelStage"]

Column = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]


class ModelFrame:
    """Columns of equally many rows, by name."""

    def __init__(self, columns: Mapping[str, Column], rows: int) -> None:
        self.columns = dict(columns)
        self.rows = rows

    def column(self, name: str) -> Column:
        """A column as it is.

        Raises:
            JobExecutionError: there is none of this name.
        """
        found = self.columns.get(name)
        if found is None:
            known = ", ".join(self.columns)
            raise JobExecutionError(f"the model reads the column {name!r}; there are {known}")
        return found

    def numbers(self, name: str) -> Doubles:
        """A column of numbers, or of vectors.

        Raises:
            JobExecutionError: there is none of this name, or it has texts.
        """
        found = self.column(name)
        if found.dtype == object:
            raise JobExecutionError(f"the model takes numbers from the column {name!r}, not texts")
        return found

    def vectors(self, name: str) -> Doubles:
        """A column of vectors: one of numbers is of vectors of one."""
        found = self.numbers(name)
        return found[:, None] if found.ndim == 1 else found


class ModelStage(ABC):
    """A stage of a model, with what it has learnt. Stages are data classes of plain values and
    arrays, which are what the model's version is made of."""

    @abstractmethod
    def apply(self, frame: ModelFrame) -> None:
        """Add the stage's columns.

        Raises:
            JobExecutionError: a value is one that the stage does not take.
        """
