"""Parser of statements that neither define nor change tables, but concern the session, its
catalogs and its jobs: USE, SHOW, SET, EXPLAIN, ..."""

from __future__ import annotations

from typing import Any

from millrace.sql.dialect.modify_statements import (
    parse_insert,
    parse_partition,
    parse_statement_set,
)
from millrace.sql.dialect.statement_parser import StatementParser
from millrace.sql.dialect.tokenizer import END, NUMBER, STRING, WORD
from millrace.sql.statements import (
    AddJar,
    CallProcedure,
    CompilePlan,
    Describe,
    DescribeKind,
    ExecutePlan,
    Explain,
    Insert,
    InsertSet,
    LoadModule,
    Query,
    RemoveJar,
    ResetOption,
    SetOption,
    Show,
    ShowCreate,
    ShowKind,
    Statement,
    StopJob,
    UnloadModule,
    UseCatalog,
    UseDatabase,
    UseModules,
)

__all__ = [
    "parse_add",
    "parse_call",
    "parse_compile",
    "parse_describe",
    "parse_execute",
    "parse_explain",
    "parse_load",
    "parse_remove",
    "parse_reset",
    "parse_set",
    "parse_show",
    "parse_stop",
    "parse_unload",
    "parse_use",
]

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")
_OF_DATABASE = frozenset(
    {
        *(ShowKind.TABLES, ShowKind.VIEWS, ShowKind.MATERIALIZED_TABLES, ShowKind.FUNCTIONS),
        *(ShowKind.USER_FUNCTIONS, ShowKind.PROCEDURES, ShowKind.MODELS, ShowKind.DATABASES),
    }
)
_WITH_PATTERN = _OF_DATABASE | {ShowKind.CATALOGS, ShowKind.COLUMNS}


def parse_use(parser: StatementParser) -> Statement:
    """Parse a USE statement."""
    mark = parser.index
    parser.need("USE")
    if parser.take("MODULES"):
        return UseModules(tuple(parser.listed(parser.name)), **parser.origin(mark))
    if parser.take("CATALOG"):
        mark = parser.index
        return UseCatalog(parser.name("the name of a catalog"), **parser.origin(mark))
    mark = parser.index
    return UseDatabase(parser.path("the name of a database", 2), **parser.origin(mark))


def parse_load(parser: StatementParser) -> Statement:
    """Parse LOAD MODULE."""
    parser.need("LOAD", "MODULE")
    mark = parser.index
    name = parser.name("the name of a module")
    origin = parser.origin(mark)
    return LoadModule(name, parser.with_options(), **origin)


def parse_unload(parser: StatementParser) -> Statement:
    """Parse UNLOAD MODULE."""
    parser.need("UNLOAD", "MODULE")
    mark = parser.index
    return UnloadModule(parser.name("the name of a module"), **parser.origin(mark))


def parse_set(parser: StatementParser) -> Statement:
    """Parse ``SET 'key' = 'value'``; key and value may be unquoted, as Flink's clients
    allow."""
    mark = parser.index
    parser.need("SET")
    if parser.at(";") or parser.at_end():
        return SetOption(**parser.origin(mark))
    key = _option_key(parser)
    parser.need("=")
    value = parser.advance().value if parser.token.kind in (WORD, NUMBER) else parser.string()
    return SetOption(key, value, **parser.origin(mark))


def parse_reset(parser: StatementParser) -> Statement:
    """Parse ``RESET 'key'``."""
    mark = parser.index
    parser.need("RESET")
    if parser.at(";") or parser.at_end():
        return ResetOption(**parser.origin(mark))
    return ResetOption(_option_key(parser), **parser.origin(mark))


def _option_key(parser: StatementParser) -> str:
    """Parse an option key, in quotes or without: ``table.exec.mini-batch.size``."""
    if parser.token.kind == STRING:
        return parser.advance().value
    mark = parser.index
    while parser.token.kind == WORD or (parser.index > mark and parser.at("-", ".")):
        parser.advance()
    if parser.index == mark:
        raise parser.unexpected("the key of an option in single quotes")
    return parser.written(mark)


def parse_show(parser: StatementParser) -> Statement:
    """Parse a SHOW statement."""
    mark = parser.index
    parser.need("SHOW")
    if parser.take("CREATE"):
        return _show_create(parser)
    kind = _show_kind(parser)
    args: dict[str, Any] = {"kind": kind}
    if kind in (ShowKind.COLUMNS, ShowKind.PARTITIONS):
        if kind is ShowKind.COLUMNS:
            parser.need_one("FROM", "IN")
        args["path"] = parser.path("the name of a table")
        if parser.take("PARTITION"):
            args["partition"] = parse_partition(parser)
    elif kind in _OF_DATABASE and parser.take_one("FROM", "IN"):
        most = 1 if kind is ShowKind.DATABASES else 2
        args["path"] = parser.path("the name of a database", most)
    if kind in _WITH_PATTERN:
        _pattern_clause(parser, args)
    return Show(**args, **parser.origin(mark))


