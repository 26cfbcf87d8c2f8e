"""Conditions as data: comparisons of operands, joined by and, or and not.

A comparison with something that is missing, or that cannot be compared, is false, whatever the
operator; a condition never raises.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from millrace.cep.rules.operands import Constant, Operand
from millrace.cep.rules.source_names import SourceNames

__all__ = [
    "COMPARISONS",
    "TEXT_TESTS",
    "Between",
    "Comparison",
    "IsNull",
    "IsType",
    "Junction",
    "Membership",
    "Not",
    "TextTest",
    "Tree",
]

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
TEXT_TESTS: dict[str, Callable[[str, str], bool]] = {
    "starts with": str.startswith,
    "ends with": str.endswith,
    "contains": str.__contains__,
}


class _Condition(ABC):
    """Base of conditions: a single test, or several tests that are joined."""

    __slots__ = ()

    @property
    @abstractmethod
    def iterative(self) -> bool:
        """Whether the condition needs events that were already matched."""

    @abstractmethod
    def holds(self, value: Any, ctx: Any) -> bool:
        """Whether an event fulfils the condition."""

    @abstractmethod
    def source(self, names: SourceNames) -> str:
        """The condition as a Python expression."""


@dataclass(frozen=True, slots=True)
class Comparison(_Condition):
    """Comparison of two operands."""

    left: Operand
    op: str
    right: Operand

    @property
    def iterative(self) -> bool:
        return self.left.iterative or self.right.iterative

    def holds(self, value: Any, ctx: Any) -> bool:
        left, right = self.left.of(value, ctx), self.right.of(value, ctx)
        if left is None or right is None:
            return False
        return _safely(COMPARISONS[self.op], left, right)

    def source(self, names: SourceNames) -> str:
        left, right = self.left.source(names), self.right.source(names)
        if self.op == "==" and isinstance(self.right, Constant):
            return f"({left} == {right})"
        checks = []
        if not isinstance(self.left, Constant):
            kept = names.temporary()
            checks.append(f"({kept} := {left}) is not None")
            left = kept
        if not isinstance(self.right, Constant):
            kept = names.temporary()
            checks.append(f"({kept} := {right}) is not None")
            right = kept
        return f"({' and '.join([*checks, f'{left} {self.op} {right}'])})"

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


@dataclass(frozen=True, slots=True)
class Between(_Condition):
    """Test that an operand lies between two bounds, both included."""

    left: Operand
    least: Operand
    most: Operand

    @property
    def iterative(self) -> bool:
        return self.left.iterative or self.least.iterative or self.most.iterative

    def holds(self, value: Any, ctx: Any) -> bool:
        return all(part.holds(value, ctx) for part in self._parts())

    def _parts(self) -> tuple[Comparison, Comparison]:
        return Comparison(self.left, ">=", self.least), Comparison(self.left, "<=", self.most)

    def source(self, names: SourceNames) -> str:
        return f"({' and '.join(part.source(names) for part in self._parts())})"

    def __str__(self) -> str:
        return f"{self.left} between {self.least} and {self.most}"


@dataclass(frozen=True, slots=True)
class Membership(_Condition):
    """Test that an operand is, or is not, one of several constants."""

    left: Operand
    values: tuple[Any, ...]
    negated: bool = False

    @property
    def iterative(self) -> bool:
        return self.left.iterative

    def holds(self, value: Any, ctx: Any) -> bool:
        left = self.left.of(value, ctx)
        if left is None:
            return False
        try:
            return (left in frozenset(self.values)) is not self.negated
        except Exception:  # what cannot be hashed
            return False

    def source(self, names: SourceNames) -> str:
        kept, values = names.temporary(), names.of(frozenset(self.values))
        word = "not in" if self.negated else "in"
        return f"(({kept} := {self.left.source(names)}) is not None and {kept} {word} {values})"

    def __str__(self) -> str:
        word = "not in" if self.negated else "in"
        return f"{self.left} {word} ({', '.join(str(Constant(value)) for value in self.values)})"


@dataclass(frozen=True, slots=True)
class IsNull(_Condition):
    """Test that an operand is missing, or is not missing."""

    left: Operand
    negated: bool = False

    @property
    def iterative(self) -> bool:
        return self.left.iterative

    def holds(self, value: Any, ctx: Any) -> bool:
        return (self.left.of(value, ctx) is None) is not self.negated

    def source(self, names: SourceNames) -> str:
        return f"({self.left.source(names)} {'is not' if self.negated else 'is'} None)"

    def __str__(self) -> str:
        return f"{self.left} is {'not ' if self.negated else ''}null"


@dataclass(frozen=True, slots=True)
class TextTest(_Condition):
    """Test that a text begins with, ends with or contains another text."""

    left: Operand
    op: str
    text: Operand

    @property
    def iterative(self) -> bool:
        return self.left.iterative or self.text.iterative

    def holds(self, value: Any, ctx: Any) -> bool:
        return text_test(self.op, self.left.of(value, ctx), self.text.of(value, ctx))

    def source(self, names: SourceNames) -> str:
        operands = f"{self.left.source(names)}, {self.text.source(names)}"
        return f"{names.of(text_test)}({names.of(self.op)}, {operands})"

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.text}"


@dataclass(frozen=True, slots=True)
class IsType(_Condition):
    """Test that an event's class, or one of its bases, has a name."""

    name: str
    iterative = False

    def holds(self, value: Any, ctx: Any) -> bool:
        kind: Any = type(value)
        return is_type(kind, self.name)

    def source(self, names: SourceNames) -> str:
        return f"{names.of(is_type)}(type(value), {names.of(self.name)})"

    def __str__(self) -> str:
        return f"is a {self.name}"


