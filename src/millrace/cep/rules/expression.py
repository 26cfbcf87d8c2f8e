"""Conditions of rules, made from condition trees: evaluated, inspected, and written as JSON
again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from millrace.cep.rules.condition_tree import Comparison, Junction, Membership, Tree
from millrace.cep.rules.operands import Constant, Field
from millrace.cep.rules.source_names import SourceNames
from millrace.common.functions.pattern_conditions import Condition
from millrace.runtime.cep.event_field import FieldPath
from millrace.runtime.cep.inspectable_condition import Equality, InspectableCondition

__all__ = ["RuleExpression", "compiled"]


class RuleExpression(InspectableCondition):
    """A condition tree as the ``source`` of a `Condition`, which can be inspected.

    Example:
        >>> tree = Comparison(Field(("amount",)), "<", Constant(10))
        >>> condition = RuleExpression(tree).condition()
        >>> condition.call({"amount": 5}), condition.call({"amount": "five"}), condition.text
        (True, False, 'amount < 10')
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def condition(self) -> Condition:
        """The condition for a pattern, with the tree compiled to a function."""
        call = compiled(self.tree)
        return Condition(call, self.tree.iterative, source=self, text=str(self.tree))

    def equalities(self) -> list[Equality]:
        values_at: dict[FieldPath, frozenset[Any]] = {}
        for part in _conjuncts(self.tree):
            known = _equality(part)
            if known is not None:
                path, values = known
                values_at[path] = values_at[path] & values if path in values_at else values
        return [Equality(path, values) for path, values in values_at.items()]

    def without_context(self) -> Callable[[Any], Any] | None:
        simple = tuple(part for part in _conjuncts(self.tree) if not part.iterative)
        return compiled(Junction("and", simple)) if simple else None


def compiled(tree: Tree) -> Callable[..., Any]:
    """Compile a tree to one function of the event, or of the event and the context.

    Source is generated, in which everything that comes from the tree is the value of a variable
    (`SourceNames`): one call for a whole condition is several times as fast as a call for each of
    its parts. Values that cannot be compared raise; only then the tree itself is evaluated, which
    takes such a comparison for false.
    """
    names = SourceNames()
    source = tree.source(names)
    if tree.iterative:
        return names.function("value, ctx", source, tree.holds)
    return names.function("value", source, partial(_without_context, tree))


def _without_context(tree: Tree, value: Any) -> bool:
    return tree.holds(value, None)


def _conjuncts(tree: Tree) -> list[Tree]:
    """The parts of a conjunction, including nested ones; any other tree is its own only part."""
    if isinstance(tree, Junction) and tree.word == "and":
        return [leaf for part in tree.parts for leaf in _conjuncts(part)]
    return [tree]


def _equality(tree: Tree) -> tuple[FieldPath, frozenset[Any]] | None:
    """The field and its values, if the tree is ``field == value`` or ``field in values``."""
    if isinstance(tree, Comparison) and tree.op == "==":
        if isinstance(tree.left, Field) and isinstance(tree.right, Constant):
            return tree.left.path, frozenset((tree.right.value,))
    elif isinstance(tree, Membership) and isinstance(tree.left, Field) and not tree.negated:
        return tree.left.path, frozenset(tree.values)
    return None
