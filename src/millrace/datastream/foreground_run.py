"""Execution of a job for which the program waits, and the effect of Ctrl-C during the wait."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from threading import Thread, current_thread, main_thread
from typing import TypeVar

from millrace.common.job import JobExecutionResult
from millrace.datastream.error_display import show_user_errors_first
from millrace.engine.embedded_job_client import EmbeddedJobClient

__all__ = ["adopt_spark_session", "call_beside", "run_beside", "run_here"]

T = TypeVar("T")


def run_here(client: EmbeddedJobClient) -> JobExecutionResult:
    """Run a job in this thread. The user's functions run in it, too, so that Ctrl-C interrupts
    them. Raises the job's error."""
    show_user_errors_first()
    client.run()
    return client.result()


def run_beside(client: EmbeddedJobClient) -> JobExecutionResult:
    """Run a job in a thread of its own, and wait for it; raises the job's error.

    Ctrl-C, or another exception that a signal raises here, ends the job at once, so that it can be
    resumed, and then the program; pressed again, it does not wait for the job's end. In the thread
    that talks to the JVM it would come in the middle of a call.
    """
    show_user_errors_first()
    with _pythons_own_interrupt():
        try:
            client.start()
            return client.result()
        except Exception:
            raise
        except BaseException as signalled:
            client.interrupt()
            with suppress(Exception, KeyboardInterrupt):
                client.result()
            raise signalled from None


def call_beside(function: Callable[[], T]) -> T:
    """Call a function that talks to the JVM in a thread of its own, and wait for its result.

    A signal interrupts only the wait. In the thread that talks, its exception would come in the
    middle of a message, or of a clean-up by Python's garbage collector, which drops it.
    """
    result: Future[T] = Future()

    def call() -> None:
        try:
            result.set_result(function())
        except BaseException as error:
            result.set_exception(error)

    Thread(target=call, name="millrace-beside", daemon=True).start()
    return result.result()


def adopt_spark_session() -> None:
    """Make ``SparkSession.getActiveSession()`` in this thread return the session that a job's
    thread has made."""
    if "millrace.spark.session" not in sys.modules:  # PySpark stays out of programs without Spark
        return
    from millrace.spark.session import adopt_session

    with _signals_afterwards():
        adopt_session()


@contextmanager
def _signals_afterwards() -> Iterator[None]:
    """Context that handles Ctrl-C and SIGTERM only at its end. Otherwise their exceptions would
    interrupt a message to the JVM."""
    if current_thread() is not main_thread():
        yield
        return
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {n: handler for n in numbers if callable(handler := signal.getsignal(n))}
    try:
        for number in before:
            signal.signal(number, lambda number, frame: came.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for signal_number in came:
            signal.raise_signal(signal_number)


@contextmanager
def _pythons_own_interrupt() -> Iterator[None]:
    """Context in which Python's own handler of Ctrl-C replaces PySpark's, which would cancel all
    Spark jobs before the reason is known. A handler of the user stays."""
    before = signal.getsignal(signal.SIGINT)
    of_spark = str(getattr(before, "__module__", "")).startswith("pyspark.")
    if not of_spark or current_thread() is not main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
