"""Pattern rules, which are added and removed while a job runs.

Flink's open-source library has no pattern rules. The terms are those of ``CEP.dynamic_pattern``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self

from millrace.common.errors import JobDefinitionError
from millrace.runtime.cep.pattern_model import EventPattern

__all__ = ["PatternRule", "RejectedRule", "RuleAction", "RuleChange", "RuleMatch"]


class HasModel(Protocol):
    """An object that can supply a pattern model, such as `millrace.cep.Pattern`."""

    def model(self) -> EventPattern:
        """The pattern as plain data."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class PatternRule:
    """A named pattern, and the keys for which it is active. (For users: `millrace.cep.Rule`.)

    Args:
        id: id of the rule.
        version: version from 1 on. A higher version replaces the existing rule.
        pattern: the pattern, as ``Pattern`` or as `EventPattern`.
        key_prefix: prefix of the keys, as text, for which the rule is active. Empty for all keys.
        enabled: whether the rule is matched.
        metadata: any data for the consumers of the rule's matches.

    Raises:
        JobDefinitionError: an argument is of another type.
        MalformedPatternError: the pattern contradicts itself.

    Example:
        >>> from millrace.runtime.cep.pattern_model import Event
        >>> rule = PatternRule("small", 1, EventPattern((Event("a"),)), key_prefix="eu-")
        >>> rule
        <rule 'small' version 1>
    """

    id: str
    version: int
    pattern: EventPattern
    key_prefix: str
    enabled: bool
    metadata: Mapping[str, Any]

    def __init__(
        self,
        id: str,
        version: int,
        pattern: EventPattern | HasModel,
        key_prefix: str = "",
        enabled: bool = True,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        _check(id, version, key_prefix)
        model = pattern if isinstance(pattern, EventPattern) else _model(pattern)
        values = (id, version, model, key_prefix, bool(enabled), dict(metadata or {}))
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    def model(self) -> EventPattern:
        """The pattern as plain data."""
        return self.pattern

    @property
    def json(self) -> str | None:
        """JSON text from which the rule was read. None if the rule was created or changed in
        Python."""
        json: str | None = self.__dict__.get("_json")
        return json

    def read_from(self, json: str) -> Self:
        """Record the JSON text from which the rule was read. The text is not a field of the rule,
        because copies with other fields do not match it.
        """
        object.__setattr__(self, "_json", json)
        return self

    def __repr__(self) -> str:
        return f"<rule {self.id!r} version {self.version}>"


def _check_id(id: Any) -> None:
    if not isinstance(id, str) or not id:
        raise JobDefinitionError(f"a rule's id is text that is not empty, got {id!r}")


def _check(id: Any, version: Any, key_prefix: Any) -> None:
    _check_id(id)
    if type(version) is not int or version < 1:
        raise JobDefinitionError(
            f"rule {id!r}: a version is a whole number from 1 on, got {version!r}"
        )
    if not isinstance(key_prefix, str):
        raise JobDefinitionError(f"rule {id!r}: a key prefix is text, got {key_prefix!r}")


def _model(pattern: Any) -> EventPattern:
    build = getattr(pattern, "model", None)
    model = build() if callable(build) and not isinstance(pattern, type) else None
    if not isinstance(model, EventPattern):
        raise JobDefinitionError(
            f"a rule takes a Pattern such as Pattern.begin('a'), got {pattern!r}"
        )
    return model


class RuleAction(enum.Enum):
    """Kind of change of an existing rule."""

    ENABLE = "enable"
    DISABLE = "disable"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class RuleChange:
    """Change of an existing rule.

    Raises:
        JobDefinitionError: an argument is of another type.

    Example:
        >>> RuleChange.disable("small")
        RuleChange(action=<RuleAction.DISABLE: 'disable'>, rule='small')
    """

    action: RuleAction
    rule: str
    """Its id."""

    def __post_init__(self) -> None:
        if not isinstance(self.action, RuleAction):
            raise JobDefinitionError(
                f"a change of a rule is RuleChange.enable(id), disable(id) or remove(id), got the "
                f"action {self.action!r}"
            )
        _check_id(self.rule)

    @staticmethod
    def enable(rule: str) -> RuleChange:
        """Resume matching of a rule."""
        return RuleChange(RuleAction.ENABLE, rule)

    @staticmethod
    def disable(rule: str) -> RuleChange:
        """Suspend matching of a rule, and drop its partial matches."""
        return RuleChange(RuleAction.DISABLE, rule)

    @staticmethod
    def remove(rule: str) -> RuleChange:
        """Remove a rule and its partial matches."""
        return RuleChange(RuleAction.REMOVE, rule)


class RuleMatch(dict[str, list[Any]]):
    """A match, as a dict from the names of patterns to their events, and the rule that matched.

    Example:
        >>> match = RuleMatch({"a": [5]}, "small", 3)
        >>> match["a"], match.rule, match.version
        ([5], 'small', 3)
    """

    rule: str
    """The rule's id."""
    version: int
    metadata: Mapping[str, Any]

    def __init__(
        self,
        events: Mapping[str, list[Any]],
        rule: str = "",
        version: int = 0,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(events)
        self.rule = rule
        self.version = version
        self.metadata = {} if metadata is None else metadata

    def __repr__(self) -> str:
        return f"RuleMatch({super().__repr__()}, {self.rule!r}, {self.version})"

    def __reduce__(self) -> tuple[Any, ...]:
        return RuleMatch, (dict(self), self.rule, self.version, dict(self.metadata))


@dataclass(frozen=True, slots=True)
class RejectedRule:
    """Report of an invalid record in the stream of rules."""

    given: str
    """The rejected record as text, cut off if it is long."""
    reason: str
    """The reason, cut off if it is long."""
