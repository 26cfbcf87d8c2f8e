"""Signals before a job runs: one sentence, and the exit code of the signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from millrace.cli import dispatch
from millrace.cli.main import main
from millrace.cli.run import signal_behind
from millrace.cli.signals import Terminated

Start = Callable[..., "subprocess.Popen[str]"]
ENDS = [
    (signal.SIGINT, 130, "millrace: interrupted\n"),
    (signal.SIGTERM, 143, "millrace: ended by SIGTERM\n"),
]


@pytest.mark.parametrize(("number", "code", "sentence"), ENDS)
def test_a_command_ends_with_the_code_of_the_signal(
    number: signal.Signals,
    code: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tidied = []

    def interrupted(argv: Sequence[str]) -> int:
        try:
            os.kill(os.getpid(), number)
        finally:
            tidied.append(number)
        return 0

    monkeypatch.setattr(dispatch, "_run", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    assert main(["list"]) == code
    assert capsys.readouterr().err == sentence
    assert tidied == [number]
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(("number", "code", "sentence"), ENDS)
def test_while_its_modules_are_imported(
    number: signal.Signals, code: int, sentence: str, tmp_path: Path
) -> None:
    program = f"""
        import os, sys
        from millrace.cli.main import main

        class Killing:
            def find_spec(self, name, path, target=None):
                if name == "argparse":
                    os.kill(os.getpid(), {int(number)})

        sys.modules.pop("argparse", None)
        sys.meta_path.insert(0, Killing())
        sys.exit(main(["list"]))
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, sentence)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("number", "code", "sentence"),
    [pytest.param(*ENDS[0], marks=pytest.mark.torture), ENDS[1]],
)
def test_while_spark_starts(
    number: signal.Signals, code: int, sentence: str, start: Start, tmp_path: Path
) -> None:
    """In the middle of a call of the JVM, without a traceback of py4j."""
    (tmp_path / "job.py").write_text(
        dedent(
            f"""
            import os, threading, time
            from pyspark import SparkContext
            from millrace.datastream import StreamExecutionEnvironment

            def kill():
                while SparkContext._gateway is None:
                    time.sleep(0.001)
                time.sleep(0.3)
                os.kill(os.getpid(), {int(number)})

            threading.Thread(target=kill, daemon=True).start()
            env = StreamExecutionEnvironment.get_execution_environment()
            env.from_collection([1]).print()
            env.execute("one")
            """
        )
    )
    process = start("run", "job.py")
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out, err) == (code, "", sentence)


def test_an_error_of_pyspark_does_not_hide_the_signal() -> None:
    broken = type("Py4JError", (Exception,), {"__module__": "py4j.protocol"})
    for end, told in ((KeyboardInterrupt(), 130), (Terminated(), 143)):
        error = broken("the answer is None")
        error.__context__ = end
        behind = signal_behind(error)
        assert behind is not None
        assert behind[1] == told
        own = ValueError("of the program")
        own.__context__ = end
        assert signal_behind(own) is None
    assert signal_behind(broken("the answer is None")) is None
