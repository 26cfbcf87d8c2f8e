"""How fast a generator may emit. Flink docs: "DataGen connector", rate limiting.

Whole numbers throughout: the time a record is due and the number of records due at a time must
agree exactly, or a reader would be woken for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from millrace.common.errors import JobDefinitionError

__all__ = ["RateLimiterStrategy"]


@dataclass(frozen=True, slots=True)
class RateLimiterStrategy:
    """The rate of a source, over all its splits; made by `per_second` or `no_op`.

    >>> RateLimiterStrategy.per_second(4).due_offset(6)
    1500
    """

    records_per_second: Fraction | None = None

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """At most this many records per second; fractions such as 0.1 are allowed.

        Raises:
            JobDefinitionError: the rate is not positive.
        """
        rate = Fraction(records_per_second).limit_denominator(1_000_000)
        if rate <= 0:
            raise JobDefinitionError(
                f"a rate limit must be positive, not {records_per_second!r} records per second; "
                "RateLimiterStrategy.no_op() lifts the limit"
            )
        return RateLimiterStrategy(rate)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """No limit."""
        return RateLimiterStrategy()

    def due_offset(self, ordinal: int) -> int:
        """Milliseconds from the start until record ``ordinal`` (from 0) of the source is due."""
        if self.records_per_second is None:
            return 0
        rate = self.records_per_second
        return -(-ordinal * 1000 * rate.denominator // rate.numerator)

    def last_due(self, elapsed: int) -> int:
        """The last ordinal that is due ``elapsed`` milliseconds after the start; needs a rate."""
        assert self.records_per_second is not None
        rate = self.records_per_second
        return elapsed * rate.numerator // (1000 * rate.denominator)
