"""`RateLimiterStrategy`: limits the rate at which a generator source emits.

Flink docs: "DataGen connector", rate limiting. All arithmetic is exact: the time at which a record
is due and the number of records due at a time must agree, or a reader would be scheduled before it
may emit anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from millrace.common.errors import JobDefinitionError

__all__ = ["RateLimiterStrategy"]


@dataclass(frozen=True, slots=True)
class RateLimiterStrategy:
    """The maximum rate of a source, summed over its splits; created by `per_second` or `no_op`.

    >>> RateLimiterStrategy.per_second(4).due_offset(6)
    1500
    """

    records_per_second: Fraction | None = None
    """None for no limit."""

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """A limit of this number of records per second; fractions such as 0.1 are allowed.

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
        """A strategy without a limit."""
        return RateLimiterStrategy()

    def due_offset(self, ordinal: int) -> int:
        """Milliseconds from the start until record number ``ordinal`` (counted from 0) is due."""
        if self.records_per_second is None:
            return 0
        rate = self.records_per_second
        # rounded up
        return -(-ordinal * 1000 * rate.denominator // rate.numerator)

    def last_due(self, elapsed: int) -> int:
        """Number of the last record that is due ``elapsed`` ms after the start; requires a
        limit."""
        assert self.records_per_second is not None
        rate = self.records_per_second
        return elapsed * rate.numerator // (1000 * rate.denominator)
