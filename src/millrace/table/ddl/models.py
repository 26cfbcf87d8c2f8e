"""CREATE, ALTER, DROP, SHOW and DESCRIBE of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.base_type import literal as sql_text
from millrace.common.types.logical.logical_type import BooleanType, RowType, VarCharType, quoted
from millrace.sql.statements import (
    AlterModel,
    Column,
    CreateModel,
    DropModel,
    Rename,
    Show,
)
from millrace.table.catalog.catalog_models import CatalogModel
from millrace.table.catalog.errors import not_found
from millrace.table.ddl.changed_options import changed_options
from millrace.table.ddl.schemas import column_of_statement
from millrace.table.schema import Schema
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = [
    "alter_model",
    "create_model",
    "described_model",
    "drop_model",
    "model_text",
    "models_of",
]


def create_model(session: TableSession, statement: CreateModel) -> TableResult:
    """CREATE MODEL. The model's provider is used only when the model is first called."""
    inputs, outputs = _schema(statement.inputs), _schema(statement.outputs)
    model = CatalogModel(inputs, outputs, dict(statement.options), statement.comment)
    session.catalogs.models.create(
        statement.path, model, statement.temporary, statement.if_not_exists
    )
    return TableResult.ok()


def _schema(columns: Sequence[Column]) -> Schema:
    return Schema(tuple(map(column_of_statement, columns)))


def alter_model(session: TableSession, statement: AlterModel) -> TableResult:
    """ALTER MODEL ... RENAME TO, SET, RESET.

    Raises:
        CatalogError: there is no such model in the catalog, or the new name is taken.
        JobDefinitionError: the new name is in another database, or ``provider`` is reset.
    """
    models, path, action = session.catalogs.models, statement.path, statement.action
    if isinstance(action, Rename):
        if len(action.path) > 1 and (
            session.catalogs.qualified(action.path)[:2] != session.catalogs.qualified(path)[:2]
        ):
            raise JobDefinitionError(
                "a model cannot move to another database: ALTER MODEL ... RENAME TO takes "
                "only the new name"
            )
        models.rename(path, action.path[-1], statement.if_exists)
        return TableResult.ok()

    def change(model: CatalogModel) -> CatalogModel:
        return replace(model, options=changed_options(model.options, action, "provider", "model"))

    models.alter(path, change, statement.if_exists)
    return TableResult.ok()


def drop_model(session: TableSession, statement: DropModel) -> TableResult:
    """DROP MODEL."""
    session.catalogs.models.drop(statement.path, statement.temporary, statement.if_exists)
    return TableResult.ok()


def models_of(session: TableSession, statement: Show) -> list[str]:
    """The names for SHOW MODELS."""
    place = session.catalogs.place
    if statement.path:
        place = session.catalogs.qualified_database(statement.path)
    return session.catalogs.models.names(*place)


def _found(session: TableSession, path: Sequence[str]) -> CatalogModel:
    model = session.catalogs.models.find(path)
    if model is None:
        names = session.catalogs.models.names(*session.catalogs.place)
        raise not_found("model", ".".join(path), names)
    return model


def described_model(session: TableSession, path: Sequence[str]) -> TableResult:
    """The result of DESCRIBE for a model, with one row per column: its name and type, and
    whether it is an input."""
    model = _found(session, path)
    row_type = RowType.of(
        ("name", VarCharType()),
        ("type", VarCharType()),
        ("null", BooleanType()),
        ("is input", BooleanType()),
    )
    sides = ((model.input_schema, True), (model.output_schema, False))
    rows = [
        (column.name, str(column.type and column.type.with_nullable(True)), nullable, is_input)
        for schema, is_input in sides
        for column in schema.columns
        for nullable in (column.type is None or column.type.is_nullable,)
    ]
    return TableResult.of_rows(row_type, rows)


def model_text(session: TableSession, path: Sequence[str]) -> str:
    """The CREATE statement of a model."""
    model, name = _found(session, path), session.catalogs.qualified(path)
    temporary = "TEMPORARY " if session.catalogs.models.is_temporary(path) else ""
    lines = [f"CREATE {temporary}MODEL {name}"]
    for word, schema in (("INPUT", model.input_schema), ("OUTPUT", model.output_schema)):
        columns = ", ".join(f"{quoted(column.name)} {column.type}" for column in schema.columns)
        lines.append(f"{word} ({columns})")
    if model.comment:
        lines.append(f"COMMENT {sql_text(model.comment)}")
    options = (f"  {sql_text(key)} = {sql_text(value)}" for key, value in model.options.items())
    return "\n".join([*lines, "WITH (", ",\n".join(options), ")", ""])
