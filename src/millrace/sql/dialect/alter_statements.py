"""Parser of ALTER statements."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from millrace.sql.dialect.create_statements import SchemaClauses
from millrace.sql.dialect.modify_statements import ModifyParser
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

__all__ = ["AlterParser"]


class AlterParser(ModifyParser):
    """Reads ALTER."""

    def alter(self) -> Statement:
        """Parse an ALTER statement."""
        self.need("ALTER")
        if self.at("MATERIALIZED", "CONNECTION"):
            raise self.unsupported_object("ALTER")
        if self.at("TEMPORARY", "FUNCTION"):
            return self._alter_function()
        kind = self.need_one("TABLE", "VIEW", "MODEL", "DATABASE", "CATALOG")
        if_exists = kind in ("TABLE", "MODEL") and self.if_exists()
        mark = self.index
        path = self.path(
            f"the name of a {kind.lower()}", {"CATALOG": 1, "DATABASE": 2}.get(kind, 3)
        )
        origin = self.origin(mark)
        if kind == "TABLE":
            return AlterTable(path, self._table_action(), if_exists, **origin)
        if kind == "VIEW":
            return AlterView(path, self._view_action(), **origin)
        if kind == "MODEL":
            return AlterModel(path, self._model_action(), if_exists, **origin)
        if kind == "DATABASE":
            self.need("SET")
            return AlterDatabase(path, SetOptions(self.options()), **origin)
        return AlterCatalog(path[0], self._catalog_action(), **origin)

    def _alter_function(self) -> Statement:
        temporary = self.take("TEMPORARY")
        system = temporary and self.take("SYSTEM")
        self.need("FUNCTION")
        if_exists = self.if_exists()
        mark = self.index
        path = self.path("the name of a function", 1 if system else 3)
        origin = self.origin(mark)
        self.need("AS")
        name = self.string("the name of the function's class in single quotes")
        language = self.need_one("JAVA", "SCALA", "PYTHON") if self.take("LANGUAGE") else None
        return AlterFunction(path, name, language, temporary, system, if_exists, **origin)

    def _catalog_action(self) -> SetOptions | ResetOptions | ChangeComment:
        word = self.need_one("SET", "RESET", "COMMENT")
        if word == "COMMENT":
            return ChangeComment(self.string())
        return SetOptions(self.options()) if word == "SET" else self._reset_options()

    def _reset_options(self) -> ResetOptions:
        return ResetOptions(tuple(self.bracketed(self.string)))

    def _view_action(self) -> Rename | ChangeQuery:
        if self.need_one("RENAME", "AS") == "RENAME":
            self.need("TO")
            return Rename(self.path("the new name"))
        mark = self.index
        return ChangeQuery(self.query(), self.written(mark))

    def _model_action(self) -> Rename | SetOptions | ResetOptions:
        word = self.need_one("RENAME", "SET", "RESET")
        if word == "RENAME":
            self.need("TO")
            return Rename(self.path("the new name"))
        return SetOptions(self.options()) if word == "SET" else self._reset_options()

    def _table_action(self) -> TableAction:
        word = self.need_one("ADD", "MODIFY", "DROP", "RENAME", "SET", "RESET")
        if word == "SET":
            return SetOptions(self.options())
        if word == "RESET":
            return self._reset_options()
        if word == "RENAME":
            return self._rename()
        if word == "DROP":
            return self._drop()
        if word == "ADD" and (self.at("PARTITION") or self.at_all("IF", "NOT", "EXISTS")):
            return self._add_partitions()
        if self.take("DISTRIBUTION"):
            made = AddDistribution if word == "ADD" else ModifyDistribution
            return made(self.distribution())
        return self._schema(AddSchema if word == "ADD" else ModifySchema)

    def _rename(self) -> Rename | RenameColumn:
        if self.take("TO"):
            return Rename(self.path("the new name"))
        column = self.path("the name of a column")
        self.need("TO")
        return RenameColumn(column, self.name("the new name"))

    def _schema(self, made: type[AddSchema | ModifySchema]) -> AddSchema | ModifySchema:
        found, places, distribution = SchemaClauses(), [], None
        if self.take("("):
            places.append(self._schema_part(found))
            while self.take(","):
                places.append(self._schema_part(found))
            self.need(")")
        else:
            places.append(self._schema_part(found))
        columns = tuple(place for place in places if isinstance(place, ColumnPosition))
        for place in places:
            if isinstance(place, TableDistribution):
                distribution = place
        return made(columns, found.watermark, found.primary_key, distribution)

    def _schema_part(self, found: SchemaClauses) -> ColumnPosition | TableDistribution | None:
        if self.take("DISTRIBUTION"):
            return self.distribution()
        before = len(found.columns)
        self.schema_item(found)
        if len(found.columns) == before:
            return None
        column = found.columns[-1]
        if self.take("FIRST"):
            return ColumnPosition(column, first=True)
        if self.take("AFTER"):
            return ColumnPosition(column, after=self.name("the name of a column"))
        return ColumnPosition(column)

    def _drop(self) -> TableAction:
        if self.take("PRIMARY"):
            self.need("KEY")
            return DropPrimaryKey()
        if self.take("CONSTRAINT"):
            return DropConstraint(self.name("the name of a constraint"))
        if self.take("WATERMARK"):
            return DropWatermark()
        if self.take("DISTRIBUTION"):
            return DropDistribution()
        if_exists = self.if_exists()
        if self.at("PARTITION"):
            return DropPartitions(tuple(self.listed(self._partition)), if_exists)
        if self.at("("):
            return DropColumns(tuple(self.bracketed(self._column_path)), if_exists)
        return DropColumns((self._column_path(),), if_exists)

    def _column_path(self) -> Path:
        return self.path("the name of a column")

    def _partition(self) -> Mapping[str, exp.Expr | None]:
        self.need("PARTITION")
        return self.partition()

    def _add_partitions(self) -> AddPartitions:
        if_not_exists = self.if_not_exists()
        found = [(self._partition(), self.with_options())]
        while self.take(",") or self.at("PARTITION"):
            found.append((self._partition(), self.with_options()))
        return AddPartitions(tuple(found), if_not_exists)
