"""Variables of the functions that Spark's workers run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from millrace.spark.worker_environment import VARIABLE, WorkerEnvironment, variable_of_functions


def test_who_reads_the_variables_meanwhile_is_not_disturbed() -> None:
    """py4j hands a dictionary to the JVM key after key, in any thread that wraps a function."""
    context: Any = SimpleNamespace(environment={"A": "1", "B": "2"}, pythonExec="python")
    reading = iter(context.environment.items())
    assert next(reading) == ("A", "1")
    environment = WorkerEnvironment(search=("x",), executable="other")
    with environment.of_functions(context), variable_of_functions(context, "SLOT", "3"):
        assert context.pythonExec == "other"
        assert context.environment.keys() == {"A", "B", VARIABLE, "SLOT"}
        inside = iter(context.environment.items())
        assert next(inside) == ("A", "1")
    assert list(reading) == [("B", "2")]
    assert ("SLOT", "3") in list(inside)
    assert context.environment == {"A": "1", "B": "2"}
    assert context.pythonExec == "python"


def test_a_plain_environment_changes_nothing() -> None:
    context: Any = SimpleNamespace(environment={"A": "1"}, pythonExec="python")
    with WorkerEnvironment().of_functions(context):
        assert (context.environment, context.pythonExec) == ({"A": "1"}, "python")
