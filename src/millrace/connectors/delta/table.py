"""A table of Delta Lake, through the library `deltalake`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.errors import ConfigurationError, JobDefinitionError
from millrace.common.installation import missing_package

if TYPE_CHECKING:
    import pyarrow
    from deltalake import DeltaTable

__all__ = ["DeltaOptions", "require_no_conditions", "require_plain_columns"]

_COMPUTED = ("delta.invariants", "delta.generationExpression", "delta.identity.start")
"""Properties of columns whose values the writer cannot choose."""


class DeltaOptions:
    """Location of a table and its access options; picklable, so that every process opens the table
    itself.

    Args:
        location: path or URI of the table, such as ``s3://bucket/table``.
        storage_options: of `deltalake.DeltaTable`, such as ``{"AWS_ENDPOINT_URL": ...}``; secrets
            are better left to the environment or the profile of the machine.
    """

    def __init__(self, location: str, storage_options: Mapping[str, str] | None = None) -> None:
        self.location = location.rstrip("/")
        self.storage_options = dict(storage_options or {})

    def open(self) -> DeltaTable:
        """The current version of the table.

        Raises:
            ConfigurationError: the library is missing, or there is no such table.
        """
        deltalake = _library()
        try:
            table: DeltaTable = deltalake.DeltaTable(
                self.location, storage_options=self.storage_options
            )
        except deltalake.exceptions.TableNotFoundError:
            raise ConfigurationError(
                f"there is no Delta table at {self.location}; create it, or pass a row_type "
                "to the sink, which then creates the table"
            ) from None
        return table

    def schema(self) -> pyarrow.Schema:
        """Columns of the current version of the table."""
        import pyarrow as pa

        return pa.schema(self.open().schema().to_arrow())

    def create(self, schema: pyarrow.Schema, partition_by: Sequence[str]) -> None:
        """Create the table unless it exists.

        Raises:
            JobDefinitionError: a column to partition by is missing.
        """
        for name in partition_by:
            if name not in schema.names:
                raise JobDefinitionError(
                    f"partition_by names column {name!r}; the rows have {', '.join(schema.names)}"
                )
        _library().DeltaTable.create(
            self.location,
            schema,
            mode="ignore",
            partition_by=list(partition_by),
            storage_options=self.storage_options,
        )


def require_plain_columns(table: DeltaTable, location: str) -> None:
    """Refuse tables whose files use other column names than the table, or whose log has values that
    are not texts.

    Raises:
        ConfigurationError: it uses column mapping, or is partitioned by a binary column.
    """
    partition_by = table.metadata().partition_columns
    for field in table.schema().fields:
        if field.name in partition_by and getattr(field.type, "type", "") == "binary":
            raise ConfigurationError(
                f"table {location} is partitioned by the binary column {field.name!r}, "
                "which DeltaSource and DeltaSink do not support; where Spark has Delta's "
                "jars, env.from_spark() and SparkSink do"
            )
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        raise ConfigurationError(
            f"table {location} uses columnMapping, which DeltaSource and DeltaSink do not "
            "support; where Spark has Delta's jars, env.from_spark() and SparkSink do"
        )


def require_no_conditions(table: DeltaTable, location: str) -> None:
    """Refuse tables with constraints or generated columns. Writers of files would have to apply
    these, and this one cannot.

    Raises:
        ConfigurationError: there are constraints, generated columns or the like.
    """
    conditions = [name for name in table.metadata().configuration if "delta.constraints." in name]
    fields = table.schema().fields
    conditions += [
        f"column {f.name}" for f in fields if any(name in f.metadata for name in _COMPUTED)
    ]
    if conditions:
        raise ConfigurationError(
            f"table {location} checks or computes values ({', '.join(conditions)}), which files "
            "appended by DeltaSink would evade; write it with SparkSink, or drop the "
            "condition"
        )


def _library() -> Any:
    try:
        import deltalake
        import deltalake.exceptions
    except ImportError as error:
        raise ConfigurationError(
            missing_package("Delta tables need", "deltalake", "delta")
        ) from error
    return deltalake
