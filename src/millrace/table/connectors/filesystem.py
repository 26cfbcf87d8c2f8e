"""Files as tables: ``'connector' = 'filesystem'``. Flink docs: "FileSystem SQL Connector"."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import unquote

from millrace.common.config.config_options import ConfigOption
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import Sink
from millrace.common.source import Boundedness, Source
from millrace.common.types.logical.logical_type import RowField, RowType
from millrace.common.types.row import INSERT_ONLY, RowKind
from millrace.connectors.bucket_assigner import BucketAssigner, PartitionBucketAssigner
from millrace.connectors.file_columns import FILE_METADATA, PartitionFilter, TableFileFormat
from millrace.connectors.file_source import FileSource, FileSourceBuilder
from millrace.connectors.path_partitions import PathPartitions
from millrace.expressions.evaluation import compiled
from millrace.filesystem.registry import file_system_of, resolved
from millrace.formats.file_format import FileFormat
from millrace.formats.message_lines import MessageLinesFormat
from millrace.planner.catalog_reader import ColumnKind, ResolvedTable
from millrace.planner.execution.table_factory import (
    OptionValues,
    ScanRequest,
    SinkRequest,
    TableFactory,
)
from millrace.table.catalog.errors import CatalogError, name_hint
from millrace.table.connectors import file_options as keys
from millrace.table.formats.bulk_formats import BULK_FORMATS
from millrace.table.formats.format_choice import MESSAGE_FORMATS, FormatChoice, format_options
from millrace.table.formats.row_type_info import row_type_info

__all__ = ["FileSystemFactory"]


class FileSystemFactory(TableFactory):
    """Reads the files below a path, and writes files that appear whole, with checkpoints."""

    identifier = "filesystem"
    required = (keys.PATH, keys.FORMAT)
    optional = (keys.MONITOR, *keys.PARTITION_COMMIT)
    metadata: ClassVar[Mapping[str, str]] = {key: text for key, (text, _) in FILE_METADATA.items()}
    overwrite = True

    def format_options(self, options: Mapping[str, str]) -> Iterable[ConfigOption[Any]]:
        _require_format(options.get(keys.FORMAT.key))
        name = options.get(keys.FORMAT.key)
        bulk = None if name is None else BULK_FORMATS.get(name)
        known = {} if name is None or bulk is None else {name: bulk.options}
        all_options = format_options(options, (keys.FORMAT.key,), known)
        if name is not None:
            all_options += keys.COMPACTING
        if name in MESSAGE_FORMATS and name not in BULK_FORMATS:
            all_options += keys.ROLLING
        return all_options

    def changes(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        known = MESSAGE_FORMATS.get(options.get(keys.FORMAT.key, ""))
        return INSERT_ONLY if known is None else known.changes

    def accepts(self, table: ResolvedTable, options: Mapping[str, str]) -> frozenset[RowKind]:
        known = MESSAGE_FORMATS.get(options.get(keys.FORMAT.key, ""))
        return INSERT_ONLY if known is None else known.accepts

    def boundedness(self, table: ResolvedTable, options: Mapping[str, str]) -> Boundedness:
        watched = keys.MONITOR.key in options
        return Boundedness.CONTINUOUS_UNBOUNDED if watched else Boundedness.BOUNDED

    def create_source(self, request: ScanRequest, options: OptionValues) -> Source[Any]:
        builder = _reading(request, options)
        interval = options.get(keys.MONITOR)
        if interval is not None:
            builder.monitor_continuously(interval)
        source: Source[Any] = builder.build()
        return source

    def create_sink(self, request: SinkRequest, options: OptionValues) -> Sink[Any]:
        table = request.table
        if request.overwrite and not request.batch:
            raise self.refused(
                table,
                "overwritten by a streaming query, because INSERT OVERWRITE needs an end of the "
                "input",
            )
        for column in table.columns:
            if column.kind is ColumnKind.METADATA and column.persisted:
                raise self.refused(
                    table, f"written with the metadata column {column.name}: declare it VIRTUAL"
                )
        in_files = _in_files(table)
        name, path = options.get(keys.FORMAT), options.get(keys.PATH)
        assigner = BucketAssigner.base_path_bucket_assigner()
        if table.partition_keys:
            assigner = BucketAssigner.partition_by(*table.partition_keys)
        if name in BULK_FORMATS:
            writers = BULK_FORMATS[name].writers(in_files, options.get)
            return keys.bulk_sink(path, writers, assigner, options, request.ordinal)
        schema = FormatChoice(keys.FORMAT.key, name, options.get).serializer(in_files)
        return keys.row_sink(path, schema, assigner, options, request.ordinal)

    def replacing(self, request: SinkRequest, options: OptionValues) -> Callable[[], None]:
        return replaced_files(options.get(keys.PATH), request.table, request.partition)

    def partitions(self, table: ResolvedTable, options: OptionValues) -> list[tuple[str, ...]]:
        return partitions_of_files(options.get(keys.PATH), table.partition_keys)


def _require_format(name: str | None) -> None:
    if name is None or name in BULK_FORMATS or (name in MESSAGE_FORMATS and _is_text(name)):
        return
    in_lines = (own for own, message_format in MESSAGE_FORMATS.own().items() if message_format.text)
    hint = name_hint(name, {*in_lines, *BULK_FORMATS})
    raise CatalogError(f"'format' = '{name}': there is no such file format{hint}", name)


def _is_text(name: str) -> bool:
    """Whether the lines of a file can hold messages of a format."""
    return MESSAGE_FORMATS[name].text


def _in_files(table: ResolvedTable) -> RowType:
    """The columns inside the files: partition columns are in their paths."""
    fields = tuple(
        RowField(column.name, column.type)
        for column in table.columns
        if column.kind is ColumnKind.PHYSICAL and column.name not in table.partition_keys
    )
    if not fields:
        raise JobDefinitionError(
            f"table {'.'.join(table.path)} has no column that its files could contain: all "
            "columns are metadata or in PARTITIONED BY"
        )
    return RowType(fields)


def _reading(request: ScanRequest, options: OptionValues) -> FileSourceBuilder[Any]:
    table, name, path = request.table, options.get(keys.FORMAT), options.get(keys.PATH)
    in_files = _in_files(table)
    wanted = [column for column in request.columns.names if column in in_files.names]
    builder: FileSourceBuilder[Any]
    if name in BULK_FORMATS:
        # a table without columns would be one of all columns: rows are to be counted
        bulk = BULK_FORMATS[name].reader(wanted or in_files.names[:1])
        builder = FileSource.for_bulk_file_format(_with_file_columns(bulk, request, True), path)
    else:
        choice = FormatChoice(keys.FORMAT.key, name, options.get)
        empty_lines = choice.has_empty_messages(in_files)
        lines = MessageLinesFormat(choice.deserializer(in_files, wanted), empty_lines)
        builder = FileSource.for_record_stream_format(_with_file_columns(lines, request), path)
        builder.set_error_policy(choice.error_policy)
    if request.filter is not None:
        evaluate = compiled(request.filter, request.columns)
        builder.set_path_filter(PartitionFilter(_partitions(table), request.columns, evaluate))
    return builder


def _with_file_columns(
    inner: FileFormat[Any], request: ScanRequest, converts: bool = False
) -> FileFormat[Any]:
    """The format with the requested columns from paths and file metadata added.

    Args:
        converts: give columns of the table's types even if nothing is added: the reader's errors
            name the file.
    """
    table, names = request.table, request.columns.names
    for column, key in request.metadata.items():
        if key not in FILE_METADATA:
            raise JobDefinitionError(
                f"table {'.'.join(table.path)}, column {column}: files have no metadata "
                f"{key!r}; known are {', '.join(FILE_METADATA)}"
            )
    in_paths = any(name in names for name in table.partition_keys)
    if not (in_paths or request.metadata or converts):
        return inner
    return TableFileFormat(
        inner,
        request.columns,
        _in_files(table).names,
        _partitions(table) if in_paths else None,
        request.metadata,
    )


def _partitions(table: ResolvedTable) -> PathPartitions:
    by_name = {column.name: column for column in table.columns}
    fields = tuple(RowField(name, by_name[name].type) for name in table.partition_keys)
    return PathPartitions(row_type_info(RowType(fields), "the name of a directory"))


def replaced_files(
    path: str, table: ResolvedTable, partition: tuple[tuple[str, str], ...]
) -> Callable[[], None]:
    """Action for the end of an INSERT OVERWRITE. It deletes the old files of each partition that
    has received new files.

    A table without partitions is always replaced, and so is a partition whose columns are all
    given: without new files it becomes empty.
    """
    base = resolved(path)
    before = _files(base)

    def delete() -> None:
        directories = set(map(posixpath.dirname, _files(base) - before))
        if len(partition) == len(table.partition_keys):
            directories.add(_directory(base, table, dict(partition)))
        replaced = [file for file in before if posixpath.dirname(file) in directories]
        file_system_of(base).delete_all(replaced)

    return delete


def partitions_of_files(path: str, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The distinct values of partition columns in the paths of files."""
    base = resolved(path)
    partitions = set()
    for file in _files(base):
        parts = file[len(base) :].split("/")[:-1]
        values = dict(part.split("=", 1) for part in parts if "=" in part)
        if all(name in values for name in columns):
            partitions.add(tuple(unquote(values[name]) for name in columns))
    return sorted(partitions)


def _directory(base: str, table: ResolvedTable, partition: dict[str, str]) -> str:
    if not partition:
        return base
    assigner = PartitionBucketAssigner(table.partition_keys)
    return f"{base}/{assigner.directory(partition)}"


def _files(base: str) -> set[str]:
    locations = (file.location for file in file_system_of(base).list(base, recursive=True))
    return {location for location in locations if not _hidden(location[len(base) :])}


def _hidden(relative: str) -> bool:
    return any(part.startswith(".") for part in relative.split("/"))
