"""Fast key selectors from the arguments of ``key_by``.

The results are picklable as long as the user's own functions are, and work on whole lists with as
few Python frames as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.functions.base import KeySelector
from millrace.common.types.row import Row

__all__ = [
    "BatchKeys",
    "CompositeKey",
    "FieldKey",
    "NullByteKeySelector",
    "PositionKey",
    "batch_keys",
    "resolve_key_selector",
]

Getter = Callable[[Any], Any]


class NullByteKeySelector(KeySelector[Any, int]):
    """Gives every record the key 0, so that keyed operators can be used on a stream without
    keys."""

    def get_key(self, value: Any) -> int:
        return 0


def resolve_key_selector(selector: Any) -> Getter:
    """Function that extracts the key of one record.

    Args:
        selector: a `KeySelector`, a callable, the name of a field (of rows, dicts, named tuples
            or objects), a position, or a tuple or list of these, which makes the key a tuple.

    Raises:
        JobDefinitionError: it is none of these.

    Example:
        >>> resolve_key_selector(("name", "age"))({"name": "Alice", "age": 11})
        ('Alice', 11)
    """
    if isinstance(selector, KeySelector):
        return selector.get_key
    if isinstance(selector, str):
        return FieldKey(selector)
    if isinstance(selector, int) and not isinstance(selector, bool):
        return PositionKey(selector)
    if isinstance(selector, (tuple, list)) and selector:
        return CompositeKey(tuple(resolve_key_selector(part) for part in selector))
    if callable(selector):
        return selector  # type: ignore[no-any-return]
    raise JobDefinitionError(
        "key_by takes a callable, a KeySelector, a field name, a position or a tuple of these, "
        f"got {selector!r}"
    )


def batch_keys(selector: Any) -> Callable[[list[Any]], list[Any]]:
    """Function that extracts the keys of a list of records. The arguments are those of
    `resolve_key_selector`.

    Example:
        >>> batch_keys(1)([("a", 1), ("b", 2)])
        [1, 2]
    """
    return batched(resolve_key_selector(selector))


def hashable(keys: list[Any]) -> list[Any]:
    """The keys with tuples in place of lists, so that a list and the tuple of its items are the
    same key.

    Example:
        >>> hashable([["a", [1]], "b"])
        [('a', (1,)), 'b']
    """
    try:
        # at the speed of C; keys that are hashed again have kept their hash
        hash(tuple(keys))
    except TypeError:
        return list(map(_without_lists, keys))
    return keys


def _without_lists(key: Any) -> Any:
    if type(key) is list or type(key) is tuple:
        return tuple(map(_without_lists, key))
    return key


def batched(getter: Getter) -> Callable[[list[Any]], list[Any]]:
    """Function that applies a key function for one record to each record of a list."""
    if isinstance(getter, (FieldKey, PositionKey, CompositeKey)):
        return getter.batch
    return BatchKeys(getter)


@dataclass(frozen=True, slots=True)
class BatchKeys:
    """Applies a function to every record of a list."""

    get_key: Getter

    def __call__(self, values: list[Any]) -> list[Any]:
        return hashable(list(map(self.get_key, values)))


@dataclass(frozen=True, slots=True)
class PositionKey:
    """Extracts the field at a position."""

    position: int

    def __call__(self, value: Any) -> Any:
        return value[self.position]

    def batch(self, values: list[Any]) -> list[Any]:
        """The keys of a list of records, at the speed of C."""
        return hashable(list(map(itemgetter(self.position), values)))


@dataclass(frozen=True, slots=True)
class CompositeKey:
    """Makes a tuple of several keys."""

    parts: tuple[Getter, ...]

    def __call__(self, value: Any) -> tuple[Any, ...]:
        return tuple([part(value) for part in self.parts])

    def batch(self, values: list[Any]) -> list[Any]:
        """The keys of a list of records."""
        columns = [batched(part)(values) for part in self.parts]
        return list(zip(*columns, strict=True))


@dataclass(frozen=True, slots=True)
class FieldKey:
    """Extracts a named field; the fastest access is determined once per type of record."""

    name: str
    getters: dict[type, Getter] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, value: Any) -> Any:
        try:
            return self.getter(type(value))(value)
        except (AttributeError, LookupError) as error:
            raise self.missing(value) from error

    def batch(self, values: list[Any]) -> list[Any]:
        """The keys of a list of records, at the speed of C if all are of one type."""
        types = set(map(type, values))
        if len(types) != 1:
            return hashable(list(map(self, values)))
        try:
            return hashable(list(map(self.getter(types.pop()), values)))
        except (AttributeError, LookupError):
            # Once more, one by one, for an error that shows the record.
            return list(map(self, values))

    def getter(self, record_type: type) -> Getter:
        """Function that extracts the field from records of a type."""
        getter = self.getters.get(record_type)
        if getter is None:
            getter = self.getters[record_type] = field_getter(record_type, self.name)
        return getter

    def missing(self, value: Any) -> JobExecutionError:
        """The error for a record that lacks the field."""
        return JobExecutionError(
            f"key_by({self.name!r}): the record {value!r} has no field {self.name!r}; "
            "use a field it has, or a function"
        )

    # Getters are made again where they are needed: a type may not be picklable.
    def __reduce__(self) -> tuple[type[FieldKey], tuple[str]]:
        return FieldKey, (self.name,)


def field_getter(record_type: type, name: str) -> Getter:
    """The fastest function that extracts a field from records of a type."""
    if issubclass(record_type, (Row, Mapping)):
        return itemgetter(name)
    positions = getattr(record_type, "_fields", ())
    if issubclass(record_type, tuple) and name in positions:
        return itemgetter(positions.index(name))
    return attrgetter(name)
