"""Functions of numbers. Flink docs, "System (Built-in) Functions": arithmetic functions."""

from __future__ import annotations

from typing import Any, Self

from millrace.table.calls.call_builder import CallBuilder, node_of

__all__ = ["MathematicalFunctions"]


class MathematicalFunctions(CallBuilder):
    """Functions of numbers."""

    __slots__ = ()

    @property
    def exp(self) -> Self:
        """e to the power of the number."""
        return self._call("EXP")

    @property
    def log10(self) -> Self:
        """Logarithm to the base 10."""
        return self._call("LOG10")

    @property
    def log2(self) -> Self:
        """Logarithm to the base 2."""
        return self._call("LOG2")

    @property
    def ln(self) -> Self:
        """Natural logarithm."""
        return self._call("LN")

    def log(self, base: Any = None) -> Self:
        """Logarithm, natural or to a base."""
        return self._call("LOG") if base is None else self._made(node_of(base))._call("LOG", self)

    @property
    def cosh(self) -> Self:
        """Hyperbolic cosine."""
        return self._call("COSH")

    @property
    def sinh(self) -> Self:
        """Hyperbolic sine."""
        return self._call("SINH")

    @property
    def tanh(self) -> Self:
        """Hyperbolic tangent."""
        return self._call("TANH")

    @property
    def sin(self) -> Self:
        """Sine."""
        return self._call("SIN")

    @property
    def cos(self) -> Self:
        """Cosine."""
        return self._call("COS")

    @property
    def tan(self) -> Self:
        """Tangent."""
        return self._call("TAN")

    @property
    def cot(self) -> Self:
        """Cotangent."""
        return self._call("COT")

    @property
    def asin(self) -> Self:
        """Arc sine."""
        return self._call("ASIN")

    @property
    def acos(self) -> Self:
        """Arc cosine."""
        return self._call("ACOS")

    @property
    def atan(self) -> Self:
        """Arc tangent."""
        return self._call("ATAN")

    @property
    def degrees(self) -> Self:
        """The angle in degrees, from radians."""
        return self._call("DEGREES")

    @property
    def radians(self) -> Self:
        """The angle in radians, from degrees."""
        return self._call("RADIANS")

    @property
    def sqrt(self) -> Self:
        """Square root."""
        return self._call("SQRT")

    @property
    def abs(self) -> Self:
        """Absolute value."""
        return self._call("ABS")

    @property
    def sign(self) -> Self:
        """Sign of the number: -1, 0 or 1."""
        return self._call("SIGN")

    def round(self, places: Any) -> Self:
        """The number rounded to a number of decimal places."""
        return self._call("ROUND", places)

    def truncate(self, n: Any = 0) -> Self:
        """The number cut off after a number of decimal places."""
        return self._call("TRUNCATE", n)

    @property
    def bin(self) -> Self:
        """The whole number in binary digits."""
        return self._call("BIN")

    @property
    def hex(self) -> Self:
        """The whole number or text in hexadecimal digits."""
        return self._call("HEX")

    @property
    def unhex(self) -> Self:
        """The bytes of hexadecimal digits."""
        return self._call("UNHEX")
