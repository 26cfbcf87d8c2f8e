"""Partitions as Hive and Spark lay them out: a directory ``name=value`` for each partition column.

Spark docs, "Parquet Files", Partition Discovery: the columns stand in the paths, not in the files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.batch import Batch, BatchForm, ColumnBatch, RowBatch
from millrace.common.types.record_fields import declared_names
from millrace.common.types.row import Row, named_row
from millrace.connectors.bucket_assigner import BucketAssigner, BucketContext

__all__ = ["PartitionBucketAssigner"]

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Stands for None, and for a text without characters."""
_SPECIAL = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{\[\]^]""")
"""What Hive and Spark write as % and two digits."""


class PartitionBucketAssigner(BucketAssigner[Any]):
    """Names the directory after columns of the record, and takes them out of it."""

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
        """The directory of records with these fields, relative to that of all.

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
    """Both: None and an empty text have one directory."""
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
