"""One live line that gives way to all other output."""

from __future__ import annotations

import io
import sys

import pytest

from millrace.cli.terminal import CLEAR_LINE, Terminal, sharing_stdout


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


class ScreenOutput(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def test_the_live_line_is_removed_before_something_is_said() -> None:
    screen = Screen()
    terminal = Terminal(screen)
    terminal.show("10 records")
    terminal.say("stopping")
    assert screen.getvalue() == f"{CLEAR_LINE}10 records{CLEAR_LINE}millrace: stopping\n"


def test_a_live_line_replaces_the_one_before() -> None:
    screen = Screen()
    terminal = Terminal(screen)
    terminal.show("10 records")
    terminal.show("20 records")
    assert screen.getvalue().endswith(f"{CLEAR_LINE}20 records")


def test_a_live_line_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    screen = Screen()
    Terminal(screen).show("0123456789")
    assert screen.getvalue() == f"{CLEAR_LINE}012345678"


def test_no_live_line_in_the_middle_of_other_output() -> None:
    screen = Screen()
    terminal = Terminal(screen)
    terminal.note_output("half a li")
    terminal.show("10 records")
    assert screen.getvalue() == ""
    terminal.note_output("ne\n")
    terminal.show("10 records")
    assert screen.getvalue() == f"{CLEAR_LINE}10 records"


def test_printing_removes_the_live_line(monkeypatch: pytest.MonkeyPatch) -> None:
    errors, output = Screen(), ScreenOutput(io.BytesIO(), "utf-8")
    monkeypatch.setattr(sys, "stdout", output)
    terminal = Terminal(errors)
    with sharing_stdout(terminal):
        terminal.show("10 records")
        print("a result")
    assert errors.getvalue() == f"{CLEAR_LINE}10 records{CLEAR_LINE}"
    assert sys.stdout is output
    assert output.buffer.getvalue() == b"a result\n"


def test_output_that_goes_elsewhere_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.StringIO()
    monkeypatch.setattr(sys, "stdout", output)
    with sharing_stdout(Terminal(Screen())):
        assert sys.stdout is output
