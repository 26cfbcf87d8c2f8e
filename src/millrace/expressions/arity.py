"""`taken_arguments`: the number of arguments that a user function takes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

__all__ = ["Arity", "taken_arguments"]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class Arity:
    """The parameters of a function: their number and their names.

    Attributes:
        signature: signature in the form of `FunctionDefinition`; the arguments have any type.
        names: names of the parameters, for errors.
    """

    signature: tuple[str, ...] = ("<ANY>*",)
    names: tuple[str, ...] | None = None

    def takes(self, count: int) -> bool:
        """Whether the function can be called with this number of arguments.

        Example:
            >>> Arity(("<ANY>", "<ANY>?")).takes(2)
            True
        """
        least = sum(1 for parameter in self.signature if parameter[-1] not in "?*")
        repeated = any(parameter.endswith("*") for parameter in self.signature)
        return least <= count and (repeated or count <= len(self.signature))


def taken_arguments(function: Any, method: str, skipped: int = 0) -> Arity:
    """The arity of a user function. If its parameters are unknown, as with some functions written
    in C, any arguments are accepted.

    Args:
        method: name of the method that is called if the function is an object.
        skipped: number of leading parameters that are not arguments, such as the accumulator.

    Example:
        >>> taken_arguments(lambda a, b=1: a, "eval")
        Arity(signature=('<ANY>', '<ANY>?'), names=('a', '[b]'))
        >>> taken_arguments(lambda accumulator, *values: None, "accumulate", 1).signature
        ('<ANY>*',)
    """
    try:
        parameters = inspect.signature(getattr(function, method, function)).parameters.values()
    except (TypeError, ValueError):
        return Arity()
    arguments: list[tuple[str, str]] = []
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            arguments.append(("<ANY>*", f"{parameter.name}, ..."))
        elif parameter.kind in _POSITIONAL and parameter.default is inspect.Parameter.empty:
            arguments.append(("<ANY>", parameter.name))
        elif parameter.kind in _POSITIONAL:
            arguments.append(("<ANY>?", f"[{parameter.name}]"))
    if len(arguments) < skipped:
        return Arity()
    kept = arguments if arguments and arguments[0][0] == "<ANY>*" else arguments[skipped:]
    return Arity(tuple(kind for kind, _ in kept), tuple(name for _, name in kept))
