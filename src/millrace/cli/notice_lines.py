"""Notices of a job's workers as lines on the terminal."""

from __future__ import annotations

from millrace.cli.printing import printable
from millrace.cli.terminal import Terminal
from millrace.engine.job_details import JobDetails, JobNotice
from millrace.runtime.logs.worker_notice import without_numbers

__all__ = ["NoticeLines"]

MOST_LINES = 20
"""Maximum number of lines for a job; the log has all."""
_OURS = "millrace."


class NoticeLines:
    """Listener of a job that prints each of Millrace's notices once. What functions of the program
    log is in the log only."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._told: set[tuple[str, str, str | None, str]] = set()

    def __call__(self, details: JobDetails) -> None:
        """Print the notices that are new."""
        for notice in reversed(details.notices):
            text = notice.text if notice.level == "INFO" else without_numbers(notice.text)
            key = (notice.level, notice.logger, notice.operator, text)
            is_new = key not in self._told and notice.logger.startswith(_OURS)
            if is_new and len(self._told) < MOST_LINES:
                self._told.add(key)
                self._terminal.say(notice_line(notice))


def notice_line(notice: JobNotice) -> str:
    """A notice as a line. Warnings name their operator. Control characters in it, which may come
    from records, are replaced.

    Example:
        >>> notice_line(JobNotice("INFO", "millrace.x", "it listens", "In", (0,), 1, 1, 1))
        'it listens'
        >>> notice_line(JobNotice("WARNING", "millrace.x", "no answer", "Call", (0,), 1, 9, 3))
        "warning of operator 'Call': no answer"
    """
    text = notice.text.partition("\n")[0]
    if notice.level == "INFO":
        return printable(text)
    where = "" if notice.operator is None else f" of operator '{notice.operator}'"
    return printable(f"{notice.level.lower()}{where}: {text}")
