"""Schema of the JSON of rules, as `msgspec` structs. In words: docs/cep/dynamic-rules.md."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

LARGEST = 2**53
"""Limit of versions, times and positions: every reader of JSON knows numbers up to it exactly."""

Text = Annotated[str, Meta(min_length=1)]
Positive = Annotated[int, Meta(ge=1, le=LARGEST)]
Count = Annotated[int, Meta(ge=1)]
Position = Annotated[int, Meta(ge=0, le=LARGEST)]
Path = Text | Position | list[Text | Position]
Duration = str | Positive
Constant = str | int | float | bool


class Form(Struct, forbid_unknown_fields=True):
    """Base of the JSON objects. Members that are left out are UNSET."""


class OperandForm(Form):
    """A field, a value of the events matched for a part, or a calculation."""

    field: Path | UnsetType = UNSET
    of: Text | UnsetType = UNSET
    event: Literal["first", "last", "count", "sum", "avg", "min", "max"] | UnsetType = UNSET
    plus: Operands | UnsetType = msgspec.field(default=UNSET, name="+")
    minus: Operands | UnsetType = msgspec.field(default=UNSET, name="-")
    times: Operands | UnsetType = msgspec.field(default=UNSET, name="*")
    divided: Operands | UnsetType = msgspec.field(default=UNSET, name="/")


Operand = OperandForm | Constant | None
Operands = Annotated[list[Operand], Meta(min_length=2)]
Constants = Annotated[list[Constant], Meta(min_length=1)]


class ConditionForm(Form):
    """Joined conditions, a negated one, a class, or a test of an operand."""

    all: Conditions | UnsetType = msgspec.field(default=UNSET, name="and")
    any: Conditions | UnsetType = msgspec.field(default=UNSET, name="or")
    negated: ConditionForm | UnsetType = msgspec.field(default=UNSET, name="not")
    type: Text | UnsetType = UNSET
    field: Path | UnsetType = UNSET
    of: Text | UnsetType = UNSET
    event: Literal["first", "last", "count", "sum", "avg", "min", "max"] | UnsetType = UNSET
    left: Operand | UnsetType = UNSET
    op: Text | UnsetType = UNSET
    value: Any = UNSET
    """The right operand; its type depends on the operator."""


Conditions = Annotated[list[ConditionForm], Meta(min_length=1)]


class TimesForm(Form):
    """Number of occurrences of a part."""

    least: Annotated[int, Meta(ge=0)] = msgspec.field(name="from")
    most: Count | UnsetType = msgspec.field(default=UNSET, name="to")
    within: Duration | UnsetType = UNSET


class PartForm(Form):
    """A part of a pattern: a single one, or a group."""

    name: Text | UnsetType = UNSET
    group: Parts | UnsetType = UNSET
    contiguity: (
        Literal["next", "followed_by", "followed_by_any", "not_next", "not_followed_by"] | UnsetType
    ) = UNSET
    where: ConditionForm | UnsetType = UNSET
    times: Count | TimesForm | UnsetType = UNSET
    optional: bool = False
    greedy: bool = False
    inner: Literal["consecutive", "allow_combinations"] | UnsetType = UNSET
    until: ConditionForm | UnsetType = UNSET
    within: Duration | UnsetType = UNSET


Parts = Annotated[list[PartForm], Meta(min_length=1)]


class SkipForm(Form):
    """An after-match skip strategy."""

    kind: Text
    part: Text | UnsetType = UNSET


class PatternForm(Form):
    """A pattern."""

    parts: Parts
    within: Duration | UnsetType = UNSET
    skip: str | SkipForm | UnsetType = UNSET


class KeysForm(Form):
    """Keys that a rule applies to."""

    prefix: Text


class FormatForm(Struct):
    """The member that rules of all formats share: the number of the format."""

    format: Positive


class RuleForm(Form):
    """A rule."""

    format: Positive
    rule: Text
    version: Positive
    pattern: PatternForm
    keys: str | KeysForm = "all"
    enabled: bool = True
    metadata: dict[str, Any] = {}


class ChangeForm(Form):
    """A change of a rule."""

    format: Positive
    rule: Text
    action: Literal["enable", "disable", "remove"]
