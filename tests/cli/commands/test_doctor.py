"""``millrace doctor`` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from millrace.cli.doctor.examination import Examination
from millrace.spark.gateway import LOG_VARIABLE


@pytest.fixture(autouse=True)
def here(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its log goes to the state directory of the test."""
    monkeypatch.setenv(LOG_VARIABLE, str(place.directory / "doctor.log"))


@pytest.mark.turns(7)
@pytest.mark.spark
def test_all_is_well_on_local_spark(spark: Any, millrace: Any, tmp_path: Path) -> None:
    directory = tmp_path / "checkpoints"
    told = millrace("doctor", "--json", "--checkpoint-dir", directory, "--timeout", 300)
    results = json.loads(told.out)
    assert [r for r in results if r["severity"] == "failure"] == []
    assert told.code == 0
    named = {result["check"]: result["found"] for result in results}
    assert named["checkpoint directory"] == f"{directory}: driver and 2 workers share it"
    assert named["Spark"] == spark.version
    assert "2 workers on 1 host" in named["workers' Python"]
    assert list(directory.iterdir()) == []


def test_what_is_wrong_is_said_before_spark_is_asked(millrace: Any) -> None:
    told = millrace("doctor", "--master", "yern")
    assert told.code == 1
    lines = told.out.splitlines()
    assert "failure  Spark master           'yern' is not a Spark master" in lines
    assert lines[-3].startswith("failure  workers")
    assert lines[-1].endswith("2 failures")


def test_a_directory_that_workers_cannot_reach(
    millrace: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The directory is judged even if Spark does not start."""
    from millrace.spark import worker_survey

    def refuse(*_: Any) -> Any:
        raise worker_survey.SurveyError("no executor came")

    monkeypatch.setattr(worker_survey, "survey_workers", refuse)
    (tmp_path / "file").touch()
    told = millrace("doctor", "--json", "--checkpoint-dir", tmp_path / "file")
    assert told.code == 1
    failures = {r["check"]: r for r in json.loads(told.out) if r["severity"] == "failure"}
    assert failures["workers"]["found"] == "no executor came"
    assert failures["workers"]["fix"].startswith("Look into the executors' logs")
    assert "cannot be written" in failures["checkpoint directory"]["found"]


def test_a_cure_that_is_known_is_told(millrace: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from millrace.spark import worker_survey

    def refuse(*_: Any) -> Any:
        raise worker_survey.SurveyError("the workers' Python is 3.12", "Set PYSPARK_PYTHON.")

    monkeypatch.setattr(worker_survey, "survey_workers", refuse)
    lines = millrace("doctor").out.splitlines()
    assert "failure  workers                the workers' Python is 3.12" in lines
    assert "         -> Set PYSPARK_PYTHON." in lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--conf", "parallelism"], "is not of the form key=value"),
        (["--conf", "paralelism.default=2"], "did you mean 'parallelism.default'?"),
        (["--conf", "parallelism.default=many"], "parallelism.default"),
    ],
)
def test_wrong_usage(words: list[str], message: str, millrace: Any) -> None:
    told = millrace("doctor", *words)
    assert (told.code, message in told.err) == (2, True)


def test_a_cluster_is_told_how_to_find_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    from millrace.common.config.configuration import Configuration

    settings = {"spark.master": "spark://elsewhere:1", "spark.driver.host": "localhost"}
    found = Examination(Configuration(settings), "/checkpoints")._this_machine(settings)
    found_by_check = {result.check: result.found for result in found}
    assert "other machines cannot reach" in found_by_check["host name"]


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_a_port_that_is_none(millrace: Any, port: str) -> None:
    told = millrace("doctor", f"--port={port}")
    assert told.code == 2
    assert f"invalid port value: '{port}'" in told.err
