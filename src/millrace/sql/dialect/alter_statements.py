"""Parser of ALTER statements."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from millrace.sql.dialect.create_statements import (
    SchemaClauses,
    parse_distribution,
    parse_schema_item,
)
from millrace.sql.dialect.modify_statements import parse_partition
from millrace.sql.dialect.statement_parser import StatementParser
from millrace.sql.statements import (
    AddDistribution,
    AddPartitions,
    AddSchema,
    AlterCatalog,
    AlterDatabase,
    AlterFunction,
    AlterModel,
    AlterTable,
    AlterView,
    ChangeComment,
    ChangeQuery,
    ColumnPosition,
    DropColumns,
    DropConstraint,
    DropDistribution,
    DropPartitions,
    DropPrimaryKey,
    DropWatermark,
    ModifyDistribution,
    ModifySchema,
    Path,
    Rename,
    RenameColumn,
    ResetOptions,
    SetOptions,
    Statement,
    TableDistribution,
)
from millrace.sql.statements.alter import TableAction

__all__ = ["parse_alter"]


def parse_alter(parser: StatementParser) -> Statement:
    """Parse an ALTER statement."""
    parser.need("ALTER")
    if parser.at("MATERIALIZED", "CONNECTION"):
        raise parser.unsupported_object("ALTER")
    if parser.at("TEMPORARY", "FUNCTION"):
        return _alter_function(parser)
    kind = parser.need_one("TABLE", "VIEW", "MODEL", "DATABASE", "CATALOG")
    if_exists = kind in ("TABLE", "MODEL") and parser.if_exists()
    mark = parser.index
    path = parser.path(f"the name of a {kind.lower()}", {"CATALOG": 1, "DATABASE": 2}.get(kind, 3))
    origin = parser.origin(mark)
    if kind == "TABLE":
        return AlterTable(path, _table_action(parser), if_exists, **origin)
    if kind == "VIEW":
        return AlterView(path, _view_action(parser), **origin)
    if kind == "MODEL":
        return AlterModel(path, _model_action(parser), if_exists, **origin)
    if kind == "DATABASE":
        parser.need("SET")
        return AlterDatabase(path, SetOptions(parser.options()), **origin)
    return AlterCatalog(path[0], _catalog_action(parser), **origin)


def _alter_function(parser: StatementParser) -> Statement:
    temporary = parser.take("TEMPORARY")
    system = temporary and parser.take("SYSTEM")
    parser.need("FUNCTION")
    if_exists = parser.if_exists()
    mark = parser.index
    path = parser.path("the name of a function", 1 if system else 3)
    origin = parser.origin(mark)
    parser.need("AS")
    name = parser.string("the name of the function's class in single quotes")
    language = parser.need_one("JAVA", "SCALA", "PYTHON") if parser.take("LANGUAGE") else None
    return AlterFunction(path, name, language, temporary, system, if_exists, **origin)


def _catalog_action(parser: StatementParser) -> SetOptions | ResetOptions | ChangeComment:
    word = parser.need_one("SET", "RESET", "COMMENT")
    if word == "COMMENT":
        return ChangeComment(parser.string())
    return SetOptions(parser.options()) if word == "SET" else _reset_options(parser)


def _reset_options(parser: StatementParser) -> ResetOptions:
    return ResetOptions(tuple(parser.bracketed(parser.string)))


def _view_action(parser: StatementParser) -> Rename | ChangeQuery:
    if parser.need_one("RENAME", "AS") == "RENAME":
        parser.need("TO")
        return Rename(parser.path("the new name"))
    mark = parser.index
    return ChangeQuery(parser.query(), parser.written(mark))


def _model_action(parser: StatementParser) -> Rename | SetOptions | ResetOptions:
    word = parser.need_one("RENAME", "SET", "RESET")
    if word == "RENAME":
        parser.need("TO")
        return Rename(parser.path("the new name"))
    return SetOptions(parser.options()) if word == "SET" else _reset_options(parser)


def _table_action(parser: StatementParser) -> TableAction:
    word = parser.need_one("ADD", "MODIFY", "DROP", "RENAME", "SET", "RESET")
    if word == "SET":
        return SetOptions(parser.options())
    if word == "RESET":
        return _reset_options(parser)
    if word == "RENAME":
        return _rename(parser)
    if word == "DROP":
        return _drop(parser)
    if word == "ADD" and (parser.at("PARTITION") or parser.at_all("IF", "NOT", "EXISTS")):
        return _add_partitions(parser)
    if parser.take("DISTRIBUTION"):
        made = AddDistribution if word == "ADD" else ModifyDistribution
        return made(parse_distribution(parser))
    return _schema(parser, AddSchema if word == "ADD" else ModifySchema)


def _rename(parser: StatementParser) -> Rename | RenameColumn:
    if parser.take("TO"):
        return Rename(parser.path("the new name"))
    column = parser.path("the name of a column")
    parser.need("TO")
    return RenameColumn(column, parser.name("the new name"))


def _schema(
    parser: StatementParser, made: type[AddSchema | ModifySchema]
) -> AddSchema | ModifySchema:
    clauses, places, distribution = SchemaClauses(), [], None
    if parser.take("("):
        places.append(_schema_part(parser, clauses))
        while parser.take(","):
            places.append(_schema_part(parser, clauses))
        parser.need(")")
    else:
        places.append(_schema_part(parser, clauses))
    columns = tuple(place for place in places if isinstance(place, ColumnPosition))
    for place in places:
        if isinstance(place, TableDistribution):
            distribution = place
    return made(columns, clauses.watermark, clauses.primary_key, distribution)


def _schema_part(
    parser: StatementParser, clauses: SchemaClauses
) -> ColumnPosition | TableDistribution | None:
    if parser.take("DISTRIBUTION"):
        return parse_distribution(parser)
    before = len(clauses.columns)
    parse_schema_item(parser, clauses)
    if len(clauses.columns) == before:
        return None
    column = clauses.columns[-1]
    if parser.take("FIRST"):
        return ColumnPosition(column, first=True)
    if parser.take("AFTER"):
        return ColumnPosition(column, after=parser.name("the name of a column"))
    return ColumnPosition(column)


def _drop(parser: StatementParser) -> TableAction:
    if parser.take("PRIMARY"):
        parser.need("KEY")
        return DropPrimaryKey()
    if parser.take("CONSTRAINT"):
        return DropConstraint(parser.name("the name of a constraint"))
    if parser.take("WATERMARK"):
        return DropWatermark()
    if parser.take("DISTRIBUTION"):
        return DropDistribution()
    if_exists = parser.if_exists()
    if parser.at("PARTITION"):
        return DropPartitions(tuple(parser.listed(lambda: _partition(parser))), if_exists)
    if parser.at("("):
        return DropColumns(tuple(parser.bracketed(lambda: _column_path(parser))), if_exists)
    return DropColumns((_column_path(parser),), if_exists)


def _column_path(parser: StatementParser) -> Path:
    return parser.path("the name of a column")


def _partition(parser: StatementParser) -> Mapping[str, exp.Expr | None]:
    parser.need("PARTITION")
    return parse_partition(parser)


def _add_partitions(parser: StatementParser) -> AddPartitions:
    if_not_exists = parser.if_not_exists()
    partitions = [(_partition(parser), parser.with_options())]
    while parser.take(",") or parser.at("PARTITION"):
        partitions.append((_partition(parser), parser.with_options()))
    return AddPartitions(tuple(partitions), if_not_exists)
