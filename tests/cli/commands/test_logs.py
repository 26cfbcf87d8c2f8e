"""Following a log: until its job has ended and all of it was shown."""

from __future__ import annotations

from millrace.cli.commands.logs import follow_log


class _Job:
    """Writes a line each time that somebody waits for its end, and one more as it ends."""

    def __init__(self, lines: int) -> None:
        self.written = "first\n"
        self.lines = lines

    def read(self, offset: int) -> tuple[str, int]:
        start = max(0, len(self.written) + offset) if offset < 0 else offset
        return self.written[start:], len(self.written)

    def await_end(self, timeout: float) -> bool:
        self.lines -= 1
        self.written += "more\n" if self.lines else "last\n"
        return not self.lines


def test_a_log_is_followed_until_its_job_has_ended(capsys) -> None:
    job = _Job(3)
    follow_log(job.read, 0, job.await_end)
    assert capsys.readouterr().out == "first\nmore\nmore\nlast\n"


def test_a_log_that_is_not_followed_is_shown_to_its_end(capsys) -> None:
    job = _Job(3)
    follow_log(job.read, -3, None)
    assert capsys.readouterr().out == "st\n"
