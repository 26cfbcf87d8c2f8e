"""`CompiledPlan`: inserts in their optimised form, for execution now or by a later version.

Semantics: Flink docs, "SQL Upgrades and Compiled Plans" and ``CompiledPlan``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from millrace import __version__
from millrace.common.config import table_options
from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.function_definition import FunctionDefinition
from millrace.planner.catalog_reader import ResolvedModel, ResolvedTable
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.planner.serde.plan_json import plan_of, written_plan
from millrace.table.catalog.object_path import ObjectIdentifier
from millrace.table.connectors.registry import factory_of
from millrace.table.explain_detail import ExplainDetail
from millrace.table.plan_reference import FilePlanReference, PlanReference
from millrace.table.plan_text import explained_plan
from millrace.table.table_result import TableResult
from millrace.table.table_session import ANONYMOUS, TableSession

__all__ = ["CompiledPlan"]

_FORMAT = 1


class CompiledPlan:
    """Optimised inserts, which run without being planned again. So a later version of Millrace can
    resume their savepoints even if it would plan the statement differently.

    A plan contains the schemas and options of tables of catalogs. Of temporary tables,
    functions and models it contains only the names, so they must exist when the plan is run.

    Example:
        >>> from millrace.table import EnvironmentSettings, PlanReference, TableEnvironment
        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> _ = t_env.execute_sql("CREATE TABLE s (n INT) WITH ('connector' = 'datagen')")
        >>> _ = t_env.execute_sql("CREATE TABLE t (n INT) WITH ('connector' = 'blackhole')")
        >>> text = t_env.compile_plan_sql("INSERT INTO t SELECT n FROM s").as_json_string()
        >>> plan = t_env.load_plan(PlanReference.from_json_string(text))
        >>> print(plan.explain().splitlines()[1])
        LogicalSink(table=[default_catalog.default_database.t], fields=[n])
    """

    def __init__(self, session: TableSession, roots: Sequence[LogicalSink], version: str) -> None:
        self._session, self._roots, self._version = session, roots, version

    @staticmethod
    def of(session: TableSession, sinks: Sequence[LogicalSink]) -> CompiledPlan:
        """The plan of inserts.

        Raises:
            JobDefinitionError: the inserts use tables or functions that exist only in this program.
        """
        plan = CompiledPlan(session, _sinks(session.optimized(sinks)), __version__)
        plan.as_json_string()  # refuses what cannot be written
        return plan

    @staticmethod
    def load(session: TableSession, reference: PlanReference) -> CompiledPlan:
        """The plan in a file or text.

        Raises:
            JobDefinitionError: it is none, or of another mode, or a table or function of it is gone
                or another one now.
        """
        try:
            written = json.loads(reference.json())
        except ValueError as error:
            raise JobDefinitionError(f"the text is not a compiled plan: {error}") from error
        if not isinstance(written, dict) or written.get("format") != _FORMAT:
            raise JobDefinitionError(
                "the text is not a compiled plan, or the plan was written by an unknown version"
            )
        if written.get("streaming") != session.streaming:
            mode = "in batch mode" if session.streaming else "over streams"
            raise JobDefinitionError(f"the plan was compiled for a job {mode}")
        roots = plan_of(written, _SessionObjects(session))
        return CompiledPlan(session, _sinks(roots), str(written.get("version")))

    def __str__(self) -> str:
        return self.explain()

    def as_json_string(self) -> str:
        """The plan as JSON text."""
        written = {
            "format": _FORMAT,
            "version": self._version,
            "streaming": self._session.streaming,
            **written_plan(self._roots, _SessionObjects(self._session)),
        }
        return json.dumps(written, indent=1)

    def print_json_string(self) -> None:
        """Print the plan as JSON text."""
        print(self.as_json_string())

    def write_to_file(self, file: str | os.PathLike[str], ignore_if_exists: bool = False) -> None:
        """Write the plan to a file, in any file system that checkpoints may use.

        Args:
            ignore_if_exists: a file of this name stays as it is.

        Raises:
            JobDefinitionError: there is such a file, and ``table.plan.force-recompile`` is off.
        """
        reference = PlanReference.from_file(file)
        if not (ignore_if_exists and reference.exists()):
            forced = self._session.config.get_configuration().get(table_options.FORCE_RECOMPILE)
            reference.write(self.as_json_string(), forced)

    def get_flink_version(self) -> str:
        """The version of Millrace that compiled the plan."""
        return self._version

    def execute(self) -> TableResult:
        """Run the plan as a job."""
        return self._session.insert(self._roots, planned=True)

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plan's tree, and its operators."""
        return explained_plan(self._session, self._roots, extra_details, planned=True)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print `explain`."""
        print(self.explain(*extra_details))


def compiled_into(
    session: TableSession, sinks: Sequence[LogicalSink], file: str, if_not_exists: bool
) -> CompiledPlan:
    """The plan of inserts that is stored in a file. If the file exists, the plan is read from
    it; otherwise the plan is compiled and written."""
    reference = FilePlanReference(file)
    if if_not_exists and reference.exists():
        return CompiledPlan.load(session, reference)
    plan = CompiledPlan.of(session, sinks)
    plan.write_to_file(file)
    return plan


def _sinks(roots: Sequence[RelNode]) -> list[LogicalSink]:
    sinks = [root for root in roots if isinstance(root, LogicalSink)]
    if not sinks or len(sinks) != len(roots):
        raise JobDefinitionError("only INSERT statements can be compiled to a plan")
    return sinks


class _SessionObjects:
    """Tables and functions of a session's catalogs, as a compiled plan refers to them."""

    def __init__(self, session: TableSession) -> None:
        self._session = session

    def contains(self, table: ResolvedTable) -> bool:
        temporary = self._session.catalogs.is_temporary(ObjectIdentifier(*table.path))
        if table.source is factory_of:
            return not temporary
        if temporary:
            return False
        raise JobDefinitionError(
            "a plan in a file cannot contain a table of Python objects or of a stream: name "
            "the table with create_temporary_view or create_temporary_table"
        )

    def table_of(self, path: tuple[str, ...], definition: ResolvedTable | None) -> ResolvedTable:
        name = ".".join(path)
        table: Any = None
        if not path[-1].startswith(ANONYMOUS):
            table = self._session.reader.resolve_table(path)
        if table is None and definition is not None:
            return replace(definition, source=factory_of)
        if not isinstance(table, ResolvedTable):
            raise JobDefinitionError(f"the plan needs the table {name}, which does not exist")
        if definition is not None and table.columns != definition.columns:
            raise JobDefinitionError(
                f"the columns of table {name} have changed since the plan was compiled: "
                "restore them, or compile the statement again"
            )
        return table

    def written_model(self, model: ResolvedModel) -> tuple[str, ...]:
        name = ".".join(model.path)
        if model.path[-1].startswith(ANONYMOUS):
            raise JobDefinitionError(
                "a plan in a file refers to models by name, but one model has no name: name "
                "it with create_model or create_temporary_model, and use it by this name"
            )
        if self._session.reader.resolve_model(model.path) is None:
            raise JobDefinitionError(f"the model {name} of the plan no longer exists")
        return model.path

    def model_of(
        self, path: tuple[str, ...], input_type: RowType, output_type: RowType
    ) -> ResolvedModel:
        name, model = ".".join(path), self._session.reader.resolve_model(path)
        if model is None:
            raise JobDefinitionError(f"the plan needs the model {name}, which does not exist")
        if (model.input_type, model.output_type) != (input_type, output_type):
            raise JobDefinitionError(
                f"the columns of model {name} have changed since the plan was compiled: "
                "restore them, or compile the statement again"
            )
        return model

    def written_function(self, function: FunctionDefinition) -> str:
        if self._session.reader.resolve_function((function.name,)) is not function:
            raise JobDefinitionError(
                f"a plan in a file refers to functions by name, but {function.name} has no "
                "name: name it with create_temporary_function, and call it by this name"
            )
        return function.name

    def function_of(self, name: str) -> FunctionDefinition:
        definition = self._session.reader.resolve_function((name,))
        if definition is None:
            raise JobDefinitionError(f"the plan calls the function {name}, which does not exist")
        return definition
