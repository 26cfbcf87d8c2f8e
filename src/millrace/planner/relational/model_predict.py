"""`ModelPredict`: rows with a model's predictions. Flink: ``ML_PREDICT``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from millrace.common.types.logical.logical_type import RowField, RowType
from millrace.planner.catalog_reader import ResolvedModel
from millrace.planner.relational.rel_node import SingleRel

__all__ = ["ModelPredict"]


@dataclass(frozen=True, eq=False)
class ModelPredict(SingleRel):
    """The columns of the input, followed by the columns of the model's output.

    Attributes:
        features: positions of the columns that the model gets, in the order of its input.
        names: names of the output columns.
    """

    model: ResolvedModel
    features: tuple[int, ...]
    names: tuple[str, ...]

    @cached_property
    def row_type(self) -> RowType:
        pairs = zip(self.names, self.model.output_type.fields, strict=True)
        added = tuple(RowField(name, field.type) for name, field in pairs)
        return RowType((*self.input.row_type.fields, *added))
