"""`Model`: a model that makes predictions for tables. Flink: interface ``Model``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.similar_names import did_you_mean
from millrace.planner.binder.model_predict import predicted
from millrace.planner.catalog_reader import ResolvedModel
from millrace.table.catalog.resolved_schema import ResolvedSchema
from millrace.table.expression import Expression
from millrace.table.table import Table
from millrace.table.table_session import TableSession

__all__ = ["Model"]


class Model:
    """A model of a catalog, or an unnamed one, made by `TableEnvironment.from_model`.

    Example:
        >>> from millrace.table import EnvironmentSettings, ModelDescriptor, Schema
        >>> from millrace.table import TableEnvironment
        >>> from millrace.testing import run_local
        >>> class Doubling:
        ...     def predict(self, batch):
        ...         return batch["x"] * 2
        >>> def columns(name):
        ...     return Schema.new_builder().column(name, "DOUBLE").build()
        >>> described = ModelDescriptor.for_model(Doubling()).input_schema(columns("x"))
        >>> with run_local():
        ...     t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        ...     model = t_env.from_model(described.output_schema(columns("twice")).build())
        ...     model.predict(t_env.from_elements([(1.5,)], ["n"]), ["n"]).to_arrow().to_pylist()
        [{'n': 1.5, 'twice': 3.0}]
    """

    def __init__(self, session: TableSession, resolved: ResolvedModel) -> None:
        self._session = session
        self._resolved = resolved

    def __repr__(self) -> str:
        given = ", ".join(
            f"{field.name} {field.type}" for field in self._resolved.input_type.fields
        )
        made = ", ".join(
            f"{field.name} {field.type}" for field in self._resolved.output_type.fields
        )
        return f"Model({self._resolved.path[-1]}: {given} -> {made}, version {self.version})"

    @property
    def version(self) -> str:
        """Version that savepoints record: the option ``version``, or a hash of the model's
        content."""
        return str(self._resolved.scorer.version)

    def predict(
        self,
        input_table: Table,
        input_columns: Sequence[str | Expression],
        options: Mapping[str, str] | None = None,
    ) -> Table:
        """The rows of a table with the model's predictions.

        Args:
            input_columns: columns for the model's input columns, in the same order.
            options: none are known; the name is PyFlink's.

        Raises:
            JobDefinitionError: there is no such column, or a type does not fit.
        """
        if options:
            raise JobDefinitionError(f"predict() takes no options, got {', '.join(options)}")
        names = [_name(column) for column in input_columns]
        for name in names:
            if name not in input_table.node.row_type.names:
                hint = did_you_mean(name, input_table.node.row_type.names)
                raise JobDefinitionError(f"there is no column {name!r}{hint}")
        try:
            return Table(self._session, predicted(input_table.node, self._resolved, names))
        except ValueError as error:
            raise JobDefinitionError(str(error)) from None

    def get_resolved_input_schema(self) -> ResolvedSchema:
        """Names and types of the input columns."""
        kind = self._resolved.input_type
        return ResolvedSchema.physical(kind.names, kind.children())

    def get_resolved_output_schema(self) -> ResolvedSchema:
        """Names and types of the output columns."""
        kind = self._resolved.output_type
        return ResolvedSchema.physical(kind.names, kind.children())


def _name(column: Any) -> str:
    return column if isinstance(column, str) else str(column.node.name)
