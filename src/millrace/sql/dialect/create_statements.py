"""Parser of CREATE and DROP statements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Never

from millrace.sql.dialect.queries import QueryParser
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
    Path,
    PhysicalColumnClause,
    PrimaryKey,
    Statement,
    TableDistribution,
    Watermark,
)

__all__ = ["CreateParser", "SchemaClauses"]

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


class CreateParser(QueryParser):
    """Reads CREATE and DROP."""

    def path(self, wanted: str = "a name", most: int = 3) -> Path:
        """Parse a name of up to three parts."""
        mark = self.index
        parts = [self.name(wanted)]
        while self.take("."):
            parts.append(self.name("a name after the point"))
        if len(parts) > most:
            parts_are = ("", "", "a database and", "a catalog, a database and")[most]
            raise self.error(f"this name has at most {most} parts: {parts_are} a name", mark)
        return tuple(parts)

    def options(self) -> dict[str, str]:
        """Parse options ``('key' = 'value', ...)``."""
        self.need("(")
        found: dict[str, str] = {}
        while not self.take(")"):
            if found:
                self.need(",")
            mark = self.index
            at = self.token.position
            key = self.string("the key of an option in single quotes")
            self.name_positions.options[key] = at
            if key in found:
                raise self.error(f"the option '{key}' is set twice", mark)
            self.need("=")
            found[key] = self.string("the value of an option in single quotes")
        return found

    def with_options(self) -> dict[str, str]:
        """Parse an optional ``WITH (...)``."""
        return self.options() if self.take("WITH") else {}

    def comment(self) -> str | None:
        """Parse an optional ``COMMENT '...'``."""
        return self.string() if self.take("COMMENT") else None

    def if_not_exists(self) -> bool:
        """Parse an optional ``IF NOT EXISTS``."""
        return self.take("IF", "NOT", "EXISTS")

    def if_exists(self) -> bool:
        """Parse an optional ``IF EXISTS``."""
        return self.take("IF", "EXISTS")

    def origin(self, mark: int) -> dict[str, Any]:
        """Origin of a statement: its text, the position of the name read since the mark, and the
        positions of all names, also of those that are still to be read."""
        return {
            "text": self.text,
            "position": self.place(mark),
            "name_positions": self.name_positions,
        }

    def names(self) -> tuple[str, ...]:
        """Parse a list of names ``(a, b)``."""
        return tuple(self.bracketed(self.name))

    def create(self) -> Statement:
        """Parse a CREATE statement."""
        self.need("CREATE")
        replace = self.take("OR")
        if replace:
            self.need("REPLACE")
        temporary = self.take("TEMPORARY")
        if self.at("MATERIALIZED", "CONNECTION") and not replace:
            raise self.unsupported_object("CREATE")
        if self.take("TABLE"):
            return self._create_table(temporary, replace)
        if replace:
            raise self.unexpected("TABLE")
        if self.take("VIEW"):
            return self._create_view(temporary)
        if self.take("MODEL"):
            return self._create_model(temporary)
        if temporary and self.take("SYSTEM"):
            self.need("FUNCTION")
            return self._create_function(temporary, True)
        if self.take("FUNCTION"):
            return self._create_function(temporary, False)
        if not temporary and self.take("CATALOG"):
            return self._create_catalog()
        if not temporary and self.take("DATABASE"):
            return self._create_database()
        raise self.unexpected()

    def replace(self) -> Statement:
        """Parse REPLACE TABLE ... AS, which requires an existing table."""
        self.need("REPLACE", "TABLE")
        return self._create_table(False, True)

    def unsupported_object(self, verb: str) -> Never:
        """Refuse an object that Flink supports and Millrace does not."""
        reasons = {
            "MATERIALIZED": (
                "Millrace has no materialized tables: INSERT INTO a table keeps it up to date as "
                "long as the job runs"
            ),
            "CONNECTION": "Millrace has no connections: options stand in WITH of each table",
        }
        raise self.error(f"{verb} {self.token.key}: {reasons[self.token.key]}")

    def _create_table(self, temporary: bool, replace: bool) -> Statement:
        if_not_exists = self.if_not_exists()
        mark = self.index
        args: dict[str, Any] = {"path": self.path("the name of a table"), **self.origin(mark)}
        args |= {"temporary": temporary, "or_replace": replace}
        schema = SchemaClauses()
        if self.at("("):
            if self._lists_names():
                args["column_names"] = self.names()
            else:
                self.schema(schema)
        args["columns"] = tuple(schema.columns)
        args |= {"watermark": schema.watermark, "primary_key": schema.primary_key}
        args["comment"] = self.comment()
        if self.take("DISTRIBUTED"):
            args["distribution"] = self.distribution()
        if self.take("PARTITIONED", "BY"):
            args["partitioned_by"] = self.names()
        args["options"] = self.with_options()
        if self.take("LIKE"):
            args["like"] = self._like_clause()
        elif self.take("AS"):
            query = self.index
            args["query"] = self.query()
            args["query_text"] = self.written(query)
        if replace and "query" not in args:
            raise self.unexpected("AS and a query, which CREATE OR REPLACE TABLE needs,")
        return CreateTable(**args, if_not_exists=if_not_exists)

    def _lists_names(self) -> bool:
        """Whether the next brackets hold names without types: ``(a, b) AS SELECT``."""
        return self.peek(2).key in (",", ")") and self.peek().key not in (")", "(")

    def schema(self, found: SchemaClauses) -> None:
        """Parse ``(column, WATERMARK ..., PRIMARY KEY ...)``."""
        self.need("(")
        self.schema_item(found)
        while self.take(","):
            self.schema_item(found)
        self.need(")")

    def schema_item(self, found: SchemaClauses) -> None:
        """Parse one column, watermark or constraint."""
        mark = self.index
        if self.at("WATERMARK") and self.peek().key == "FOR":
            if found.watermark is not None:
                raise self.error("a table has one watermark, and this is the second")
            found.watermark = self.watermark()
        elif self.at("PRIMARY", "CONSTRAINT", "UNIQUE"):
            self._set_key(found, self.key_constraint(), mark)
        else:
            found.columns.append(self._column_definition(found))

    def _set_key(self, found: SchemaClauses, key: PrimaryKey, mark: int) -> None:
        if found.primary_key is not None:
            raise self.error("a table has one primary key, and this is the second", mark)
        found.primary_key = key

    def watermark(self) -> Watermark:
        """Parse ``WATERMARK FOR a AS a - INTERVAL '1' SECOND``."""
        mark = self.index
        self.need("WATERMARK", "FOR")
        column = self.path("the name of a column", 3)
        self.need("AS")
        start = self.index
        expression = self.expression()
        return Watermark(column, expression, self.written(start), position=self.place(mark))

    def key_constraint(self) -> PrimaryKey:
        """Parse ``CONSTRAINT a PRIMARY KEY (b) NOT ENFORCED``."""
        mark = self.index
        name = self.name("the name of a constraint") if self.take("CONSTRAINT") else None
        columns: tuple[str, ...] = ()
        if self.at("UNIQUE"):
            raise self.error("UNIQUE is not supported: a table has a PRIMARY KEY")
        self.need("PRIMARY", "KEY")
        columns = self.names()
        return PrimaryKey(columns, name, self._enforced(), position=self.place(mark))

    def _enforced(self) -> bool:
        if self.take("NOT", "ENFORCED"):
            return False
        self.take("ENFORCED")
        return True

    def _column_definition(self, schema: SchemaClauses) -> Column:
        mark = self.index
        name = self.name("the name of a column")
        place = self.place(mark)
        if self.at("."):
            raise self.error(
                "a field of a row cannot be changed alone: give the column's whole type"
            )
        if self.take("AS"):
            start = self.index
            expression = self.expression()
            text = self.written(start)
            return ComputedColumnClause(
                name, expression, text, comment=self.comment(), position=place
            )
        kind = self.type()
        if self.take("METADATA"):
            key = self.string() if self.take("FROM") else None
            virtual = self.take("VIRTUAL")
            return MetadataColumnClause(
                name, kind, key, virtual, comment=self.comment(), position=place
            )
        if self.at("PRIMARY", "CONSTRAINT"):
            constraint = self.name() if self.take("CONSTRAINT") else None
            self.need("PRIMARY", "KEY")
            key_of = PrimaryKey((name,), constraint, self._enforced(), position=place)
            self._set_key(schema, key_of, mark)
        return PhysicalColumnClause(name, kind, comment=self.comment(), position=place)

    def distribution(self) -> TableDistribution:
        """Parse ``BY HASH (a) INTO 4 BUCKETS``, ``BY (a)`` or ``INTO 4 BUCKETS``."""
        kind: str | None = None
        columns: tuple[str, ...] = ()
        if not self.at("INTO"):
            self.need("BY")
            kind = self.take_one("HASH", "RANGE")
            columns = self.names()
        buckets = None
        if self.take("INTO"):
            buckets = self.number()
            self.need("BUCKETS")
        return TableDistribution(columns, kind, buckets)

    def _like_clause(self) -> LikeClause:
        mark = self.index
        path = self.path("the name of a table")
        place = self.place(mark)
        found: list[LikeOption] = []
        if self.take("("):
            while not self.take(")"):
                merging = self.need_one("INCLUDING", "EXCLUDING", "OVERWRITING")
                found.append(LikeOption(merging, self.need_one(*_LIKE_FEATURES)))
        return LikeClause(path, tuple(found), position=place)

    def _create_view(self, temporary: bool) -> Statement:
        args: dict[str, Any] = {"if_not_exists": self.if_not_exists()}
        mark = self.index
        args |= {"path": self.path("the name of a view"), "temporary": temporary}
        args |= self.origin(mark)
        if self.at("("):
            args["columns"] = self.names()
        args["comment"] = self.comment()
        self.need("AS")
        start = self.index
        args["query"] = self.query()
        return CreateView(**args, query_text=self.written(start))

    def _create_function(self, temporary: bool, system: bool) -> Statement:
        args: dict[str, Any] = {"if_not_exists": self.if_not_exists()}
        mark = self.index
        most = 1 if system else 3
        args |= {"path": self.path("the name of a function", most), **self.origin(mark)}
        args |= {"temporary": temporary, "system": system}
        self.need("AS")
        args["class_name"] = self.string("the name of the function's class in single quotes")
        if self.take("LANGUAGE"):
            args["language"] = self.need_one(*_LANGUAGES)
        if self.take("USING"):
            args["resources"] = tuple(self.listed(self._resource))
        return CreateFunction(**args, options=self.with_options())

    def _create_model(self, temporary: bool) -> Statement:
        args: dict[str, Any] = {"if_not_exists": self.if_not_exists(), "temporary": temporary}
        mark = self.index
        args |= {"path": self.path("the name of a model"), **self.origin(mark)}
        for word, name in (("INPUT", "inputs"), ("OUTPUT", "outputs")):
            if self.take(word):
                found = SchemaClauses()
                self.schema(found)
                args[name] = tuple(found.columns)
        args["comment"] = self.comment()
        return CreateModel(**args, options=self.with_options())

    def _resource(self) -> tuple[str, str]:
        kind = self.need_one("JAR", "FILE", "ARTIFACT")
        return kind, self.string("a path in single quotes")

    def _create_catalog(self) -> Statement:
        args: dict[str, Any] = {"if_not_exists": self.if_not_exists()}
        mark = self.index
        args |= {"name": self.name("the name of a catalog"), **self.origin(mark)}
        args["comment"] = self.comment()
        return CreateCatalog(**args, options=self.with_options())

    def _create_database(self) -> Statement:
        args: dict[str, Any] = {"if_not_exists": self.if_not_exists()}
        mark = self.index
        args |= {"path": self.path("the name of a database", 2), **self.origin(mark)}
        args["comment"] = self.comment()
        return CreateDatabase(**args, options=self.with_options())

    def drop(self) -> Statement:
        """Parse a DROP statement."""
        self.need("DROP")
        temporary = self.take("TEMPORARY")
        if self.at("MATERIALIZED", "CONNECTION"):
            raise self.unsupported_object("DROP")
        system = temporary and self.take("SYSTEM")
        if system:
            kind = self.need_one("FUNCTION")
        elif temporary:
            kind = self.need_one("TABLE", "VIEW", "FUNCTION", "MODEL")
        else:
            kind = self.need_one("TABLE", "VIEW", "FUNCTION", "MODEL", "CATALOG", "DATABASE")
        if_exists = self.if_exists()
        mark = self.index
        path = self.path(
            f"the name of a {kind.lower()}", {"CATALOG": 1, "DATABASE": 2}.get(kind, 3)
        )
        origin = self.origin(mark)
        if kind == "CATALOG":
            return DropCatalog(path[0], if_exists, **origin)
        if kind == "DATABASE":
            cascade = self.take_one("RESTRICT", "CASCADE") == "CASCADE"
            return DropDatabase(path, if_exists, cascade, **origin)
        if kind == "FUNCTION":
            return DropFunction(path, temporary, system, if_exists, **origin)
        if kind == "MODEL":
            return DropModel(path, temporary, if_exists, **origin)
        made = DropTable if kind == "TABLE" else DropView
        return made(path, temporary, if_exists, **origin)
