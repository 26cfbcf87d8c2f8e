"""Options for the statements of a table. Flink: interface ``MapperOptions``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.connectors.cassandra.consistency_level import ConsistencyLevel, require_write_level
from millrace.connectors.index_range import require_at_least

__all__ = ["MappedWrites", "MapperOptions"]


@dataclass(frozen=True)
class MappedWrites:
    """Values of the mapper options; None leaves the sink's own setting."""

    ttl_s: int | None = None
    timestamp_us: int | None = None
    consistency: ConsistencyLevel | None = None
    ignore_nulls: bool | None = None
    if_not_exists: bool = False


class MapperOptions:
    """Options for the writes of a table, which `CassandraSinkOptions.set_mapper_options` takes;
    names as in PyFlink.

    Example:
        >>> options = MapperOptions().ttl(1800).save_null_fields(False)
        >>> options.writes.ttl_s, options.writes.ignore_nulls
        (1800, True)
    """

    def __init__(self) -> None:
        self.writes = MappedWrites()

    def ttl(self, ttl: int) -> MapperOptions:
        """Time to live of written values, in seconds.

        Raises:
            JobDefinitionError: it is not positive.
        """
        require_at_least(1, ttl=ttl)
        return self._with(ttl_s=ttl)

    def timestamp(self, timestamp: int) -> MapperOptions:
        """Timestamp of all writes and deletes, in microseconds since 1970. Of two writes with the
        same timestamp, Cassandra keeps the greater value, not the later one.

        Raises:
            JobDefinitionError: the argument is not a number from 0 on.
        """
        require_at_least(0, timestamp=timestamp)
        return self._with(timestamp_us=timestamp)

    def consistency_level(self, cl: ConsistencyLevel) -> MapperOptions:
        """Number of replicas that must acknowledge a write.

        Raises:
            JobDefinitionError: the argument is not a `ConsistencyLevel` of writes.
        """
        return self._with(consistency=require_write_level(cl))

    def tracing(self, enabled: bool) -> MapperOptions:
        """Whether requests are traced; only False, the default, is accepted.

        Raises:
            JobDefinitionError: it is True.
        """
        if enabled:
            raise JobDefinitionError(
                "tracing(True) would have the nodes write a trace for every row: take "
                "samples with nodetool settraceprobability instead"
            )
        return self

    def save_null_fields(self, enabled: bool) -> MapperOptions:
        """Whether None deletes the column's value, which is the default, or leaves it unchanged."""
        return self._with(ignore_nulls=not enabled)

    def if_not_exists(self, enabled: bool) -> MapperOptions:
        """Whether an existing row with the same primary key is left unchanged. Nodes must agree
        on each such write, which takes several times as long."""
        return self._with(if_not_exists=bool(enabled))

    def _with(self, **changes: Any) -> MapperOptions:
        self.writes = replace(self.writes, **changes)
        return self
