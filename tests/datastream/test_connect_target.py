"""What a Spark Connect server does not run is refused by name, before anything is started."""

from __future__ import annotations

import pytest

from millrace.common import Configuration
from millrace.common.errors import ConfigurationError, JobDefinitionError, JobExecutionError
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connect_target import connect_server
from millrace.testing import CollectingSink

URL = "sc://127.0.0.1:9/;token=secret"


class RunsSparkJobs(CollectingSink[int]):
    runs_spark_jobs = True


def environment(**settings: str) -> StreamExecutionEnvironment:
    named = {"spark.remote": URL, "execution.runtime-mode": "STREAMING"}
    configuration = Configuration(named | settings)
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def test_epochs_are_refused() -> None:
    env = environment(**{"millrace.executor": "epochs"})
    env.from_collection([1]).sink_to(CollectingSink())
    with pytest.raises(
        JobDefinitionError,
        match=r"millrace\.executor is 'epochs'.*the Spark Connect server sc://127\.0\.0\.1:9",
    ):
        env.execute()


def test_batch_mode_is_refused() -> None:
    env = environment(**{"execution.runtime-mode": "BATCH"})
    env.from_collection([1]).sink_to(CollectingSink())
    with pytest.raises(JobDefinitionError, match=r"runs in BATCH mode.*runtime-mode: STREAMING"):
        env.execute()


def test_a_sink_that_runs_spark_jobs_is_refused() -> None:
    env = environment()
    env.from_collection([1]).sink_to(RunsSparkJobs()).name("reports")
    with pytest.raises(JobDefinitionError, match="sink 'reports.*' runs Spark jobs"):
        env.execute()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("python.archives", "data.zip"),
        ("python.requirements", "requirements.txt"),
        ("python.executable", "/opt/python"),
        ("pipeline.jars", "a.jar"),
    ],
)
def test_what_is_not_shipped_is_refused(key: str, value: str) -> None:
    env = environment(**{key: value})
    env.from_collection([1]).sink_to(CollectingSink())
    with pytest.raises(ConfigurationError, match=f"{key} is set, which Spark Connect does not"):
        env.execute()


def test_a_server_that_does_not_answer() -> None:
    env = environment()
    env.from_collection([1]).sink_to(CollectingSink())
    with pytest.raises(JobExecutionError) as told:
        env.execute()
    assert "the Spark Connect server sc://127.0.0.1:9 does not answer" in str(told.value)
    assert "secret" not in str(told.value)


def test_a_plan_says_where_it_would_run() -> None:
    env = environment()
    env.from_collection([1]).sink_to(CollectingSink())
    assert "executor: resident: the job runs on the Spark Connect server sc://127.0.0.1:9" in (
        env.explain()
    )


def test_the_environment_names_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", URL)
    server = connect_server(Configuration())
    assert server is not None
    assert str(server) == "the Spark Connect server sc://127.0.0.1:9"
    assert connect_server(Configuration({"spark.master": "local[2]"})) is None


@pytest.mark.parametrize("url", ["local[2]", "spark://host:7077", "sc://host:port"])
def test_an_address_of_something_else_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"spark\.remote is .*address"):
        connect_server(Configuration({"spark.remote": url}))
