"""What a person is told when a job file fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.cli.failure_report import failure_report, spark_reason
from millrace.cli.printing import size_text
from millrace.cli.progress_line import time_text
from millrace.cli.run import run_job_file
from millrace.common.errors import (
    ConfigurationError,
    JobDefinitionError,
    JobExecutionError,
    UserFunctionError,
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.lease import Lease
from millrace.table.expressions import col


def caught(action: Callable[[], object]) -> BaseException:
    with pytest.raises(Exception) as info:  # noqa: PT011 (any error will do)
        action()
    return info.value


def test_a_user_function_is_told_by_operator_record_and_traceback() -> None:
    error = UserFunctionError("parse", "'x'", "Traceback ...\nValueError: not a number\n")
    assert failure_report(error) == (
        "a function of operator 'parse' failed\n"
        "  record: 'x'\n"
        "\n"
        "Traceback ...\n"
        "ValueError: not a number\n"
    )


def test_a_wrong_program_is_told_by_the_line_to_change() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    error = caught(lambda: env.from_collection([1]).map(3))  # type: ignore[arg-type]
    assert isinstance(error, JobDefinitionError)
    place, _, message = failure_report(error).partition(": ")
    assert place.startswith(f"{__file__}, line ")
    assert message == f"{error}\n"


def test_any_other_error_shows_its_traceback() -> None:
    report = failure_report(caught(lambda: int("x")))
    assert report.startswith("Traceback (most recent call last):\n")
    assert report.endswith("ValueError: invalid literal for int() with base 10: 'x'\n")


def test_an_error_inside_of_millrace_says_so() -> None:
    report = failure_report(caught(lambda: size_text("many")))  # type: ignore[arg-type]
    assert report.startswith("an error inside millrace; please report it with the log\n")


def test_a_syntax_error_of_the_job_file_is_its_authors(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("def broken(:\n    pass\n")
    report = failure_report(caught(lambda: run_job_file(job, [])))
    assert f'File "{job}", line 1\n    def broken(:\n' in report
    assert report.endswith("\nSyntaxError: invalid syntax\n")
    assert "inside millrace" not in report


def test_of_sparks_errors_only_the_first_line_is_shown() -> None:
    class Py4JJavaError(Exception):
        pass

    Py4JJavaError.__module__ = "py4j.protocol"

    message = "\n\tat ".join(["An error occurred.", "org.apache.spark.Task"])

    def fail() -> None:
        raise Py4JJavaError(message)

    report = failure_report(caught(fail))
    assert report.endswith("Py4JJavaError: An error occurred.\n")
    assert "org.apache" not in report


def test_what_led_to_our_errors_is_left_to_the_log() -> None:
    def fail() -> None:
        raise ConfigurationError("no Java") from OSError("py4j")

    assert "py4j" not in failure_report(caught(fail))


def test_our_own_bugs_are_called_so() -> None:
    report = failure_report(caught(lambda: time_text("soon")))  # type: ignore[arg-type]
    assert report.startswith("an error inside millrace; please report it with the log\n")
    assert "progress_line.py" not in report


def test_a_module_that_workers_lack_is_to_be_shipped() -> None:
    trace = "Traceback ...\nModuleNotFoundError: No module named 'helper'\n"
    for error in (UserFunctionError("map", None, trace), JobExecutionError(f"lost: {trace}")):
        told = failure_report(error)
        assert "do not have the module 'helper'" in told
        assert "--py-files" in told
    assert "--py-files" not in failure_report(UserFunctionError("map", None, "ValueError: x"))


def test_a_submodule_that_is_not_imported_on_the_worker() -> None:
    """cloudpickle ships a function with the modules it names, not with their submodules."""
    trace = "AttributeError: module 'concurrent' has no attribute 'futures'"
    told = failure_report(UserFunctionError("map", None, trace))
    assert "from concurrent import futures" in told
    other = "AttributeError: module 'concurrent' has no attribute 'future'"
    assert "workers" not in failure_report(UserFunctionError("map", None, other))


def test_a_query_fails_without_a_java_stack() -> None:
    java = "An error occurred.\n: java.lang.Error: no\n\tat org.apache.A\n\tat org.apache.B"
    assert spark_reason(ValueError(java)) == "An error occurred.\n: java.lang.Error: no"
    assert spark_reason(ValueError("[T] no table\n\nJVM stacktrace:\nA")) == "[T] no table"


def test_the_place_is_never_in_pythons_library(tmp_path: Path) -> None:
    """Errors of the lease pass through contextlib."""
    lease = Lease.acquire(tmp_path, "run-1")
    lease.release()
    report = failure_report(caught(lambda: lease.guard().__enter__()))
    assert "was released" in report
    assert report.startswith(f"{__file__}, line ")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("flatmap", "flat_map"), ("keyBy", "key_by"), ("fliter", "filter"), ("proces", "process")],
)
def test_a_misspelt_method_is_told_the_right_name(written: str, meant: str) -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    report = failure_report(caught(lambda: getattr(stream, written)))
    assert f"has no attribute '{written}'" in report
    assert f"Did you mean: '{meant}'?" in report


def test_a_misspelt_method_of_an_expression_is_the_programs_mistake() -> None:
    """`Expression.__getattr__` raises the error itself."""
    report = failure_report(caught(lambda: col("degrees").average))
    assert "inside millrace" not in report
    assert "did you mean 'avg'? A field of a row is .get('average')" in report


def test_an_attribute_that_resembles_none_is_told_as_it_is() -> None:
    error = caught(lambda: getattr(1, "quite" + "_different"))
    assert failure_report(error).endswith("has no attribute 'quite_different'\n")


def test_an_object_that_cannot_list_its_names_hides_no_error() -> None:
    class Lazy:
        def __dir__(self) -> list[str]:
            raise OSError("no connection")

    report = failure_report(caught(lambda: getattr(Lazy(), "flat" + "map")))
    assert report.endswith("'Lazy' object has no attribute 'flatmap'\n")
