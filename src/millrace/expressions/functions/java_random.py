"""`JavaRandom`: the random numbers of Java's ``java.util.Random`` for a seed."""

from __future__ import annotations

__all__ = ["JavaRandom"]

_MULTIPLIER, _INCREMENT, _MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1


class JavaRandom:
    """A 48-bit linear congruential generator.

    Args:
        seed: the same seed gives the same numbers.

    Example:
        >>> JavaRandom(42).next_double()
        0.7275636800328681
        >>> JavaRandom(1).next_integer(10)
        5
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK

    def next_double(self) -> float:
        """The next number, at least 0 and less than 1."""
        return ((self._next(26) << 27) + self._next(27)) * 2.0**-53

    def next_integer(self, bound: int) -> int:
        """The next integer, at least 0 and less than a bound, uniformly distributed.

        Raises:
            ValueError: the bound is not positive.
        """
        if bound <= 0:
            raise ValueError("bound must be positive")
        if bound & (bound - 1) == 0:
            return (bound * self._next(31)) >> 31
        while True:
            bits = self._next(31)
            number = bits % bound
            if bits - number + bound - 1 < 1 << 31:
                return number

    def _next(self, bits: int) -> int:
        self._state = (self._state * _MULTIPLIER + _INCREMENT) & _MASK
        return self._state >> (48 - bits)
