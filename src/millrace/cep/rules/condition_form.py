"""Reading and writing of conditions as JSON. The form: docs/cep/dynamic-rules.md."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import UNSET, UnsetType

from millrace.cep.rules import forms
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
from millrace.cep.rules.expression import RuleExpression
from millrace.cep.rules.forms import ConditionForm, OperandForm
from millrace.cep.rules.json_document import (
    check_constant,
    check_depth,
    check_text,
    one_of,
    only,
    read,
    refuse,
)
from millrace.cep.rules.operands import (
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
    """A condition for `Pattern.where` and `until` from the JSON form of rules. The condition can be
    written as JSON again, and an index finds rules with equality tests without evaluating their
    conditions.

    Raises:
        RuleError: the form is not a condition; the message names the place.

    Example:
        >>> small = field_condition({"field": "amount", "op": "<", "value": 10})
        >>> small.call({"amount": 5}), small.call({"amount": 50}), small.call({})
        (True, False, False)
    """
    check_depth(form, "condition")
    return read_condition(read(form, ConditionForm, "condition"), "condition", None)


def read_condition(form: ConditionForm, at: str, parts: Collection[str] | None) -> Condition:
    """Read the condition at a place in the JSON. ``parts`` are the parts of the pattern whose
    events the condition may use; None for any part.

    Raises:
        RuleError: it contradicts itself, or names what is not there.
    """
    return RuleExpression(_ConditionReader(parts).condition(form, at)).condition()


def written_condition(condition: Condition) -> dict[str, Any]:
    """A condition as JSON.

    Raises:
        RuleError: the condition is code, or a class that JSON cannot express.
    """
    if condition.parts:
        return {condition.word: [written_condition(part) for part in condition.parts]}
    if isinstance(condition.source, type):
        return _subtype_form(condition.source)
    if not isinstance(condition.source, RuleExpression):
        raise RuleError(
            f"the condition {condition.text or condition.source!r} is code, and code cannot be "
            "written as JSON; make it with field_condition()"
        )
    return _condition_form(condition.source.tree)


def _subtype_form(kind: type) -> dict[str, Any]:
    if type(kind).__instancecheck__ is not type.__instancecheck__:
        raise RuleError(
            f"{kind.__qualname__} has an instance check of its own, but rules in JSON know "
            "only names of classes; name the intended classes"
        )
    return {"type": kind.__name__}


class _ConditionReader:
    def __init__(self, parts: Collection[str] | None) -> None:
        self._parts = parts

    # -- conditions ------------------------------------------------------------------------------

    def condition(self, form: ConditionForm, at: str) -> Tree:
        for word, inner in (("and", form.all), ("or", form.any)):
            if not isinstance(inner, UnsetType):
                only(form, at, word)
                parts = (self.condition(part, f"{at}.{word}[{n}]") for n, part in enumerate(inner))
                return Junction(word, tuple(parts))
        if not isinstance(form.negated, UnsetType):
            only(form, at, "not")
            return Not(self.condition(form.negated, f"{at}.not"))
        if not isinstance(form.type, UnsetType):
            only(form, at, "type")
            return IsType(check_text(form.type, f"{at}.type"))
        return self._test(form, at)

    def _test(self, form: ConditionForm, at: str) -> Tree:
        op = one_of(_there(form.op, "op", at), f"{at}.op", OPERATORS)
        left = self._left(form, at)
        place = f"{at}.value"
        if op in ("is null", "is not null"):
            if form.value is not UNSET:
                refuse(place, f"{op!r} takes no value")
            return IsNull(left, negated=op == "is not null")
        value = _there(form.value, "value", at)
        if op in ("in", "not in"):
            constants: list[forms.Constant] = read(value, forms.Constants, place)
            checked = (check_constant(v, f"{place}[{n}]") for n, v in enumerate(constants))
            return Membership(left, tuple(checked), negated=op == "not in")
        if op == "between":
            bounds: list[forms.Operand] = read(value, forms.Operands, place)
            if len(bounds) != 2:
                refuse(place, f"expected the least and the most, got {len(bounds)} values")
            least, most = (self._operand(v, f"{place}[{n}]") for n, v in enumerate(bounds))
            return Between(left, least, most)
        right = self._operand(read(value, forms.Operand, place), place)
        return TextTest(left, op, right) if op in TEXT_TESTS else Comparison(left, op, right)

    def _left(self, form: ConditionForm, at: str) -> Operand:
        if isinstance(form.left, UnsetType):
            return self._field(form, at)
        for name in ("field", "of", "event"):
            if getattr(form, name) is not UNSET:
                refuse(f"{at}.{name}", "repeats the operand 'left'; remove one of the two")
        return self._operand(form.left, f"{at}.left")

    # -- operands --------------------------------------------------------------------------------

    def _operand(self, form: forms.Operand, at: str) -> Operand:
        if form is None:
            refuse(at, "no comparison with null is true; use 'is null' or 'is not null'")
        if not isinstance(form, OperandForm):
            return Constant(check_constant(form, at))
        words = {"+": form.plus, "-": form.minus, "*": form.times, "/": form.divided}
        for word, inner in words.items():
            if not isinstance(inner, UnsetType):
                only(form, at, word)
                places = (f"{at}.{word}[{n}]" for n in range(len(inner)))
                return Arithmetic(word, tuple(map(self._operand, inner, places)))
        return self._field(form, at)

    def _field(self, form: ConditionForm | OperandForm, at: str) -> Field | Matched:
        if isinstance(form.of, UnsetType):
            if form.event is not UNSET:
                refuse(f"{at}.event", "needs 'of': the part of the pattern whose events are meant")
            return Field(_path(form.field, at))
        part = check_text(form.of, f"{at}.of")
        if self._parts is not None and part not in self._parts:
            known = ", ".join(map(repr, self._parts))
            refuse(f"{at}.of", f"there is no part {part!r} that has events; there are {known}")
        which = "last" if isinstance(form.event, UnsetType) else form.event
        if which == "count":
            if form.field is not UNSET:
                refuse(f"{at}.field", "a count of events needs no field")
            return Matched(part, which, ())
        return Matched(part, which, _path(form.field, at))


def _there(value: Any, name: str, at: str) -> Any:
    if value is UNSET:
        refuse(at, f"{name!r} is missing")
    return value


def _path(path: forms.Path | UnsetType, at: str) -> FieldPath:
    given = _there(path, "field", at)
    steps = given if isinstance(given, list) else [given]
    for step in steps:
        if isinstance(step, str):
            check_text(step, f"{at}.field")
    return tuple(steps)


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
