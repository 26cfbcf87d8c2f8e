"""The filter between a JVM's errors and the terminal; shells stand for the JVM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.spark.error_filter import filtered_errors

INCUBATOR = b"WARNING: Using incubator modules: jdk.incubator.vector\n"
PICKED_UP = b"Picked up JAVA_TOOL_OPTIONS: -Da=b\n"


def shown_of(said: list[bytes]) -> bytes:
    sees, shows = os.pipe()
    with filtered_errors(shows) as says:
        for chunk in said:
            os.write(says, chunk)
    os.close(shows)
    with open(sees, "rb") as terminal:
        return terminal.read()


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ([INCUBATOR], b""),
        ([INCUBATOR, b"no memory\n", b"25 %\r"], b"no memory\n25 %\r"),
        ([INCUBATOR[:9], INCUBATOR[9:20], INCUBATOR[20:] + b"x"], b"x"),
        ([b"WARNING: slow\n", INCUBATOR], b"WARNING: slow\n" + INCUBATOR),
        ([PICKED_UP, INCUBATOR, b"x\n"], PICKED_UP + b"x\n"),
        ([PICKED_UP, PICKED_UP, b" a\\n%s\n", INCUBATOR], 2 * PICKED_UP + b" a\\n%s\n" + INCUBATOR),
        ([b"WARNING: "], b"WARNING: "),
        ([b"no line"], b"no line"),
        ([b"\xff\xfe\n\x00\xff", b"\x01" * 70_000], b"\xff\xfe\n\x00\xff" + b"\x01" * 70_000),
        ([], b""),
    ],
)
def test_javas_warning_of_sparks_own_choice_is_not_shown(said: list[bytes], shown: bytes) -> None:
    assert shown_of(said) == shown


def test_what_a_jvm_says_is_shown_before_it_ends() -> None:
    sees, shows = os.pipe()
    with filtered_errors(shows) as says:
        os.write(says, INCUBATOR + b"x")
        assert os.read(sees, 100) == b"x"
        os.write(says, b"25 %\r")
        assert os.read(sees, 100) == b"25 %\r"
    os.close(shows)
    os.close(sees)


def test_what_a_jvm_said_stands_above_the_error_of_its_start(tmp_path: Path) -> None:
    said = tmp_path / "said"

    def start(terminal: int) -> None:
        with filtered_errors(terminal) as says:
            os.write(says, INCUBATOR + b"no memory\n")
            raise ValueError("did not start")

    with said.open("wb") as file, pytest.raises(ValueError, match="did not start"):
        start(file.fileno())
    assert said.read_bytes() == b"no memory\n"


def printed_by(program: str) -> str:
    ran = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    return ran.stdout.decode()


WITHOUT_TERMINAL = """
import os
from millrace.spark.error_filter import filtered_errors
os.close(2)
with filtered_errors() as says:
    os.write(says, b"first\\nlast\\n")
print(os.waitstatus_to_exitcode(os.waitpid(-1, 0)[1]))
"""


def test_a_process_without_a_terminal_has_none() -> None:
    """The pipe may have the terminal's number, but is none."""
    assert printed_by(WITHOUT_TERMINAL) == "0\n"


def test_whoever_writes_does_not_feel_that_the_terminal_has_gone() -> None:
    sees, shows = os.pipe()
    with filtered_errors(shows) as says:
        os.close(shows)
        os.write(says, b"first\n")
        assert os.read(sees, 100) == b"first\n"
        os.close(sees)
        for _ in range(20):  # more than a pipe holds
            os.write(says, b"x" * 70_000)


TWO_FILTERS = """
import os
from millrace.spark.error_filter import filtered_errors
with filtered_errors():
    pass
first = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_pid
with filtered_errors():
    try:
        os.waitpid(first, os.WNOHANG)
    except ChildProcessError:
        print("reaped")
"""


def test_a_filter_that_has_ended_is_no_zombie_once_another_one_starts() -> None:
    assert printed_by(TWO_FILTERS) == "reaped\n"


DRIVER = """
import os, subprocess, sys
from millrace.spark.error_filter import filtered_errors
with filtered_errors() as errors:
    jvm = "echo first >&2; read line; echo last words >&2"
    subprocess.Popen(["sh", "-c", jvm], stdin=0, stderr=errors, start_new_session=True)
print("started", flush=True)
if sys.argv[1] == "waits":
    os.read(int(sys.argv[2]), 1)
"""


@pytest.mark.parametrize(
    "number", [None, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
)
def test_the_last_words_of_a_jvm_are_shown_whatever_ended_its_driver(number: int | None) -> None:
    """Also if a signal goes to all processes that the terminal started."""
    never, held = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, "ends" if number is None else "waits", str(never)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(never,),
        start_new_session=True,
    ) as driver:
        assert driver.stdin is not None
        assert driver.stdout is not None
        assert driver.stderr is not None
        assert driver.stdout.readline() == b"started\n"
        assert driver.stderr.readline() == b"first\n"
        if number is not None:
            os.killpg(driver.pid, number)
        driver.wait(60)
        driver.stdin.write(b"\n")
        driver.stdin.flush()
        assert driver.stderr.read().endswith(b"last words\n")
    os.close(never)
    os.close(held)
