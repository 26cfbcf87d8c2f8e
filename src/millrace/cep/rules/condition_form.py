"""Conditions as JSON, to be read and written. The form: docs/cep/dynamic-rules.md."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from millrace.cep.rules.condition_tree import (
    COMPARISONS,
    TEXT_TESTS,
    Between,
    Comparison,
    IsNull,
    IsType,
    Junction,
    Membership,
    Not,
    TextTest,
    Tree,
)
from millrace.cep.rules.expression import Expression
from millrace.cep.rules.json_place import JsonPlace
from millrace.cep.rules.operands import (
    ARITHMETIC,
    WHICH,
    Arithmetic,
    Constant,
    Field,
    Matched,
    Operand,
)
from millrace.cep.rules.rule_error import RuleError
from millrace.common.functions.pattern_conditions import Condition
from millrace.runtime.cep.event_field import FieldPath

__all__ = ["field_condition", "read_condition", "written_condition"]

OPERATORS = (
    *COMPARISONS,
    "in",
    "not in",
    "between",
    "is null",
    "is not null",
    *TEXT_TESTS,
)


def field_condition(form: Mapping[str, Any]) -> Condition:
    """A condition for `Pattern.where` and `until`, in the form it has in the JSON of a rule: it can
    be written as JSON again, and rules that ask for equality are found without being asked.

    Raises:
        RuleError: it is no condition; says where.

    Example:
        >>> small = field_condition({"field": "amount", "op": "<", "value": 10})
        >>> small.call({"amount": 5}), small.call({"amount": 50}), small.call({})
        (True, False, False)
    """
    return read_condition(JsonPlace(form, "condition"), None)


def read_condition(place: JsonPlace, parts: Collection[str] | None) -> Condition:
    """The condition at a place; ``parts`` are those whose events it may ask for, None: any.

    Raises:
        RuleError: there is none.
    """
    return Expression(_Reader(parts).condition(place)).condition()


def written_condition(condition: Condition) -> dict[str, Any]:
    """A condition as JSON.

    Raises:
        RuleError: it is code, or a class that JSON cannot say.
    """
    if condition.parts:
        return {condition.word: [written_condition(part) for part in condition.parts]}
    if isinstance(condition.source, type):
        return _subtype_form(condition.source)
    if not isinstance(condition.source, Expression):
        raise RuleError(
            f"the condition {condition.text or condition.source!r} is code, and code cannot be "
            "written as JSON; make it with field_condition()"
        )
    return _condition_form(condition.source.tree)


def _subtype_form(kind: type) -> dict[str, Any]:
    if type(kind).__instancecheck__ is not type.__instancecheck__:
        raise RuleError(
            f"{kind.__qualname__} itself decides what is of its class, and rules in JSON know only "
            "the names of classes; name those that are meant"
        )
    return {"type": kind.__name__}


class _Reader:
    def __init__(self, parts: Collection[str] | None) -> None:
        self._parts = parts

    # -- conditions ------------------------------------------------------------------------------

    def condition(self, place: JsonPlace) -> Tree:
        if not isinstance(place.value, dict):
            place.expected("a condition, such as an object with field, op and value")
        for word in ("and", "or"):
            if word in place:
                place.only(word)
                inner = place[word].items()
                return Junction(word, tuple(self.condition(part) for part in inner))
        if "not" in place:
            place.only("not")
            return Not(self.condition(place["not"]))
        if "type" in place:
            place.only("type")
            return IsType(place["type"].text())
        return self._comparison(place)

    def _comparison(self, place: JsonPlace) -> Tree:
        place.only("field", "of", "event", "left", "op", "value")
        op = place["op"].one_of(*OPERATORS)
        left = self._left(place)
        if op in ("is null", "is not null"):
            if "value" in place:
                place["value"].fail(f"{op!r} takes no value")
            return IsNull(left, negated=op == "is not null")
        right = place["value"]
        if op in ("in", "not in"):
            values = tuple(item.constant() for item in right.items())
            return Membership(left, values, negated=op == "not in")
        if op == "between":
            bounds = right.items(2)
            if len(bounds) != 2:
                right.fail(f"expected the least and the most, got {len(bounds)} values")
            return Between(left, self._operand(bounds[0]), self._operand(bounds[1]))
        if op in TEXT_TESTS:
            return TextTest(left, op, self._operand(right))
        return Comparison(left, op, self._operand(right))

    def _left(self, place: JsonPlace) -> Operand:
        if "left" not in place:
            return self._field(place)
        for name in ("field", "of", "event"):
            if name in place:
                place[name].fail("is said already by 'left'; leave one of them away")
        return self._operand(place["left"])

    # -- operands --------------------------------------------------------------------------------

    def _operand(self, place: JsonPlace) -> Operand:
        if not isinstance(place.value, dict):
            if place.value is None:
                place.fail("nothing compares with null; ask 'is null' or 'is not null'")
            return Constant(place.constant())
        for word in ARITHMETIC:
            if word in place:
                place.only(word)
                operands = place[word].items(2)
                return Arithmetic(word, tuple(map(self._operand, operands)))
        place.only("field", "of", "event", *ARITHMETIC)
        return self._field(place)

    def _field(self, place: JsonPlace) -> Field | Matched:
        if "of" not in place:
            if "event" in place:
                place["event"].fail("needs 'of': the part of the pattern whose events are meant")
            return Field(_path(place["field"]))
        part = place["of"].text()
        if self._parts is not None and part not in self._parts:
            known = ", ".join(map(repr, self._parts))
            place["of"].fail(f"there is no part {part!r} that has events; there are {known}")
        which = place["event"].one_of(*WHICH) if "event" in place else "last"
        if which == "count":
            if "field" in place:
                place["field"].fail("a count of events needs no field")
            return Matched(part, which, ())
        return Matched(part, which, _path(place["field"]))


def _path(place: JsonPlace) -> FieldPath:
    if isinstance(place.value, (list, tuple)):
        return tuple(_step(step) for step in place.items(0))
    return (_step(place),)


def _step(place: JsonPlace) -> str | int:
    return place.whole(0) if type(place.value) is int else place.text()


def _condition_form(tree: Tree) -> dict[str, Any]:
    if isinstance(tree, Junction):
        return {tree.word: [_condition_form(part) for part in tree.parts]}
    if isinstance(tree, Not):
        return {"not": _condition_form(tree.part)}
    if isinstance(tree, IsType):
        return {"type": tree.name}
    return _left_form(tree.left) | _test_form(tree)


def _test_form(tree: Comparison | Between | Membership | IsNull | TextTest) -> dict[str, Any]:
    if isinstance(tree, IsNull):
        return {"op": "is not null" if tree.negated else "is null"}
    if isinstance(tree, Membership):
        return {"op": "not in" if tree.negated else "in", "value": list(tree.values)}
    if isinstance(tree, Between):
        return {"op": "between", "value": [_operand_form(tree.least), _operand_form(tree.most)]}
    right = tree.text if isinstance(tree, TextTest) else tree.right
    return {"op": tree.op, "value": _operand_form(right)}


def _left_form(operand: Operand) -> dict[str, Any]:
    if isinstance(operand, (Field, Matched)):
        form: dict[str, Any] = _operand_form(operand)
        return form
    return {"left": _operand_form(operand)}


def _operand_form(operand: Operand) -> Any:
    if isinstance(operand, Constant):
        return operand.value
    if isinstance(operand, Field):
        return {"field": _path_form(operand.path)}
    if isinstance(operand, Arithmetic):
        return {operand.word: [_operand_form(inner) for inner in operand.operands]}
    form = {"of": operand.part, "event": operand.which}
    return form if operand.which == "count" else {"field": _path_form(operand.path), **form}


def _path_form(path: FieldPath) -> Any:
    return path[0] if len(path) == 1 else list(path)
