"""Mappers, which choose the Redis commands that write a record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import Duration
from millrace.connectors.redis.client import Command, RedisError
from millrace.connectors.row_changes import ReplacedRows, additions

__all__ = ["RedisMapper"]

Part = Callable[[Any], Any]
"""From a record to a text, bytes or a number."""
Key = str | Part
"""The same key for all records, or a function of the record."""


class RedisMapper(ABC):
    """Chooses the commands for each record; made by one of the functions of this class, or
    subclassed.

    A key is a text, which is the same for all records, or a function of the record. Values are
    texts, bytes or numbers. A row of kind ``DELETE`` deletes what one with its key would write, and
    so does one of kind ``UPDATE_BEFORE``, unless a row with its key follows in the epoch.

    Example:
        >>> mapper = RedisMapper.set_value(lambda r: f"total:{r[0]}", lambda r: r[1])
        >>> mapper.commands([("ada", 5)])
        [('SET', 'total:ada', 5)]
    """

    @abstractmethod
    def write(self, record: Any) -> Sequence[Command]:
        """Commands that write a record."""

    def delete(self, record: Any) -> Sequence[Command]:
        """Commands that delete the value of the record's key.

        Raises:
            RedisError: that is not possible (the default).
        """
        raise RedisError(
            f"{type(self).__name__.lstrip('_')} cannot take back a row of kind DELETE: filter such "
            "rows out, or write by a key, as set_value() and set_fields() do"
        )

    def commands(
        self, records: Sequence[Any], replaced: ReplacedRows | None = None
    ) -> list[Command]:
        """Commands of a batch, in the order of its records.

        Args:
            replaced: rows of the epoch that an update has replaced. None if the batch is an epoch.
        """
        write, delete = self.write, self.delete
        rows = ReplacedRows() if replaced is None else replaced
        pairs = rows.changes(records, self._target)
        made = list(chain.from_iterable(write(r) if kept else delete(r) for kept, r in pairs))
        return made if replaced is not None else made + self.last_commands(rows)

    def last_commands(self, replaced: ReplacedRows) -> list[Command]:
        """Commands at the end of an epoch."""
        left = replaced.take()
        return list(chain.from_iterable(map(self.delete, left))) if self._deletes else []

    @property
    def _deletes(self) -> bool:
        """Whether something that was written can be deleted. If not, replaced rows are left out."""
        return type(self).delete is not RedisMapper.delete

    def _target(self, record: Any) -> Any:
        """The place to which a record writes."""
        return tuple(map(tuple, self.delete(record))) if self._deletes else None

    @staticmethod
    def set_value(key: Key, value: Part, ttl: Duration | None = None) -> RedisMapper:
        """Write a key's value (``SET``), which expires after the ``ttl``; deletes use ``DEL``."""
        return _SetValue(_part(key), _part(value), _milliseconds(ttl))

    @staticmethod
    def set_fields(
        key: Key, fields: Callable[[Any], Mapping[str, Any]], ttl: Duration | None = None
    ) -> RedisMapper:
        """Write fields of a hash (``HSET``) and keep its other fields; deletes use ``DEL`` on
        the hash."""
        return _SetFields(_part(key), _part(fields), _milliseconds(ttl))

    @staticmethod
    def set_field(key: Key, field: Key, value: Part) -> RedisMapper:
        """Write one field of a hash (``HSET``); deletes use ``HDEL``."""
        return _SetField(_part(key), _part(field), _part(value))

    @staticmethod
    def add_to_set(key: Key, member: Part) -> RedisMapper:
        """Add a member to a set (``SADD``); deletes use ``SREM``."""
        return _AddToSet(_part(key), _part(member))

    @staticmethod
    def add_to_sorted_set(key: Key, member: Part, score: Part) -> RedisMapper:
        """Add a member with its score to a sorted set (``ZADD``); deletes use ``ZREM``."""
        return _AddToSortedSet(_part(key), _part(member), _part(score))

    @staticmethod
    def push(key: Key, value: Part, max_length: int | None = None) -> RedisMapper:
        """Append an element to a list (``RPUSH``), which keeps at most ``max_length`` elements
        (``LTRIM``)."""
        return _Push(_part(key), _part(value), _length(max_length))

    @staticmethod
    def add_to_stream(
        key: Key, fields: Callable[[Any], Mapping[str, Any]], max_length: int | None = None
    ) -> RedisMapper:
        """Add an entry to a stream (``XADD``), which keeps about ``max_length`` entries."""
        return _AddToStream(_part(key), _part(fields), _length(max_length))

    @staticmethod
    def publish(channel: Key, message: Part) -> RedisMapper:
        """Publish a message to the current subscribers (``PUBLISH``)."""
        return _Publish(_part(channel), _part(message))

    @staticmethod
    def increment(key: Key, by: Part, field: Key | None = None) -> RedisMapper:
        """Add to a number (``INCRBY``, ``INCRBYFLOAT``), or to a number in a hash (``HINCRBY``,
        ``HINCRBYFLOAT``). Rows of the kinds ``DELETE`` and ``UPDATE_BEFORE`` are subtracted."""
        return _Increment(_part(key), _part(by), None if field is None else _part(field))

    @staticmethod
    def of(commands: Callable[[Any], Command | Sequence[Command]]) -> RedisMapper:
        """Any command, or several: tuples of name and arguments. The function receives rows of
        all kinds."""
        if not callable(commands):
            raise JobDefinitionError(f"RedisMapper.of() takes a function, not {commands!r}")
        return _Commands(commands)


