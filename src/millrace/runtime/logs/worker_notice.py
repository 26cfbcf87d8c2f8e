"""A notice in the form in which it travels from a worker to the driver."""

from __future__ import annotations

import logging
import re
from typing import Any, NamedTuple

__all__ = ["WorkerNotice", "without_numbers"]

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def without_numbers(text: str) -> str:
    """A text with each number replaced by a mark.

    Example:
        >>> without_numbers("no answer of host:80 for 10.5 s")
        'no answer of host:# for # s'
    """
    return _NUMBER.sub("#", text)


class WorkerNotice(NamedTuple):
    """Equal notices of a worker since its last acknowledgement."""

    level: int
    """Level of the log record."""
    logger: str
    text: str
    """Text of the newest one."""
    operator: str | None
    """Name of the operator; None if it is not known."""
    subtasks: tuple[int, ...]
    """Subtasks that have told it, as far as they are known."""
    first: int
    """Time of the first one, ms since the Unix epoch."""
    last: int
    times: int

    @property
    def kind(self) -> tuple[Any, ...]:
        """Properties that notices of one kind have in common. In warnings, numbers such as
        counts and durations are ignored. In notices on purpose, numbers such as a port are not
        ignored."""
        text = self.text if self.level < logging.WARNING else without_numbers(self.text)
        return self.level, self.logger, self.operator, text

    def joined(self, later: WorkerNotice) -> WorkerNotice:
        """Both notices as one, with the text of the later one."""
        subtasks = tuple(sorted({*self.subtasks, *later.subtasks}))
        times = self.times + later.times
        return later._replace(subtasks=subtasks, first=self.first, times=times)
