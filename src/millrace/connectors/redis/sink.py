"""A sink of Redis. Flink's Redis sinks come from third parties; the guarantees are those of
FLIP-191."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from millrace.common.error_policy import ErrorPolicy
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import (
    CommitMode,
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    WriterContext,
)
from millrace.connectors.redis.client import RedisError, require_url, shown_url
from millrace.connectors.redis.mapper import RedisMapper
from millrace.connectors.redis.transaction_committer import RedisTransactionCommitter
from millrace.connectors.redis.writer import RedisStagingWriter, RedisWriter
from millrace.connectors.refused_writes import RefusedWrites, require_sink_error_policy

__all__ = ["RedisSink", "RedisSinkBuilder"]


@dataclass(frozen=True)
class RedisWriting:
    """Settings of a Redis sink."""

    url: str = ""
    mapper: RedisMapper | None = None
    guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE
    sink_id: str | None = None
    policy: ErrorPolicy = field(default_factory=ErrorPolicy.fail)
    pipeline: int = 1_000

    @property
    def exactly_once(self) -> bool:
        return self.guarantee is DeliveryGuarantee.EXACTLY_ONCE


class RedisSink(Sink[Any]):
    """Writes to Redis; made by `RedisSink.builder`.

    Example:
        >>> sink = (
        ...     RedisSink.builder()
        ...     .set_url("redis://localhost:6379/0")
        ...     .set_mapper(RedisMapper.set_value(lambda r: f"total:{r[0]}", lambda r: r[1]))
        ...     .build()
        ... )
        >>> sink
        RedisSink(redis://localhost:6379/0)
    """

    def __init__(self, writing: RedisWriting) -> None:
        self._writing = writing

    @staticmethod
    def builder() -> RedisSinkBuilder:
        """A builder of a sink, without settings."""
        return RedisSinkBuilder()

    def __repr__(self) -> str:
        return f"RedisSink({shown_url(self._writing.url)})"

    @property
    def commit_mode(self) -> CommitMode:
        return CommitMode.IN_BACKGROUND

    @property
    def exclusive_id(self) -> str | None:
        writing = self._writing
        return f"Redis sink id '{writing.sink_id}'" if writing.exactly_once else None

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        writing = self._writing
        assert writing.mapper is not None
        if writing.exactly_once:
            return RedisStagingWriter(writing.mapper, context)
        refused = self._refused(context)
        return RedisWriter(writing.url, writing.mapper, writing.pipeline, refused)

    def create_committer(self, context: CommitterContext) -> Committer | None:
        writing = self._writing
        if not writing.exactly_once:
            return None
        assert writing.sink_id is not None
        return RedisTransactionCommitter(writing.url, writing.sink_id, self._refused(context))

    def _refused(self, context: WriterContext | CommitterContext) -> RefusedWrites:
        policy = self._writing.policy
        return RefusedWrites(policy, RedisError, context.metrics, context.logger)


class RedisSinkBuilder:
    """Collects the options of a `RedisSink`."""

    def __init__(self) -> None:
        self._writing = RedisWriting()

    def set_url(self, url: str) -> RedisSinkBuilder:
        """Set the server: ``redis://user:password@host:6379/0``, ``rediss://`` with TLS,
        ``unix://``.

        Several hosts, separated by commas, follow ``redis+cluster://`` and, with the name of what
        the sentinels watch, ``redis+sentinel://host:26379,host:26379/name/0``. Options of redis-py
        may follow: ``?ssl_ca_certs=...``.

        Raises:
            JobDefinitionError: the argument is not such a URL.
        """
        return self._with(url=require_url(url))

    def set_mapper(self, mapper: RedisMapper) -> RedisSinkBuilder:
        """Set the mapper, which chooses the commands for each record.

        Raises:
            JobDefinitionError: the argument is not a `RedisMapper`.
        """
        if not isinstance(mapper, RedisMapper):
            raise JobDefinitionError(
                "set_mapper() takes a RedisMapper, such as RedisMapper.set_value(key, value) or "
                f"RedisMapper.of(function), not {mapper!r}"
            )
        return self._with(mapper=mapper)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> RedisSinkBuilder:
        """Choose the guarantee; by default at-least-once, which ``NONE`` also means.

        Raises:
            JobDefinitionError: the argument is not a `DeliveryGuarantee`.
        """
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise JobDefinitionError(
                f"set_delivery_guarantee() takes a DeliveryGuarantee such as EXACTLY_ONCE, not "
                f"{delivery_guarantee!r}"
            )
        return self._with(guarantee=delivery_guarantee)

    def set_sink_id(self, sink_id: str) -> RedisSinkBuilder:
        """Set the name of the sink's commit mark, for exactly-once. It must be unique on the
        server, and stay the same when the job is resumed. In a cluster, all keys that the sink
        writes and this name must have the same hash tag, such as ``{shop}``.

        Raises:
            JobDefinitionError: it is not a text, or empty.
        """
        if not isinstance(sink_id, str) or not sink_id:
            raise JobDefinitionError(f"set_sink_id() takes a text, not {sink_id!r}")
        return self._with(sink_id=sink_id)

    def set_error_policy(self, policy: ErrorPolicy) -> RedisSinkBuilder:
        """Set the policy for commands that the server refuses: the job fails, or continues.

        Raises:
            JobDefinitionError: it is no policy, or one with a side output.
        """
        return self._with(policy=require_sink_error_policy(policy))

    def set_pipeline_size(self, commands: int) -> RedisSinkBuilder:
        """Set the number of commands that are sent before their responses are read; 1,000 by
        default.

        Raises:
            JobDefinitionError: the argument is not a number from 1 on.
        """
        if not isinstance(commands, int) or commands < 1:
            raise JobDefinitionError(f"a pipeline must have at least 1 command, not {commands!r}")
        return self._with(pipeline=commands)

    def build(self) -> RedisSink:
        """The sink with all settings made so far.

        Raises:
            JobDefinitionError: URL or mapper are missing, or the sink id that exactly-once needs.
        """
        writing = self._writing
        for present, call in (
            (writing.url, "set_url()"),
            (writing.mapper is not None, "set_mapper()"),
            (
                writing.sink_id or not writing.exactly_once,
                "set_sink_id() for exactly-once, a name that no other sink on this server has",
            ),
        ):
            if not present:
                raise JobDefinitionError(f"a RedisSink needs {call}")
        return RedisSink(writing)

    def _with(self, **changes: Any) -> RedisSinkBuilder:
        self._writing = replace(self._writing, **changes)
        return self
