"""Parser of statements about the session, its catalogs and its jobs: USE, SHOW, SET, EXPLAIN,
..."""

from __future__ import annotations

from typing import Any

from millrace.sql.dialect.alter_statements import AlterParser
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

__all__ = ["ControlParser"]

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")
_OF_DATABASE = frozenset(
    {
        *(ShowKind.TABLES, ShowKind.VIEWS, ShowKind.MATERIALIZED_TABLES, ShowKind.FUNCTIONS),
        *(ShowKind.USER_FUNCTIONS, ShowKind.PROCEDURES, ShowKind.MODELS, ShowKind.DATABASES),
    }
)
_WITH_PATTERN = _OF_DATABASE | {ShowKind.CATALOGS, ShowKind.COLUMNS}


class ControlParser(AlterParser):
    """Reads statements that neither define nor change tables."""

    def use(self) -> Statement:
        """Parse a USE statement."""
        mark = self.index
        self.need("USE")
        if self.take("MODULES"):
            return UseModules(tuple(self.listed(self.name)), **self.origin(mark))
        if self.take("CATALOG"):
            mark = self.index
            return UseCatalog(self.name("the name of a catalog"), **self.origin(mark))
        mark = self.index
        return UseDatabase(self.path("the name of a database", 2), **self.origin(mark))

    def load(self) -> Statement:
        """Parse LOAD MODULE."""
        self.need("LOAD", "MODULE")
        mark = self.index
        name = self.name("the name of a module")
        origin = self.origin(mark)
        return LoadModule(name, self.with_options(), **origin)

    def unload(self) -> Statement:
        """Parse UNLOAD MODULE."""
        self.need("UNLOAD", "MODULE")
        mark = self.index
        return UnloadModule(self.name("the name of a module"), **self.origin(mark))

    def set(self) -> Statement:
        """Parse ``SET 'key' = 'value'``; key and value may be unquoted, as Flink's clients
        allow."""
        mark = self.index
        self.need("SET")
        if self.at(";") or self.at_end():
            return SetOption(**self.origin(mark))
        key = self._option_key()
        self.need("=")
        value = self.advance().value if self.token.kind in (WORD, NUMBER) else self.string()
        return SetOption(key, value, **self.origin(mark))

    def reset(self) -> Statement:
        """Parse ``RESET 'key'``."""
        mark = self.index
        self.need("RESET")
        if self.at(";") or self.at_end():
            return ResetOption(**self.origin(mark))
        return ResetOption(self._option_key(), **self.origin(mark))

    def _option_key(self) -> str:
        """Parse an option key, in quotes or without: ``table.exec.mini-batch.size``."""
        if self.token.kind == STRING:
            return self.advance().value
        mark = self.index
        while self.token.kind == WORD or (self.index > mark and self.at("-", ".")):
            self.advance()
        if self.index == mark:
            raise self.unexpected("the key of an option in single quotes")
        return self.written(mark)

    def show(self) -> Statement:
        """Parse a SHOW statement."""
        mark = self.index
        self.need("SHOW")
        if self.take("CREATE"):
            return self._show_create()
        kind = self._show_kind()
        args: dict[str, Any] = {"kind": kind}
        if kind in (ShowKind.COLUMNS, ShowKind.PARTITIONS):
            if kind is ShowKind.COLUMNS:
                self.need_one("FROM", "IN")
            args["path"] = self.path("the name of a table")
            if self.take("PARTITION"):
                args["partition"] = self.partition()
        elif kind in _OF_DATABASE and self.take_one("FROM", "IN"):
            most = 1 if kind is ShowKind.DATABASES else 2
            args["path"] = self.path("the name of a database", most)
        if kind in _WITH_PATTERN:
            self._pattern_clause(args)
        return Show(**args, **self.origin(mark))

    def _pattern_clause(self, args: dict[str, Any]) -> None:
        if self.at("NOT") and self.peek().key in ("LIKE", "ILIKE"):
            self.advance()
            args["negated"] = True
        like = self.take_one("LIKE", "ILIKE")
        if like is not None:
            args |= {"like": like, "pattern": self.string("a pattern in single quotes")}

    def _show_kind(self) -> ShowKind:
        for kind in ShowKind:
            if self.take(*kind.value.split()):
                return kind
        raise self.unexpected()

    def _show_create(self) -> Statement:
        if self.at("MATERIALIZED", "CONNECTION"):
            raise self.unsupported_object("SHOW CREATE")
        kind = self.need_one("TABLE", "VIEW", "CATALOG", "MODEL")
        mark = self.index
        most = 1 if kind == "CATALOG" else 3
        path = self.path(f"the name of a {kind.lower()}", most)
        return ShowCreate(kind, path, **self.origin(mark))

    def describe(self) -> Statement:
        """Parse DESCRIBE and DESC."""
        self.need_one("DESCRIBE", "DESC")
        kind = DescribeKind.TABLE
        named = self.peek().kind == END or self.peek().key in (".", ";")
        if self.token.key in DescribeKind.__members__ and not named:
            kind = DescribeKind[self.advance().key]
        extended = kind is not DescribeKind.JOB and self.take("EXTENDED")
        mark = self.index
        if kind is DescribeKind.JOB:
            return Describe((self.string("the id of a job"),), kind, **self.origin(mark))
        most = {DescribeKind.CATALOG: 1, DescribeKind.DATABASE: 2}.get(kind, 3)
        path = self.path(f"the name of a {kind.value.lower()}", most)
        return Describe(path, kind, extended, **self.origin(mark))

    def explain(self) -> Statement:
        """Parse EXPLAIN with its details."""
        mark = self.index
        self.need("EXPLAIN")
        details: list[str] = []
        if self.at("PLAN"):
            self.need("PLAN", "FOR")
        elif self.at(*_DETAILS):
            details = self.listed(lambda: self.need_one(*_DETAILS))
            if len(set(details)) < len(details):
                raise self.error("a detail of EXPLAIN is named twice", mark)
        explained = self.explained()
        return Explain(explained, tuple(details), **self.origin(mark))

    def explained(self) -> Query | Insert | InsertSet:
        """Parse the statement behind EXPLAIN: a query, an INSERT or a statement set."""
        mark = self.index
        if self.at("INSERT"):
            return self.insert()
        if self.at("STATEMENT"):
            return self.statement_set()
        if self.at("EXECUTE"):
            self.need("EXECUTE")
            return self.statement_set()
        return Query(self.query(), **self.origin(mark))

    def execute(self) -> Statement:
        """Parse ``EXECUTE STATEMENT SET``, ``EXECUTE PLAN``, or ``EXECUTE`` with a query or an
        INSERT."""
        mark = self.index
        self.need("EXECUTE")
        if self.take("PLAN"):
            file = self.string("the path of a plan in single quotes")
            return ExecutePlan(file, **self.origin(mark))
        return self.explained()

    def compile(self) -> Statement:
        """Parse COMPILE PLAN and COMPILE AND EXECUTE PLAN."""
        mark = self.index
        self.need("COMPILE")
        execute = self.take("AND", "EXECUTE")
        self.need("PLAN")
        file = self.string("the path of a plan in single quotes")
        if_not_exists = not execute and self.if_not_exists()
        self.need("FOR")
        return CompilePlan(file, self.explained(), if_not_exists, execute, **self.origin(mark))

    def procedure(self) -> Statement:
        """Parse CALL."""
        self.need("CALL")
        mark = self.index
        path = [self.identifier("the name of a procedure")]
        while self.take("."):
            path.append(self.identifier("a name after the point"))
        call = self.call(mark, path)
        return CallProcedure(call, **self.origin(mark) | {"position": self._tokens[mark].position})

    def add(self) -> Statement:
        """Parse ADD JAR."""
        mark = self.index
        self.need("ADD", "JAR")
        return AddJar(self.string("a path in single quotes"), **self.origin(mark))

    def remove(self) -> Statement:
        """Parse REMOVE JAR."""
        mark = self.index
        self.need("REMOVE", "JAR")
        return RemoveJar(self.string("a path in single quotes"), **self.origin(mark))

    def stop(self) -> Statement:
        """Parse STOP JOB."""
        mark = self.index
        self.need("STOP", "JOB")
        job = self.string("the id of a job in single quotes")
        savepoint = self.take("WITH", "SAVEPOINT")
        drain = self.take("WITH", "DRAIN")
        return StopJob(job, savepoint, drain, **self.origin(mark))
