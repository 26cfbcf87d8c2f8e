"""Limit of the partial matches of a key, and the reaction when a key exceeds it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.runtime.cep.partial_match import Matches

__all__ = ["PartialMatchOverflow", "PartialMatchLimit"]


class PartialMatchOverflow(enum.Enum):
    """Reaction when a key has more partial matches of a pattern than allowed."""

    FAIL = "fail"
    """The job fails."""
    DROP = "drop"
    """The latest partial matches are dropped, and counted in ``numPartialMatchesDropped``."""


@dataclass(frozen=True, slots=True)
class PartialMatchLimit:
    """Maximum number of partial matches of one pattern for one key."""

    most: int
    on_overflow: PartialMatchOverflow = PartialMatchOverflow.FAIL

    def enforce(self, matches: Matches, operator: str, key: Any, rule: str) -> int:
        """Drop the partial matches beyond the limit, and return their number.

        Raises:
            JobExecutionError: there are too many partial matches, and the job fails in this case.
        """
        over = len(matches.partial) - self.most
        if over <= 0:
            return 0
        if self.on_overflow is PartialMatchOverflow.FAIL:
            of_rule = f" of rule {rule!r}" if rule else ""
            raise JobExecutionError(
                f"operator '{operator}': the key {key!r} has {self.most + over} partial matches"
                f"{of_rule}, more than the {self.most} that limit_partial_matches() allows. To "
                "have fewer, let within() end them, let until() end loops, make loops "
                "consecutive() or greedy(), or drop those that overlap a match with a skip "
                "strategy. Or drop the newest, with PartialMatchOverflow.DROP"
            )
        del matches.partial[self.most :]
        return over
