"""Asking real workers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from millrace.common.config.configuration import Configuration
from millrace.filesystem.trial import StorageTrial
from millrace.spark.worker_probe import process_facts
from millrace.spark.worker_survey import SurveyError, _reason, survey_workers

pytestmark = pytest.mark.spark


def test_all_workers_tell_about_themselves(spark: Any, tmp_path: Path) -> None:
    trial = StorageTrial.begin(tmp_path)
    survey = survey_workers({}, Configuration(), trial.place, patience=300)
    assert survey.spark == spark.version
    assert len({report.pid for report in survey.reports}) == 2  # one for each core
    for report in survey.reports:
        assert report.executable == sys.executable
        assert report.packages == process_facts()["packages"]
        assert report.trial_error is None
        trial.verify(report.trial_name)
        low, high = survey.skews[report.host]
        assert low < 0 < high
    assert spark.sparkContext._jsc is not None  # it is not ours to stop


def test_workers_do_not_answer_in_time(spark: Any) -> None:
    with pytest.raises(SurveyError, match="did not answer within 0 s"):
        survey_workers({}, Configuration(), None, patience=0.01)


def test_a_dependency_is_missing(spark: Any, tmp_path: Path) -> None:
    missing = Configuration({"python.archives": str(tmp_path / "none.zip")})
    with pytest.raises(SurveyError, match="none.zip, given to add_python_archive"):
        survey_workers({}, missing, None, patience=300)


def test_another_spark_on_the_cluster() -> None:
    text = "An error occurred\njava.io.InvalidClassException: org.apache.spark.rdd.RDD; local class"
    assert (
        _reason(RuntimeError(text)) == "the executors run another version of Spark than the driver"
    )
