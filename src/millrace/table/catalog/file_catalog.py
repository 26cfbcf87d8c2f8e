"""A catalog in a file, which keeps its objects for later sessions."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from millrace.common.types.logical.parser import parse_type
from millrace.filesystem.local_lock import lock_file
from millrace.planner.catalog_reader import ColumnKind
from millrace.table.catalog.catalog_models import CatalogModel
from millrace.table.catalog.catalog_objects import (
    CatalogColumnStatisticsData,
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTable,
    CatalogTableStatistics,
    CatalogView,
)
from millrace.table.catalog.errors import CatalogError
from millrace.table.catalog.generic_in_memory_catalog import GenericInMemoryCatalog
from millrace.table.catalog.object_path import ObjectPath
from millrace.table.schema import Schema, UnresolvedColumn, UnresolvedKey, UnresolvedWatermark

__all__ = ["FileCatalog"]

VERSION = 2


class FileCatalog(GenericInMemoryCatalog):
    """Catalog of databases, tables, views and functions in ``catalog.json`` of a directory.

    The file is replaced as a whole by every change. Sessions may share it: one whose content is
    no longer that of the file reads it anew when it is to change it, and refuses the change.
    """

    def __init__(self, name: str, path: str, default_database: str = "default") -> None:
        super().__init__(name, default_database)
        self._file = Path(path) / "catalog.json"
        self._read_file()

    def _read_file(self) -> None:
        """Replace this catalog's content by the content of the file."""
        super().__init__(self.name, self.default_database)
        self._loading = True
        self._seen = self._text()
        if self._seen is not None:
            self._load(self._seen)
        self._loading = False

    def _create_table(self, path: ObjectPath, table: CatalogTable | CatalogView) -> None:
        if isinstance(table, CatalogTable) and table.access is not None:
            raise CatalogError(
                f"table {path} is a table of Python objects, which a file cannot store: make it "
                "a temporary table"
            )
        if isinstance(table, CatalogView) and table.query is not None:
            raise CatalogError(
                f"view {path} has no SQL text, which a file could store: make it a temporary view"
            )
        super()._create_table(path, table)

    def _put_model(self, path: ObjectPath, model: CatalogModel) -> None:
        if model.model is not None:
            raise CatalogError(
                f"model {path} is an object of a program, which a file cannot store: make it a "
                "temporary model"
            )
        super()._put_model(path, model)

    def changed(self) -> None:
        if self._loading:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        lock = lock_file(str(self._file.with_name(".catalog.lock")), wait=True)
        assert lock is not None
        try:
            if self._text() != self._seen:
                self._read_file()
                raise CatalogError(
                    f"{self._file} was changed by another session, so this change was not "
                    "made. The catalog has been read again: repeat the statement"
                )
            self._write()
        finally:
            lock.release()

    def _text(self) -> str | None:
        """Text of the file; None if there is no file."""
        try:
            return self._file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise self._damaged(error) from error

    def _write(self) -> None:
        content = {"version": VERSION, "databases": self._content()}
        text = json.dumps(content, indent=1)
        part = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._file)
        self._seen = text

    def _content(self) -> dict[str, Any]:
        databases = {}
        for name in self.list_databases():
            database = self.database(name)
            paths = [ObjectPath(name, table) for table in self.list_tables(name)]
            functions = [
                ObjectPath(name, function_name) for function_name in self.list_functions(name)
            ]
            databases[name] = {
                "options": dict(database.options),
                "comment": database.comment,
                "tables": {path.name: _written(self.table(path)) for path in paths},
                "functions": {
                    path.name: function.class_name
                    for path in functions
                    if (function := self.function(path)) is not None
                },
                "models": {
                    model: _written_model(self.get_model(ObjectPath(name, model)))
                    for model in self.list_models(name)
                },
            }
        return databases

    def _load(self, text: str) -> None:
        try:
            content = json.loads(text)
            if content["version"] != VERSION:
                raise CatalogError(f"version {content['version']} is unknown")
            for name, database in content["databases"].items():
                self._load_database(name, database)
        except (ValueError, KeyError, TypeError, AttributeError, CatalogError) as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> CatalogError:
        return CatalogError(
            f"{self._file} is not a catalog of this version ({error}); move the file away, "
            "or use another path"
        )

    def _load_database(self, name: str, content: Any) -> None:
        database = CatalogDatabase(content["options"], content["comment"])
        if name in self.list_databases():
            self._alter_database(name, database)
        else:
            self._create_database(name, database)
        for table, written in content["tables"].items():
            super()._create_table(ObjectPath(name, table), _read(written))
        for function, class_name in content["functions"].items():
            self._create_function(ObjectPath(name, function), CatalogFunction(class_name))
        for model, written in content.get("models", {}).items():
            self._put_model(ObjectPath(name, model), _read_model(written))