def _pattern_clause(parser: StatementParser, args: dict[str, Any]) -> None:
    if parser.at("NOT") and parser.peek().key in ("LIKE", "ILIKE"):
        parser.advance()
        args["negated"] = True
    like = parser.take_one("LIKE", "ILIKE")
    if like is not None:
        args |= {"like": like, "pattern": parser.string("a pattern in single quotes")}


def _show_kind(parser: StatementParser) -> ShowKind:
    for kind in ShowKind:
        if parser.take(*kind.value.split()):
            return kind
    raise parser.unexpected()


def _show_create(parser: StatementParser) -> Statement:
    if parser.at("MATERIALIZED", "CONNECTION"):
        raise parser.unsupported_object("SHOW CREATE")
    kind = parser.need_one("TABLE", "VIEW", "CATALOG", "MODEL")
    mark = parser.index
    most = 1 if kind == "CATALOG" else 3
    path = parser.path(f"the name of a {kind.lower()}", most)
    return ShowCreate(kind, path, **parser.origin(mark))


def parse_describe(parser: StatementParser) -> Statement:
    """Parse DESCRIBE and DESC."""
    parser.need_one("DESCRIBE", "DESC")
    kind = DescribeKind.TABLE
    named = parser.peek().kind == END or parser.peek().key in (".", ";")
    if parser.token.key in DescribeKind.__members__ and not named:
        kind = DescribeKind[parser.advance().key]
    extended = kind is not DescribeKind.JOB and parser.take("EXTENDED")
    mark = parser.index
    if kind is DescribeKind.JOB:
        return Describe((parser.string("the id of a job"),), kind, **parser.origin(mark))
    most = {DescribeKind.CATALOG: 1, DescribeKind.DATABASE: 2}.get(kind, 3)
    path = parser.path(f"the name of a {kind.value.lower()}", most)
    return Describe(path, kind, extended, **parser.origin(mark))


def parse_explain(parser: StatementParser) -> Statement:
    """Parse EXPLAIN with its details."""
    mark = parser.index
    parser.need("EXPLAIN")
    details: list[str] = []
    if parser.at("PLAN"):
        parser.need("PLAN", "FOR")
    elif parser.at(*_DETAILS):
        details = parser.listed(lambda: parser.need_one(*_DETAILS))
        if len(set(details)) < len(details):
            raise parser.error("a detail of EXPLAIN is named twice", mark)
    explained = parse_explained(parser)
    return Explain(explained, tuple(details), **parser.origin(mark))


def parse_explained(parser: StatementParser) -> Query | Insert | InsertSet:
    """Parse the statement after EXPLAIN: a query, an INSERT or a statement set."""
    mark = parser.index
    if parser.at("INSERT"):
        return parse_insert(parser)
    if parser.at("STATEMENT"):
        return parse_statement_set(parser)
    if parser.at("EXECUTE"):
        parser.need("EXECUTE")
        return parse_statement_set(parser)
    return Query(parser.query(), **parser.origin(mark))


def parse_execute(parser: StatementParser) -> Statement:
    """Parse ``EXECUTE STATEMENT SET``, ``EXECUTE PLAN``, or ``EXECUTE`` with a query or an
    INSERT."""
    mark = parser.index
    parser.need("EXECUTE")
    if parser.take("PLAN"):
        file = parser.string("the path of a plan in single quotes")
        return ExecutePlan(file, **parser.origin(mark))
    return parse_explained(parser)


def parse_compile(parser: StatementParser) -> Statement:
    """Parse COMPILE PLAN and COMPILE AND EXECUTE PLAN."""
    mark = parser.index
    parser.need("COMPILE")
    execute = parser.take("AND", "EXECUTE")
    parser.need("PLAN")
    file = parser.string("the path of a plan in single quotes")
    if_not_exists = not execute and parser.if_not_exists()
    parser.need("FOR")
    return CompilePlan(file, parse_explained(parser), if_not_exists, execute, **parser.origin(mark))


def parse_call(parser: StatementParser) -> Statement:
    """Parse CALL."""
    parser.need("CALL")
    mark = parser.index
    path = [parser.identifier("the name of a procedure")]
    while parser.take("."):
        path.append(parser.identifier("a name after the point"))
    call = parser.call(mark, path)
    return CallProcedure(call, **parser.origin(mark) | {"position": parser.token_at(mark).position})


def parse_add(parser: StatementParser) -> Statement:
    """Parse ADD JAR."""
    mark = parser.index
    parser.need("ADD", "JAR")
    return AddJar(parser.string("a path in single quotes"), **parser.origin(mark))


def parse_remove(parser: StatementParser) -> Statement:
    """Parse REMOVE JAR."""
    mark = parser.index
    parser.need("REMOVE", "JAR")
    return RemoveJar(parser.string("a path in single quotes"), **parser.origin(mark))


def parse_stop(parser: StatementParser) -> Statement:
    """Parse STOP JOB."""
    mark = parser.index
    parser.need("STOP", "JOB")
    job = parser.string("the id of a job in single quotes")
    savepoint = parser.take("WITH", "SAVEPOINT")
    drain = parser.take("WITH", "DRAIN")
    return StopJob(job, savepoint, drain, **parser.origin(mark))
