"""`ModelFrame`: the columns that a model's stages read and add. `ModelStage`: a stage.

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
    """Columns of equal length, by name."""

    def __init__(self, columns: Mapping[str, Column], rows: int) -> None:
        self.columns = dict(columns)
        self.rows = rows

    def column(self, name: str) -> Column:
        """A column as it is, without conversion.

        Raises:
            JobExecutionError: the frame has no column of this name.
        """
        column = self.columns.get(name)
        if column is None:
            known = ", ".join(self.columns)
            raise JobExecutionError(f"the model reads the column {name!r}; there are {known}")
        return column

    def numbers(self, name: str) -> Doubles:
        """A column of numbers, or of vectors.

        Raises:
            JobExecutionError: the frame has no column of this name, or the column has texts.
        """
        column = self.column(name)
        if column.dtype == object:
            raise JobExecutionError(f"the model takes numbers from the column {name!r}, not texts")
        return column

    def vectors(self, name: str) -> Doubles:
        """A column of vectors. Numbers become vectors of length one."""
        numbers = self.numbers(name)
        return numbers[:, None] if numbers.ndim == 1 else numbers


class ModelStage(ABC):
    """A stage of a model, with its learnt values. Stages are data classes of plain values and
    arrays, from which the model's version is computed."""

    @abstractmethod
    def apply(self, frame: ModelFrame) -> None:
        """Add the stage's columns.

        Raises:
            JobExecutionError: the stage does not accept a value.
        """