def _written_model(model: CatalogModel) -> dict[str, Any]:
    sides = {"input": model.input_schema, "output": model.output_schema}
    columns = {side: _written_columns(schema) for side, schema in sides.items()}
    return {**columns, "options": dict(model.options), "comment": model.comment}


def _read_model(written: Any) -> CatalogModel:
    given, made = (Schema(_read_columns(written[side])) for side in ("input", "output"))
    return CatalogModel(given, made, written["options"], written["comment"])


def _written(table: CatalogTable | CatalogView | None) -> dict[str, Any]:
    if isinstance(table, CatalogView):
        return {
            "view": table.text,
            "columns": table.columns,
            "comment": table.comment,
            "place": table.place,
        }
    assert table is not None
    schema = table.schema
    return {
        "columns": _written_columns(schema),
        "watermark": None
        if schema.watermark is None
        else [schema.watermark.column, schema.watermark.expression],
        "primary_key": None
        if schema.primary_key is None
        else [schema.primary_key.name, *schema.primary_key.columns],
        "options": dict(table.options),
        "partition_keys": table.partition_keys,
        "statistics": {name: asdict(statistics) for name, statistics in table.statistics.items()},
        "partitions": [
            {"spec": spec.get_partition_spec(), **asdict(partition)}
            for spec, partition in table.partitions
        ],
        "comment": table.comment,
    }


def _written_columns(schema: Schema) -> list[dict[str, Any]]:
    return [
        {
            "name": column.name,
            "kind": column.kind.value,
            "type": None if column.type is None else str(column.type),
            "expression": column.expression,
            "metadata_key": column.metadata_key,
            "virtual": column.virtual,
            "comment": column.comment,
        }
        for column in schema.columns
    ]


def _read_columns(written: Any) -> tuple[UnresolvedColumn, ...]:
    return tuple(
        UnresolvedColumn(
            column["name"],
            ColumnKind(column["kind"]),
            None if column["type"] is None else parse_type(column["type"]),
            column["expression"],
            column["metadata_key"],
            column["virtual"],
            column["comment"],
        )
        for column in written
    )


def _read(written: Any) -> CatalogTable | CatalogView:
    if "view" in written:
        return CatalogView(
            written["view"],
            columns=tuple(written["columns"]),
            comment=written["comment"],
            place=(str(written["place"][0]), str(written["place"][1])),
        )
    columns = _read_columns(written["columns"])
    watermark, key = written["watermark"], written["primary_key"]
    schema = Schema(
        columns,
        None if watermark is None else UnresolvedWatermark(*watermark),
        None if key is None else UnresolvedKey(tuple(key[1:]), key[0]),
    )
    return CatalogTable(
        schema,
        written["options"],
        tuple(written["partition_keys"]),
        written["comment"],
        statistics={
            name: _counted(statistics) for name, statistics in written.get("statistics", {}).items()
        },
        partitions=tuple(
            (
                CatalogPartitionSpec(partition["spec"]),
                CatalogPartition(partition["options"], partition["comment"]),
            )
            for partition in written.get("partitions", ())
        ),
    )


def _counted(written: Any) -> CatalogTableStatistics:
    columns = {
        name: CatalogColumnStatisticsData(**column) for name, column in written["columns"].items()
    }
    return CatalogTableStatistics(**{**written, "columns": columns})
