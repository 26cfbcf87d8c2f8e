"""What is printed is handed on line by line, whoever prints at the same time."""

from __future__ import annotations

import io
import sys
from threading import Thread

from millrace.runtime.logs.printed_lines import MOST_CHARACTERS, PrintedLines


def test_a_line_comes_in_one_piece() -> None:
    lines: list[str] = []
    out = PrintedLines(io.StringIO(), lines.append)
    print("half", end="", file=out)
    print(" a", "line", 1, file=out)
    print("two\nmore", file=out)
    assert lines == ["half a line 1", "two", "more"]


def test_threads_do_not_get_between_the_pieces_of_a_line() -> None:
    lines: list[str] = []
    out = PrintedLines(io.StringIO(), lines.append)
    print("mine", end=" ", file=out)
    other = Thread(target=print, args=("theirs",), kwargs={"file": out})
    other.start()
    other.join()
    print("too", file=out)
    assert lines == ["theirs", "mine too"]


def test_a_line_that_never_ends_is_taken_in_pieces() -> None:
    lines: list[str] = []
    out = PrintedLines(io.StringIO(), lines.append)
    for _ in range(3):
        print("\r" + "#" * MOST_CHARACTERS, end="", file=out)
    assert len(lines) == 3


def test_it_is_still_the_output_of_the_process(tmp_path) -> None:
    with open(tmp_path / "out", "w", encoding="utf-8") as file:
        out = PrintedLines(file, lambda line: None)
        assert (out.encoding, out.errors) == ("utf-8", "strict")
        assert out.fileno() == file.fileno()
        assert not out.isatty()
        out.buffer.write(b"as it is")
        out.flush()
    assert (tmp_path / "out").read_bytes() == b"as it is"


def test_a_function_that_replaces_the_stream_can_put_it_back(monkeypatch) -> None:
    lines: list[str] = []
    out = PrintedLines(io.StringIO(), lines.append)
    monkeypatch.setattr(sys, "stdout", out)
    before, sys.stdout = sys.stdout, io.StringIO()
    print("kept by the function")
    sys.stdout = before
    print("seen")
    assert lines == ["seen"]