@dataclass(frozen=True)
class _SetValue(RedisMapper):
    key: Part
    value: Part
    ttl: int | None

    def write(self, record: Any) -> Sequence[Command]:
        if self.ttl is None:
            return (("SET", self.key(record), self.value(record)),)
        return (("SET", self.key(record), self.value(record), "PX", self.ttl),)

    def delete(self, record: Any) -> Sequence[Command]:
        return (("DEL", self.key(record)),)


@dataclass(frozen=True)
class _SetFields(RedisMapper):
    key: Part
    fields: Part
    ttl: int | None

    def write(self, record: Any) -> Sequence[Command]:
        key = self.key(record)
        written = ("HSET", key, *chain.from_iterable(self.fields(record).items()))
        return (written,) if self.ttl is None else (written, ("PEXPIRE", key, self.ttl))

    def delete(self, record: Any) -> Sequence[Command]:
        return (("DEL", self.key(record)),)


@dataclass(frozen=True)
class _SetField(RedisMapper):
    key: Part
    field: Part
    value: Part

    def write(self, record: Any) -> Sequence[Command]:
        return (("HSET", self.key(record), self.field(record), self.value(record)),)

    def delete(self, record: Any) -> Sequence[Command]:
        return (("HDEL", self.key(record), self.field(record)),)


@dataclass(frozen=True)
class _AddToSet(RedisMapper):
    key: Part
    member: Part

    def write(self, record: Any) -> Sequence[Command]:
        return (("SADD", self.key(record), self.member(record)),)

    def delete(self, record: Any) -> Sequence[Command]:
        return (("SREM", self.key(record), self.member(record)),)


@dataclass(frozen=True)
class _AddToSortedSet(RedisMapper):
    key: Part
    member: Part
    score: Part

    def write(self, record: Any) -> Sequence[Command]:
        return (("ZADD", self.key(record), self.score(record), self.member(record)),)

    def delete(self, record: Any) -> Sequence[Command]:
        return (("ZREM", self.key(record), self.member(record)),)


@dataclass(frozen=True)
class _Push(RedisMapper):
    key: Part
    value: Part
    max_length: int | None

    def write(self, record: Any) -> Sequence[Command]:
        key = self.key(record)
        pushed = ("RPUSH", key, self.value(record))
        if self.max_length is None:
            return (pushed,)
        return (pushed, ("LTRIM", key, -self.max_length, -1))


@dataclass(frozen=True)
class _AddToStream(RedisMapper):
    key: Part
    fields: Part
    max_length: int | None

    def write(self, record: Any) -> Sequence[Command]:
        limit = () if self.max_length is None else ("MAXLEN", "~", self.max_length)
        entry = chain.from_iterable(self.fields(record).items())
        return (("XADD", self.key(record), *limit, "*", *entry),)


@dataclass(frozen=True)
class _Publish(RedisMapper):
    channel: Part
    message: Part

    def write(self, record: Any) -> Sequence[Command]:
        return (("PUBLISH", self.channel(record), self.message(record)),)


@dataclass(frozen=True)
class _Increment(RedisMapper):
    key: Part
    by: Part
    field: Part | None

    def write(self, record: Any) -> Sequence[Command]:
        return (self._add(record, self.by(record)),)

    def commands(
        self, records: Sequence[Any], replaced: ReplacedRows | None = None
    ) -> list[Command]:
        by = self.by
        return [self._add(r, by(r) if adds else -by(r)) for adds, r in additions(records)]

    def _add(self, record: Any, by: Any) -> Command:
        kind = "INCRBYFLOAT" if isinstance(by, float) else "INCRBY"
        if self.field is None:
            return (kind, self.key(record), by)
        return ("H" + kind, self.key(record), self.field(record), by)


@dataclass(frozen=True)
class _Commands(RedisMapper):
    function: Callable[[Any], Any]

    def write(self, record: Any) -> Sequence[Command]:
        commands = self.function(record)
        is_one = isinstance(commands, tuple) and commands and not isinstance(commands[0], tuple)
        return (commands,) if is_one else commands

    def commands(
        self, records: Sequence[Any], replaced: ReplacedRows | None = None
    ) -> list[Command]:
        return list(chain.from_iterable(map(self.write, records)))


@dataclass(frozen=True)
class _Constant:
    value: str

    def __call__(self, record: Any) -> str:
        return self.value


def _part(part: Any) -> Part:
    if isinstance(part, str):
        return _Constant(part)
    if not callable(part):
        raise JobDefinitionError(f"a key must be a text or a function of the record, not {part!r}")
    return part  # type: ignore[no-any-return]


def _milliseconds(ttl: Any) -> int | None:
    if ttl is None:
        return None
    if not isinstance(ttl, Duration) or ttl.to_millis() <= 0:
        raise JobDefinitionError(f"ttl must be a Duration above 0, not {ttl!r}")
    return ttl.to_millis()


def _length(length: Any) -> int | None:
    if length is not None and (not isinstance(length, int) or length < 1):
        raise JobDefinitionError(f"max_length must be a number from 1 on, not {length!r}")
    return length
