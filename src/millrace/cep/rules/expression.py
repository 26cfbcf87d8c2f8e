"""A condition that is data: can be evaluated, inspected and written as JSON again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from millrace.cep.rules.condition_tree import Comparison, Junction, Membership, Tree
from millrace.cep.rules.operands import Constant, Field
from millrace.cep.rules.source_names import SourceNames
from millrace.common.functions.pattern_conditions import Condition
from millrace.runtime.cep.event_field import FieldPath
from millrace.runtime.cep.known_condition import Equality, KnownCondition

__all__ = ["Expression", "compiled"]


class Expression(KnownCondition):
    """The ``source`` of a condition that was made of a tree.

    Example:
        >>> tree = Comparison(Field(("amount",)), "<", Constant(10))
        >>> condition = Expression(tree).condition()
        >>> condition.call({"amount": 5}), condition.call({"amount": "five"}), condition.text
        (True, False, 'amount < 10')
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def condition(self) -> Condition:
        """As what patterns take."""
        call = compiled(self.tree)
        return Condition(call, self.tree.iterative, source=self, text=str(self.tree))

    def equalities(self) -> list[Equality]:
        found: dict[FieldPath, frozenset[Any]] = {}
        for part in _all_of(self.tree):
            known = _equality(part)
            if known is not None:
                path, values = known
                found[path] = found[path] & values if path in found else values
        return [Equality(path, values) for path, values in found.items()]

    def without_context(self) -> Callable[[Any], Any] | None:
        simple = tuple(part for part in _all_of(self.tree) if not part.iterative)
        return compiled(Junction("and", simple)) if simple else None


def compiled(tree: Tree) -> Callable[..., Any]:
    """A tree as one function of the event, or of the event and the context.

    It is made of source, in which everything that comes from the tree is the value of a variable:
    one call for a whole condition is several times as fast as a call for each of its parts. What
    cannot be compared is rare, so it is an exception, and only then the tree is gone through.
    """
    names = SourceNames()
    source = tree.source(names)
    if tree.iterative:
        return names.function("value, ctx", source, tree.holds)
    return names.function("value", source, partial(_without_context, tree))


def _without_context(tree: Tree, value: Any) -> bool:
    return tree.holds(value, None)


def _all_of(tree: Tree) -> list[Tree]:
    """What must all be true for the tree to be true."""
    if isinstance(tree, Junction) and tree.word == "and":
        return [leaf for part in tree.parts for leaf in _all_of(part)]
    return [tree]


def _equality(tree: Tree) -> tuple[FieldPath, frozenset[Any]] | None:
    """The field that must have one of some values."""
    if isinstance(tree, Comparison) and tree.op == "==":
        if isinstance(tree.left, Field) and isinstance(tree.right, Constant):
            return tree.left.path, frozenset((tree.right.value,))
    elif isinstance(tree, Membership) and isinstance(tree.left, Field) and not tree.negated:
        return tree.left.path, frozenset(tree.values)
    return None
