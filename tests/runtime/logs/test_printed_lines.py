"""What is printed is handed on line by line, whoever prints at the same time."""

from __future__ import annotations

import io
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import pytest

from millrace.runtime.logs.printed_lines import MOST_BEGUN, PrintedLines


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
    bar = "\r" + "#" * MOST_BEGUN
    for _ in range(3):
        print(bar, end="", file=out)
    assert lines == [bar, bar]
    out.finish()
    assert lines == [bar, bar, bar]


def test_a_long_line_comes_in_one_piece_and_with_one_end() -> None:
    lines: list[str] = []
    out = PrintedLines(io.StringIO(), lines.append)
    print("x" * 5_000, file=out)
    print("a" * 3_000, "b" * 3_000, 1, file=out)
    print("y" * (MOST_BEGUN + 1), file=out)
    assert lines == [
        "x" * 5_000,
        "a" * 3_000 + " " + "b" * 3_000 + " 1",
        "y" * (MOST_BEGUN + 1),
    ]


def test_what_a_thread_has_begun_is_not_lost_with_it() -> None:
    lines: list[str] = []
    out = PrintedLines(io.StringIO(), lines.append)
    for text in ("one", "two"):
        other = Thread(target=print, args=(text,), kwargs={"end": "", "flush": True, "file": out})
        other.start()
        other.join()
    assert lines == []
    out.finish()
    assert lines == ["one", "two"]
    out.finish()
    assert lines == ["one", "two"]


def test_what_a_thread_is_printing_is_not_cut() -> None:
    """Not by the end of another's task, unless it has stopped in the middle of the line."""
    lines: list[str] = []
    out = PrintedLines(io.StringIO(), lines.append)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(out.write, "half").result()
        out.finish()
        pool.submit(out.write, " a line\nand").result()
        assert lines == ["half a line"]
        out.finish()
        assert lines == ["half a line"]
        out.finish()
        assert lines == ["half a line", "and"]
        pool.submit(out.write, "more").result()
        out.finish(everything=True)
    assert lines == ["half a line", "and", "more"]


def test_the_end_of_a_line_that_was_finished_is_no_empty_line() -> None:
    lines: list[str] = []
    out = PrintedLines(io.StringIO(), lines.append)
    print("loading", end="", file=out)
    out.finish()
    print(file=out)
    print(file=out)
    print("done", file=out)
    assert lines == ["loading", "", "done"]


def test_what_cannot_be_taken_does_not_fail_who_finishes() -> None:
    def fail(line: str) -> None:
        raise OSError(line)

    out = PrintedLines(io.StringIO(), fail)
    print("lost", end="", file=out)
    out.finish()
    with pytest.raises(OSError, match="seen"):
        print("seen", file=out)


def test_what_takes_a_line_may_complain_to_it() -> None:
    """As logging's handlers do when they fail."""
    raw = io.StringIO()
    out = PrintedLines(raw, lambda line: print("no room for", line, file=out))
    print("this", file=out)
    print("that", file=out)
    assert raw.getvalue() == "no room for this\nno room for that\n"
    raw.close()
    print("nowhere", file=out)


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
