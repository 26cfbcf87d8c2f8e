"""Making the Spark application of a job."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from millrace.common import Configuration
from millrace.spark import session
from millrace.spark.job_application import task_failures


@pytest.fixture
def py4j() -> Iterator[logging.Logger]:
    logger = logging.getLogger("py4j")
    before = logger.level
    yield logger
    logger.setLevel(before)


def test_py4j_does_not_log_into_the_program(py4j: logging.Logger) -> None:
    """A program that logs to its standard output, as PyFlink's examples do, sees its own words."""
    py4j.setLevel(logging.NOTSET)
    session._quieten_py4j()
    assert py4j.getEffectiveLevel() == logging.WARNING


def test_who_wants_to_hear_py4j_does(py4j: logging.Logger) -> None:
    """A level of the user stays."""
    py4j.setLevel(logging.DEBUG)
    session._quieten_py4j()
    assert py4j.level == logging.DEBUG


def test_unix_sockets_are_left_off_where_paths_are_too_long() -> None:
    key = "spark.python.unix.domain.socket.enabled"
    masters = {"yarn": "false", "local[2]": "true", "spark://192.0.2.1:7077": "true"}
    for master, wanted in masters.items():
        assert session.spark_settings({"spark.master": master})[key] == wanted
    own = {"spark.master": "yarn", key: "true"}
    assert session.spark_settings(own)[key] == "true"


@pytest.mark.parametrize(
    ("executor", "spare", "master"),
    [
        ("auto", 2, "local[3,8]"),
        ("auto", 0, "local[1,4]"),
        ("epochs", 0, "local[1,4]"),
        ("resident", 2, "local[3,1000000]"),
    ],
)
def test_spark_repeats_a_task_for_ever_only_if_all_jobs_are_resident(
    executor: str, spare: int, master: str
) -> None:
    failures = task_failures(Configuration({"millrace.executor": executor}), spare)
    assert session.local_master(1, spare, failures) == master
