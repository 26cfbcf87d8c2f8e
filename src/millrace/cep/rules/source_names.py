"""Variables for everything that generated source refers to.

Source is generated from validated trees only, and holds nothing of them but its own words: field
names, constants and functions are values of variables that are called ``v0``, ``v1`` and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["SourceNames"]


class SourceNames:
    """Names for values, and functions made of source that uses them.

    Example:
        >>> names = SourceNames()
        >>> source = f"value < {names.of(10)}"
        >>> below = names.function("value", source, lambda value: False)
        >>> below(5), below(20), below("text")
        (True, False, False)
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] = {
            # nothing but these: not even the other builtins
            "__builtins__": {"type": type, "dict": dict},
        }
        self._temporary = 0

    def of(self, value: Any) -> str:
        """A name for a value."""
        name = f"v{len(self._values)}"
        self._values[name] = value
        return name

    def temporary(self) -> str:
        """A name of a variable to keep something in."""
        self._temporary += 1
        return f"t{self._temporary}"

    def function(
        self, parameters: str, expression: str, otherwise: Callable[..., Any]
    ) -> Callable[..., Any]:
        """A function that returns whether the expression is true; if to find that out raises, what
        ``otherwise`` returns.

        Args:
            parameters: ``value``, or ``value, ctx``.
        """
        name = "condition"
        source = (
            f"def {name}({parameters}):\n"
            f"    try:\n"
            # the truth of what a comparison gives may raise as well, as of an array
            f"        return True if {expression} else False\n"
            f"    except {self.of(Exception)}:\n"
            f"        return {self.of(otherwise)}({parameters})\n"
        )
        exec(compile(source, "<condition of a rule>", "exec"), self._values)
        made: Callable[..., Any] = self._values.pop(name)
        return made
