"""A process notes with which code it ends, however it ends by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.engine.exit_note import EXIT_NOTE, read_exit_note

ENDS = {
    "returns": ("note.code = 3; sys.exit(3)", 3),
    "os._exit": ("os._exit(0)", 0),
    "os._exit in a thread": (
        "import threading; threading.Thread(target=os._exit, args=(5,)).start(); time.sleep(60)",
        5,
    ),
    "-1, which is no signal": ("note.code = -1; sys.exit(-1)", 255),
    "a child lives longer": (
        "read, write = os.pipe()\n"
        "note.code = 0\n"
        "if os.fork() == 0:\n"
        "    os.close(write); os.read(read, 1)\n"  # until its parent has ended
        "    note.code = 7",
        0,
    ),
    "a child ends by os._exit": ("note.code = 0\nif os.fork() == 0: os._exit(7)\nos.wait()", 0),
}


@pytest.mark.parametrize("how", ENDS)
def test_a_process_that_ends_by_itself_says_with_which_code(tmp_path: Path, how: str) -> None:
    program, code = ENDS[how]
    begin = (
        "import os, sys, time; from millrace.engine.exit_note import PendingNote\n"
        f"note = PendingNote(); assert {EXIT_NOTE!r} not in os.environ\n"
    )
    path = tmp_path / "exit.json"
    with subprocess.Popen(
        [sys.executable, "-c", begin + program],
        env={**os.environ, EXIT_NOTE: str(path)},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.read()  # until its children have ended, too
        assert process.wait() == code
    note = read_exit_note(path)
    assert note is not None
    assert (note.pid, note.code) == (process.pid, code)


def test_a_process_that_is_killed_says_nothing(tmp_path: Path) -> None:
    program = (
        "import os, signal; from millrace.engine.exit_note import PendingNote\n"
        "note = PendingNote(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    path = tmp_path / "exit.json"
    environment = {**os.environ, EXIT_NOTE: str(path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert read_exit_note(path) is None
