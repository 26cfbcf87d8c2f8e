"""Notices of workers on the terminal."""

from __future__ import annotations

import io

from millrace.cli.launcher import MOST_LINES, NoticeLines
from millrace.cli.terminal import Terminal
from millrace.engine.job_details import JobDetails, JobNotice


def notice(text: str, **fields) -> JobNotice:
    made = JobNotice("WARNING", "millrace.statefun", text, "Call", (0,), 1_000, 1_000, 1)
    return made._replace(**fields)


def lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


def test_each_notice_is_a_line_once_in_the_order_of_time() -> None:
    stream = io.StringIO()
    told = NoticeLines(Terminal(stream))
    listening = notice("it listens on port 8090", level="INFO", operator=None)
    silent = notice("no answer for 5 s", first=2_000)
    told(JobDetails())
    told(JobDetails(notices=(silent, listening)))
    told(JobDetails(notices=(silent._replace(text="no answer for 10 s", times=2), listening)))
    assert lines(stream) == [
        "millrace: it listens on port 8090",
        "millrace: warning of operator 'Call': no answer for 5 s",
    ]


def test_what_functions_log_is_in_the_log_only() -> None:
    stream = io.StringIO()
    NoticeLines(Terminal(stream))(JobDetails(notices=(notice("cheap", logger="shop"),)))
    assert lines(stream) == []


def test_a_job_does_not_fill_the_terminal() -> None:
    stream = io.StringIO()
    told = NoticeLines(Terminal(stream))
    for number in range(2 * MOST_LINES):
        told(JobDetails(notices=(notice("x" * number + "\nsecond line"),)))
    assert len(lines(stream)) == MOST_LINES
    assert lines(stream)[-1].endswith(" " + "x" * (MOST_LINES - 1))


def test_control_characters_of_a_record_do_not_reach_the_terminal() -> None:
    stream = io.StringIO()
    told = NoticeLines(Terminal(stream))
    told(JobDetails(notices=(notice("key \x1b[2J\rx"), notice("\x1b]0;x\x07", level="INFO"))))
    assert not {"\x1b", "\x07", "\r"} & set(stream.getvalue())
    assert lines(stream)[-1] == "millrace: warning of operator 'Call': key �[2J�x"
