"""Variables of generated source: safe names for all values that it refers to.

Source is generated from validated trees only, and contains no text of theirs: field names,
constants and functions are values of variables that are called ``v0``, ``v1`` and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["SourceNames"]


class SourceNames:
    """Names of values, and compilation of source that uses these names.

    Example:
        >>> names = SourceNames()
        >>> source = f"value < {names.of(10)}"
        >>> below = names.function("value", source, lambda value: False)
        >>> below(5), below(20), below("text")
        (True, False, False)
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] = {
            # no other builtins
            "__builtins__": {"type": type, "dict": dict},
        }
        self._temporary = 0

    def of(self, value: Any) -> str:
        """The name of a new variable with this value."""
        name = f"v{len(self._values)}"
        self._values[name] = value
        return name

    def temporary(self) -> str:
        """The name of a new local variable, for an assignment expression."""
        self._temporary += 1
        return f"t{self._temporary}"

    def function(
        self, parameters: str, expression: str, otherwise: Callable[..., Any]
    ) -> Callable[..., Any]:
        """Compile a function that returns whether an expression is true. If the evaluation raises
        an error, the function returns the result of ``otherwise``.

        Args:
            parameters: ``value``, or ``value, ctx``.
        """
        name = "condition"
        source = (
            f"def {name}({parameters}):\n"
            f"    try:\n"
            # the truth of a comparison's result may raise as well, such as that of an array
            f"        return True if {expression} else False\n"
            f"    except {self.of(Exception)}:\n"
            f"        return {self.of(otherwise)}({parameters})\n"
        )
        exec(compile(source, "<condition of a rule>", "exec"), self._values)
        made: Callable[..., Any] = self._values.pop(name)
        return made
