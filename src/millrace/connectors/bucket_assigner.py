"""Directories for the records of a file sink. Flink docs: "FileSystem", Bucket Assignment.

Partitions are laid out as Hive and Spark do it, in a directory ``name=value`` for each partition
column. Spark docs, "Parquet Files", Partition Discovery: the columns stand in the paths, not in the
files.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, Generic, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.batch import Batch, BatchForm, ColumnBatch, RowBatch
from millrace.common.types.record_fields import declared_names
from millrace.common.types.row import Row, named_row
from millrace.connectors.errors import ConnectorError
from millrace.connectors.file_listing import is_hidden

__all__ = [
    "BucketAssigner",
    "BucketContext",
    "CallableBucketAssigner",
    "PartitionBucketAssigner",
]

T_contra = TypeVar("T_contra", contravariant=True)
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Stands for None, and for a text without characters."""
_SPECIAL = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{\[\]^]""")
"""Characters that Hive and Spark write as % and two digits."""


@dataclass(frozen=True, slots=True)
class BucketContext:
    """Timestamp, watermark and processing time of a record whose bucket is chosen, in ms since
    the epoch."""

    processing_time: int
    event_timestamp: int | None = None

    def timestamp(self) -> int | None:
        """Event time of the record; None if the record has none."""
        return self.event_timestamp

    def current_processing_time(self) -> int:
        """Processing time at the start of the epoch."""
        return self.processing_time


class BucketAssigner(ABC, Generic[T_contra]):
    """Chooses the directory of a record, relative to the sink's base path.

    >>> class ByOrigin(BucketAssigner[dict]):
    ...     def get_bucket_id(self, value, context):
    ...         return f"origin={value['origin']}"
    >>> ByOrigin().get_bucket_id({"origin": "JFK"}, BucketContext(0))
    'origin=JFK'
    """

    takes = BatchForm.ROWS
    """The form in which `group` gets batches. EITHER spares columns from becoming rows."""

    @abstractmethod
    def get_bucket_id(self, value: T_contra, context: BucketContext) -> str:
        """Directory of the record; an empty string means the base path itself."""

    def group(self, batch: Batch, now: int) -> Mapping[str, Batch]:
        """Records of a batch by bucket, in their original order; ``now`` is in ms since the
        epoch."""
        rows, groups = batch.to_rows(), dict[str, RowBatch[Any]]()
        timestamps = rows.timestamps
        context = BucketContext(now)
        for index, value in enumerate(rows.values):
            if timestamps is not None:
                context = BucketContext(now, timestamps[index])
            bucket = self.get_bucket_id(value, context)
            groups.setdefault(bucket, RowBatch([])).values.append(value)
        return groups

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner[Any]:
        """Assigner that puts all records into the base path itself."""
        return BasePathBucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner[Any]:
        """Assigner with one directory for each period of processing time (the default).

        Args:
            format_str: Java's pattern letters ``yyyy MM dd HH mm ss``, or `strftime` codes.
            timezone_id: for example ``Europe/Berlin``; None is UTC, so that every machine agrees.

        Raises:
            JobDefinitionError: the format or the time zone is unknown.

        >>> assigner = BucketAssigner.date_time_bucket_assigner("yyyy/MM/dd")
        >>> assigner.get_bucket_id("any", BucketContext(86_400_000))
        '1970/01/02'
        """
        return DateTimeBucketAssigner(strftime_pattern(format_str), require_timezone(timezone_id))

    @staticmethod
    def partition_by(*columns: str) -> BucketAssigner[Any]:
        """Assigner with a directory ``name=value`` for each of the columns, the layout of Hive and
        of Spark's ``partitionBy``. pandas, pyarrow and DuckDB read this layout, too. The files do
        not contain these columns.

        Values are written as text, with special characters as ``%2F``; None and empty texts as
        ``__HIVE_DEFAULT_PARTITION__``. Flink has the same as ``PARTITIONED BY`` of a table.

        Args:
            columns: names of fields of the records: dicts, Rows with names, named tuples or
                dataclass instances.

        Raises:
            JobDefinitionError: there is no column.

        >>> assigner = BucketAssigner.partition_by("day", "shop")
        >>> assigner.get_bucket_id({"day": "2026-03-01", "shop": "a/b", "n": 1}, BucketContext(0))
        'day=2026-03-01/shop=a%2Fb'
        """
        return PartitionBucketAssigner(columns)


class BasePathBucketAssigner(BucketAssigner[Any]):
    """Puts all records into the base path."""

    takes = BatchForm.EITHER

    def get_bucket_id(self, value: Any, context: BucketContext) -> str:
        return ""

    def group(self, batch: Batch, now: int) -> Mapping[str, Batch]:
        return {"": batch}


class DateTimeBucketAssigner(BucketAssigner[Any]):
    """Uses one directory per period of processing time. Within an epoch, the processing time
    stays the same."""

    takes = BatchForm.EITHER

    def __init__(self, pattern: str, timezone: tzinfo) -> None:
        self._pattern = pattern
        self._timezone = timezone

    def get_bucket_id(self, value: Any, context: BucketContext) -> str:
        time = datetime.fromtimestamp(context.processing_time / 1000, self._timezone)
        return time.strftime(self._pattern)

    def group(self, batch: Batch, now: int) -> Mapping[str, Batch]:
        return {self.get_bucket_id(None, BucketContext(now)): batch}


class CallableBucketAssigner(BucketAssigner[Any]):
    """Calls a function of the value and its `BucketContext`."""

    def __init__(self, function: Callable[[Any, BucketContext], str]) -> None:
        self._function = function

    def get_bucket_id(self, value: Any, context: BucketContext) -> str:
        return self._function(value, context)


class PartitionBucketAssigner(BucketAssigner[Any]):
    """Names the directory after columns of the record, and removes these columns from it."""

    takes = BatchForm.EITHER

    def __init__(self, columns: tuple[str, ...]) -> None:
        if not columns or not all(isinstance(name, str) and name for name in columns):
            raise JobDefinitionError(
                f"partition_by takes names of columns, such as partition_by('day'), not {columns!r}"
            )
        self._columns = columns

    def get_bucket_id(self, value: Any, context: BucketContext) -> str:
        return self.directory(_fields(value))

    def group(self, batch: Batch, now: int) -> Mapping[str, Batch]:
        if isinstance(batch, ColumnBatch):
            return self._group_columns(batch)
        groups = dict[str, RowBatch[Any]]()
        for value in batch.to_rows().values:
            fields = _fields(value)
            bucket = self.directory(fields)
            kept = {name: item for name, item in fields.items() if name not in self._columns}
            record: Any = kept
            if type(value) is Row:
                kind = value.get_row_kind().value
                record = named_row(tuple(kept), tuple(kept.values()), kind)
            groups.setdefault(bucket, RowBatch([])).values.append(record)
        return groups

    def _group_columns(self, batch: ColumnBatch) -> Mapping[str, Batch]:
        import numpy as np
        import pyarrow as pa

        data = batch.data
        missing = [name for name in self._columns if name not in data.schema.names]
        if missing:
            raise SerializationError(
                f"columns {', '.join(data.schema.names)} have no {missing[0]!r}, which "
                "partition_by names"
            )
        numbers = np.zeros(data.num_rows, np.int64)
        values = []
        for name in self._columns:
            encoded = data.column(name).dictionary_encode(null_encoding="encode")
            values.append(encoded.dictionary.to_pylist())
            codes = encoded.indices.to_numpy(zero_copy_only=False)
            numbers = numbers * max(1, len(values[-1])) + codes
        kept = data.drop_columns(list(self._columns))
        groups = dict[str, Batch]()
        for number in np.unique(numbers).tolist():
            rows = pa.array(np.flatnonzero(numbers == number))
            chosen = []
            for known in reversed(values):
                number, code = divmod(number, max(1, len(known)))
                chosen.append(known[code])
            bucket = self.directory(dict(zip(self._columns, reversed(chosen), strict=True)))
            part = ColumnBatch(kept.take(rows), None, _taken(batch.row_kinds, rows), batch.form)
            known_part = groups.get(bucket)
            groups[bucket] = part if known_part is None else _joined(known_part, part)
        return groups

    def directory(self, fields: Mapping[str, Any]) -> str:
        """Directory of records with the given fields, relative to the base path.

        Raises:
            SerializationError: a partition column is missing.
        """
        for name in self._columns:
            if name not in fields:
                raise SerializationError(
                    f"{dict(fields)!r} has no field {name!r}, which partition_by names"
                )
        return "/".join(f"{_escaped(name)}={_text(fields[name])}" for name in self._columns)


def _taken(kinds: Any, rows: Any) -> Any:
    return None if kinds is None else kinds.take(rows)


def _joined(one: Any, two: ColumnBatch) -> ColumnBatch:
    """Concatenation of two batches of one directory; None and an empty text share a directory."""
    import pyarrow as pa

    kinds = None
    if one.row_kinds is not None and two.row_kinds is not None:
        kinds = pa.concat_arrays([one.row_kinds, two.row_kinds])
    return ColumnBatch(pa.concat_batches([one.data, two.data]), None, kinds, two.form)


def _fields(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    names = declared_names(value)
    if names is None:
        raise SerializationError(
            f"partition_by needs records with named fields, such as dicts, Rows or dataclass "
            f"instances, not {value!r}"
        )
    if isinstance(value, Row):
        return value.as_dict()
    return {name: getattr(value, name) for name in names}


def _text(value: Any) -> str:
    if value is None or value == "":
        return NO_VALUE
    if isinstance(value, bool):
        return str(value).lower()
    return _escaped(str(value))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: f"%{ord(match[0]):02X}", text)


def require_bucket_id(bucket: Any) -> str:
    """The bucket id, if its files lie below the base path and are visible to readers.

    Raises:
        ConnectorError: it is not such a relative path.
    """
    if bucket == "":
        return ""
    # An absolute path has an empty first part, and the one upwards begins with a dot.
    parts = bucket.split("/") if isinstance(bucket, str) else [""]
    if any(not part or is_hidden(part) for part in parts):
        raise ConnectorError(
            f"{bucket!r} cannot be a bucket: a bucket assigner returns a relative path whose "
            "directories do not begin with '.' or '_' (readers ignore those)"
        )
    return str(bucket)


def strftime_pattern(pattern: str) -> str:
    """A Java date pattern as `strftime` codes; a pattern that already has such codes is
    unchanged."""
    if "%" in pattern:
        return pattern
    translated = re.sub("|".join(_JAVA_CODES), lambda match: _JAVA_CODES[match[0]], pattern)
    unknown = re.search(r"(?<!%)[A-Za-z]", translated)
    if unknown:
        raise JobDefinitionError(
            f"the date format {pattern!r} may use yyyy, MM, dd, HH, mm and ss (or strftime codes "
            f"such as %Y), not {unknown[0]!r}"
        )
    return translated


_JAVA_CODES = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


def require_timezone(timezone_id: str | None) -> tzinfo:
    """The time zone with this name."""
    if timezone_id is None:
        return UTC
    try:
        return ZoneInfo(timezone_id)
    except (ZoneInfoNotFoundError, ValueError):
        raise JobDefinitionError(f"{timezone_id!r} is not a known time zone") from None
