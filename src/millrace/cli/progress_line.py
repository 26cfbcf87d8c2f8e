"""The progress of a job in one line."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from millrace.cli.terminal import Terminal
from millrace.engine.job_details import JobDetails
from millrace.engine.running_epoch import describe_epoch, is_long

SCREEN_INTERVAL = 0.1
"""Seconds between two changes of the live line."""
LINE_INTERVAL = 5.0
"""Seconds between two lines where there is no terminal."""

_EPOCH = datetime.fromtimestamp(0, UTC)


class ProgressLine:
    """Listener of a job that shows a live line on a terminal, or prints a line every few
    seconds."""

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = time.monotonic) -> None:
        self._terminal = terminal
        self._clock = clock
        self._interval = SCREEN_INTERVAL if terminal.interactive else LINE_INTERVAL
        self._shown = clock()

    def __call__(self, progress: JobDetails) -> None:
        """Show the progress after an accepted epoch."""
        now = self._clock()
        if now - self._shown < self._interval:
            return
        self._shown = now
        line = describe(progress)
        if self._terminal.interactive:
            fits = len(line) <= self._terminal.width
            self._terminal.show(line if fits else line.replace("checkpoint ", "chk-"))
        else:
            self._terminal.say(line)

    def look(self, progress: JobDetails, now: int) -> None:
        """Show the progress within a long epoch; ``now`` in ms since the Unix epoch."""
        running, shown = progress.running, self._clock()
        if running is None or not is_long(running, now):
            return
        if self._terminal.interactive:
            self._terminal.show(describe_epoch(running, now))
        elif shown - self._shown >= self._interval:
            self._shown = shown
            self._terminal.say(describe_epoch(running, now))

    def follow(self, progress: Callable[[], JobDetails]) -> None:
        """Show the progress once a second until the job has ended."""
        while not (details := progress()).status.is_terminal_state():
            self.look(details, int(time.time() * 1000))
            time.sleep(1)


def describe(progress: JobDetails) -> str:
    """All known details of a job in one line.

    Example:
        >>> describe(JobDetails(epoch=7, records=12_000, records_per_second=4_000, checkpoint=6))
        '12,000 records  4,000/s  epoch 7  checkpoint 6'
    """
    parts = [f"{progress.records:,} records", f"{progress.records_per_second:,.0f}/s"]
    if progress.watermark is not None:
        parts.append(f"watermark {time_text(progress.watermark)}")
    parts.append(f"epoch {progress.epoch}")
    if progress.checkpoint is not None:
        parts.append(f"checkpoint {progress.checkpoint}")
    return "  ".join(parts)


def time_text(timestamp: int) -> str:
    """A point in event time (ms since the Unix epoch) as UTC; the number itself if it is no
    date."""
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp)
    except OverflowError:
        return str(timestamp)
    return f"{moment:%Y-%m-%d %H:%M:%S}"
