"""Parser of CREATE and DROP statements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from millrace.sql.dialect.statement_parser import StatementParser
from millrace.sql.dialect.types import parse_data_type
from millrace.sql.statements import (
    Column,
    ComputedColumnClause,
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateModel,
    CreateTable,
    CreateView,
    DropCatalog,
    DropDatabase,
    DropFunction,
    DropModel,
    DropTable,
    DropView,
    LikeClause,
    LikeOption,
    MetadataColumnClause,
    PhysicalColumnClause,
    PrimaryKey,
    Statement,
    TableDistribution,
    Watermark,
)

__all__ = [
    "SchemaClauses",
    "parse_create",
    "parse_distribution",
    "parse_drop",
    "parse_replace",
    "parse_schema_item",
]

_LIKE_FEATURES = (
    *("ALL", "CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS"),
    "WATERMARKS",
)
_LANGUAGES = ("JAVA", "SCALA", "PYTHON")


@dataclass
class SchemaClauses:
    """Clauses in the brackets of CREATE TABLE and ALTER TABLE, collected while they are parsed."""

    columns: list[Column] = field(default_factory=list)
    watermark: Watermark | None = None
    primary_key: PrimaryKey | None = None


def parse_create(parser: StatementParser) -> Statement:
    """Parse a CREATE statement."""
    parser.need("CREATE")
    replace = parser.take("OR")
    if replace:
        parser.need("REPLACE")
    temporary = parser.take("TEMPORARY")
    if parser.at("MATERIALIZED", "CONNECTION") and not replace:
        raise parser.unsupported_object("CREATE")
    if parser.take("TABLE"):
        return _create_table(parser, temporary, replace)
    if replace:
        raise parser.unexpected("TABLE")
    if parser.take("VIEW"):
        return _create_view(parser, temporary)
    if parser.take("MODEL"):
        return _create_model(parser, temporary)
    if temporary and parser.take("SYSTEM"):
        parser.need("FUNCTION")
        return _create_function(parser, temporary, True)
    if parser.take("FUNCTION"):
        return _create_function(parser, temporary, False)
    if not temporary and parser.take("CATALOG"):
        return _create_catalog(parser)
    if not temporary and parser.take("DATABASE"):
        return _create_database(parser)
    raise parser.unexpected()


def parse_replace(parser: StatementParser) -> Statement:
    """Parse REPLACE TABLE ... AS, which requires an existing table."""
    parser.need("REPLACE", "TABLE")
    return _create_table(parser, False, True)


def _create_table(parser: StatementParser, temporary: bool, replace: bool) -> Statement:
    if_not_exists = parser.if_not_exists()
    mark = parser.index
    args: dict[str, Any] = {"path": parser.path("the name of a table"), **parser.origin(mark)}
    args |= {"temporary": temporary, "or_replace": replace}
    schema = SchemaClauses()
    if parser.at("("):
        if _lists_names(parser):
            args["column_names"] = parser.names()
        else:
            parse_schema(parser, schema)
    args["columns"] = tuple(schema.columns)
    args |= {"watermark": schema.watermark, "primary_key": schema.primary_key}
    args["comment"] = parser.comment()
    if parser.take("DISTRIBUTED"):
        args["distribution"] = parse_distribution(parser)
    if parser.take("PARTITIONED", "BY"):
        args["partitioned_by"] = parser.names()
    args["options"] = parser.with_options()
    if parser.take("LIKE"):
        args["like"] = _like_clause(parser)
    elif parser.take("AS"):
        query = parser.index
        args["query"] = parser.query()
        args["query_text"] = parser.written(query)
    if replace and "query" not in args:
        raise parser.unexpected("AS and a query, which CREATE OR REPLACE TABLE needs,")
    return CreateTable(**args, if_not_exists=if_not_exists)


def _lists_names(parser: StatementParser) -> bool:
    """Whether the next brackets hold names without types: ``(a, b) AS SELECT``."""
    return parser.peek(2).key in (",", ")") and parser.peek().key not in (")", "(")


def parse_schema(parser: StatementParser, clauses: SchemaClauses) -> None:
    """Parse ``(column, WATERMARK ..., PRIMARY KEY ...)``."""
    parser.need("(")
    parse_schema_item(parser, clauses)
    while parser.take(","):
        parse_schema_item(parser, clauses)
    parser.need(")")


def parse_schema_item(parser: StatementParser, clauses: SchemaClauses) -> None:
    """Parse one column, watermark or constraint."""
    mark = parser.index
    if parser.at("WATERMARK") and parser.peek().key == "FOR":
        if clauses.watermark is not None:
            raise parser.error("a table has one watermark, and this is the second")
        clauses.watermark = parse_watermark(parser)
    elif parser.at("PRIMARY", "CONSTRAINT", "UNIQUE"):
        _set_key(parser, clauses, parse_key_constraint(parser), mark)
    else:
        clauses.columns.append(_column_definition(parser, clauses))


def _set_key(parser: StatementParser, clauses: SchemaClauses, key: PrimaryKey, mark: int) -> None:
    if clauses.primary_key is not None:
        raise parser.error("a table has one primary key, and this is the second", mark)
    clauses.primary_key = key


def parse_watermark(parser: StatementParser) -> Watermark:
    """Parse ``WATERMARK FOR a AS a - INTERVAL '1' SECOND``."""
    mark = parser.index
    parser.need("WATERMARK", "FOR")
    column = parser.path("the name of a column", 3)
    parser.need("AS")
    start = parser.index
    expression = parser.expression()
    return Watermark(column, expression, parser.written(start), position=parser.place(mark))


def parse_key_constraint(parser: StatementParser) -> PrimaryKey:
    """Parse ``CONSTRAINT a PRIMARY KEY (b) NOT ENFORCED``."""
    mark = parser.index
    name = parser.name("the name of a constraint") if parser.take("CONSTRAINT") else None
    columns: tuple[str, ...] = ()
    if parser.at("UNIQUE"):
        raise parser.error("UNIQUE is not supported: a table has a PRIMARY KEY")
    parser.need("PRIMARY", "KEY")
    columns = parser.names()
    return PrimaryKey(columns, name, _enforced(parser), position=parser.place(mark))


def _enforced(parser: StatementParser) -> bool:
    if parser.take("NOT", "ENFORCED"):
        return False
    parser.take("ENFORCED")
    return True


def _column_definition(parser: StatementParser, schema: SchemaClauses) -> Column:
    mark = parser.index
    name = parser.name("the name of a column")
    place = parser.place(mark)
    if parser.at("."):
        raise parser.error("a field of a row cannot be changed alone: give the column's whole type")
    if parser.take("AS"):
        start = parser.index
        expression = parser.expression()
        text = parser.written(start)
        return ComputedColumnClause(
            name, expression, text, comment=parser.comment(), position=place
        )
    kind = parse_data_type(parser)
    if parser.take("METADATA"):
        key = parser.string() if parser.take("FROM") else None
        virtual = parser.take("VIRTUAL")
        return MetadataColumnClause(
            name, kind, key, virtual, comment=parser.comment(), position=place
        )
    if parser.at("PRIMARY", "CONSTRAINT"):
        constraint = parser.name() if parser.take("CONSTRAINT") else None
        parser.need("PRIMARY", "KEY")
        key_of = PrimaryKey((name,), constraint, _enforced(parser), position=place)
        _set_key(parser, schema, key_of, mark)
    return PhysicalColumnClause(name, kind, comment=parser.comment(), position=place)


def parse_distribution(parser: StatementParser) -> TableDistribution:
    """Parse ``BY HASH (a) INTO 4 BUCKETS``, ``BY (a)`` or ``INTO 4 BUCKETS``."""
    kind: str | None = None
    columns: tuple[str, ...] = ()
    if not parser.at("INTO"):
        parser.need("BY")
        kind = parser.take_one("HASH", "RANGE")
        columns = parser.names()
    buckets = None
    if parser.take("INTO"):
        buckets = parser.number()
        parser.need("BUCKETS")
    return TableDistribution(columns, kind, buckets)


def _like_clause(parser: StatementParser) -> LikeClause:
    mark = parser.index
    path = parser.path("the name of a table")
    place = parser.place(mark)
    options: list[LikeOption] = []
    if parser.take("("):
        while not parser.take(")"):
            merging = parser.need_one("INCLUDING", "EXCLUDING", "OVERWRITING")
            options.append(LikeOption(merging, parser.need_one(*_LIKE_FEATURES)))
    return LikeClause(path, tuple(options), position=place)


def _create_view(parser: StatementParser, temporary: bool) -> Statement:
    args: dict[str, Any] = {"if_not_exists": parser.if_not_exists()}
    mark = parser.index
    args |= {"path": parser.path("the name of a view"), "temporary": temporary}
    args |= parser.origin(mark)
    if parser.at("("):
        args["columns"] = parser.names()
    args["comment"] = parser.comment()
    parser.need("AS")
    start = parser.index
    args["query"] = parser.query()
    return CreateView(**args, query_text=parser.written(start))


def _create_function(parser: StatementParser, temporary: bool, system: bool) -> Statement:
    args: dict[str, Any] = {"if_not_exists": parser.if_not_exists()}
    mark = parser.index
    most = 1 if system else 3
    args |= {"path": parser.path("the name of a function", most), **parser.origin(mark)}
    args |= {"temporary": temporary, "system": system}
    parser.need("AS")
    args["class_name"] = parser.string("the name of the function's class in single quotes")
    if parser.take("LANGUAGE"):
        args["language"] = parser.need_one(*_LANGUAGES)
    if parser.take("USING"):
        args["resources"] = tuple(parser.listed(lambda: _resource(parser)))
    return CreateFunction(**args, options=parser.with_options())


def _create_model(parser: StatementParser, temporary: bool) -> Statement:
    args: dict[str, Any] = {"if_not_exists": parser.if_not_exists(), "temporary": temporary}
    mark = parser.index
    args |= {"path": parser.path("the name of a model"), **parser.origin(mark)}
    for word, name in (("INPUT", "inputs"), ("OUTPUT", "outputs")):
        if parser.take(word):
            clauses = SchemaClauses()
            parse_schema(parser, clauses)
            args[name] = tuple(clauses.columns)
    args["comment"] = parser.comment()
    return CreateModel(**args, options=parser.with_options())


def _resource(parser: StatementParser) -> tuple[str, str]:
    kind = parser.need_one("JAR", "FILE", "ARTIFACT")
    return kind, parser.string("a path in single quotes")


def _create_catalog(parser: StatementParser) -> Statement:
    args: dict[str, Any] = {"if_not_exists": parser.if_not_exists()}
    mark = parser.index
    args |= {"name": parser.name("the name of a catalog"), **parser.origin(mark)}
    args["comment"] = parser.comment()
    return CreateCatalog(**args, options=parser.with_options())


def _create_database(parser: StatementParser) -> Statement:
    args: dict[str, Any] = {"if_not_exists": parser.if_not_exists()}
    mark = parser.index
    args |= {"path": parser.path("the name of a database", 2), **parser.origin(mark)}
    args["comment"] = parser.comment()
    return CreateDatabase(**args, options=parser.with_options())


def parse_drop(parser: StatementParser) -> Statement:
    """Parse a DROP statement."""
    parser.need("DROP")
    temporary = parser.take("TEMPORARY")
    if parser.at("MATERIALIZED", "CONNECTION"):
        raise parser.unsupported_object("DROP")
    system = temporary and parser.take("SYSTEM")
    if system:
        kind = parser.need_one("FUNCTION")
    elif temporary:
        kind = parser.need_one("TABLE", "VIEW", "FUNCTION", "MODEL")
    else:
        kind = parser.need_one("TABLE", "VIEW", "FUNCTION", "MODEL", "CATALOG", "DATABASE")
    if_exists = parser.if_exists()
    mark = parser.index
    path = parser.path(f"the name of a {kind.lower()}", {"CATALOG": 1, "DATABASE": 2}.get(kind, 3))
    origin = parser.origin(mark)
    if kind == "CATALOG":
        return DropCatalog(path[0], if_exists, **origin)
    if kind == "DATABASE":
        cascade = parser.take_one("RESTRICT", "CASCADE") == "CASCADE"
        return DropDatabase(path, if_exists, cascade, **origin)
    if kind == "FUNCTION":
        return DropFunction(path, temporary, system, if_exists, **origin)
    if kind == "MODEL":
        return DropModel(path, temporary, if_exists, **origin)
    made = DropTable if kind == "TABLE" else DropView
    return made(path, temporary, if_exists, **origin)