@dataclass(frozen=True, slots=True)
class Not(_Condition):
    """A condition that is true if another one is false."""

    part: Tree

    @property
    def iterative(self) -> bool:
        return self.part.iterative

    def holds(self, value: Any, ctx: Any) -> bool:
        return not self.part.holds(value, ctx)

    def source(self, names: SourceNames) -> str:
        return f"(not {self.part.source(names)})"

    def __str__(self) -> str:
        return f"not ({self.part})"


@dataclass(frozen=True, slots=True)
class Junction(_Condition):
    """A condition that is true if all, or any, of several conditions are true."""

    word: str
    """``and`` or ``or``."""
    parts: tuple[Tree, ...]

    @property
    def iterative(self) -> bool:
        return any(part.iterative for part in self.parts)

    def holds(self, value: Any, ctx: Any) -> bool:
        joined = all if self.word == "and" else any
        return joined(part.holds(value, ctx) for part in self.parts)

    def source(self, names: SourceNames) -> str:
        word = "and" if self.word == "and" else "or"
        return f"({f' {word} '.join(part.source(names) for part in self.parts)})"

    def __str__(self) -> str:
        return f" {self.word} ".join(
            f"({part})" if isinstance(part, Junction) else str(part) for part in self.parts
        )


Tree = Comparison | Between | Membership | IsNull | TextTest | IsType | Not | Junction


def _safely(function: Callable[[Any, Any], Any], left: Any, right: Any) -> bool:
    """Result of a comparison; false for values that cannot be ordered."""
    try:
        return bool(function(left, right))
    except Exception:
        return False


def text_test(op: str, left: Any, text: Any) -> bool:
    """Whether a text begins with, ends with or contains another text; false for values other
    than text."""
    if not (isinstance(left, str) and isinstance(text, str)):
        return False
    return TEXT_TESTS[op](left, text)


@lru_cache(1024)
def is_type(kind: Any, name: str) -> bool:
    """Whether a class or one of its bases has this name."""
    return any(base.__name__ == name for base in kind.__mro__)
