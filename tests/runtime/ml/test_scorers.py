"""Scorers: what models get and give, and when two models are the same."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.logical.parser import parse_type
from millrace.runtime.ml.feature_stages import AssembledVector, Buckets, ScaledVector
from millrace.runtime.ml.model_version import model_version
from millrace.runtime.ml.prediction_stages import LinearNumbers
from millrace.runtime.ml.scorers import PredictScorer, StagedScorer


def columns(text: str) -> RowType:
    found = parse_type(f"ROW<{text}>")
    assert isinstance(found, RowType)
    return found


def line(*coefficients: float) -> LinearNumbers:
    return LinearNumbers("features", "prediction", np.array(coefficients), 1.0)


def test_stages_read_numbers_vectors_and_nulls() -> None:
    both = AssembledVector(("v", "n"), "features")
    scorer = StagedScorer(
        [both, line(1.0, 10.0, 100.0)], columns("v ARRAY<DOUBLE>, n INT"), columns("prediction INT")
    )
    batch = pa.record_batch({"v": [[1, 2], [3, 4]], "n": [5, 6]})
    assert scorer.score(batch)[0].to_pylist() == [522, 644]
    for wrong, reason in (
        ({"v": [[1.0], [1.0, 2.0]], "n": [1, 1]}, "have different lengths"),
        ({"v": [[1.0, 2.0]], "n": pa.array([None], pa.int32())}, "'n' has a NULL or NaN"),
    ):
        with pytest.raises(JobExecutionError, match=reason):
            scorer.score(pa.record_batch(wrong))


def test_what_spark_does_not_say_by_its_own_tests() -> None:
    """Values at the ends of ranges, outside of them, and missing ones that are kept."""
    splits = (np.array([0.0, 1.0, 2.0]),)
    kept = Buckets(("x",), ("b",), splits, keep_missing=True)
    scorer = StagedScorer([kept], columns("x DOUBLE"), columns("b DOUBLE"))
    batch = pa.record_batch({"x": pa.array([0.0, 1.0, 2.0, None], pa.float64())})
    assert scorer.score(batch)[0].to_pylist() == [0.0, 1.0, 1.0, 2.0]
    with pytest.raises(JobExecutionError, match="in no range"):
        scorer.score(pa.record_batch({"x": [2.5]}))


def test_columns_that_do_not_go_with_the_stages_are_refused_at_once() -> None:
    with pytest.raises(JobDefinitionError, match="reads the column 'features'; there are x"):
        StagedScorer([line(1.0)], columns("x DOUBLE"), columns("prediction DOUBLE"))
    both = [AssembledVector(("x",), "features"), line(1.0)]
    with pytest.raises(JobDefinitionError, match="column 'guess'"):
        StagedScorer(both, columns("x DOUBLE"), columns("guess DOUBLE"))


@dataclass
class Guess:
    value: float
    names: frozenset[str] = frozenset({"a", "b", "c"})

    def predict(self, batch: Any) -> Any:
        return np.full(len(batch), self.value)


def test_versions_are_of_the_content() -> None:
    scale = ScaledVector("a", "b", np.zeros(2), np.ones(2), 0.0, np.full(2, np.nan))
    assert model_version([scale]) == model_version([scale])
    assert model_version([line(1.0)]) != model_version([line(np.nextafter(1.0, 2.0))])
    kind = columns("y DOUBLE")
    assert PredictScorer(Guess(1.0), kind).version == PredictScorer(Guess(1.0), kind).version
    assert PredictScorer(Guess(1.0), kind).version != PredictScorer(Guess(2.0), kind).version
    assert PredictScorer(Guess(1.0), kind, version="v7").version == "v7"


def test_another_process_finds_the_same_version() -> None:
    program = (
        "import numpy as np\n"
        "from millrace.runtime.ml.model_version import model_version\n"
        "from collections import OrderedDict\n"
        "print(model_version([OrderedDict(a=1, b=np.arange(3.0)), {'x': 'y'}, slice(1, 2)]))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_a_wrong_number_of_values_is_told() -> None:
    class Short:
        def predict(self, batch: Any) -> list[float]:
            return [1.0]

    scorer = PredictScorer(Short(), columns("y DOUBLE"), batch_format="arrow")
    with pytest.raises(JobExecutionError, match="1 values of 'y' for 2 rows"):
        scorer.score(pa.record_batch({"x": [1.0, 2.0]}))
    with pytest.raises(JobDefinitionError, match="one of pandas, arrow, numpy, polars"):
        PredictScorer(Short(), columns("y DOUBLE"), batch_format="csv")


class Answer:
    """A model that gives what it was made with."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def predict(self, batch: Any) -> Any:
        return self.given


def test_columns_of_labels_and_integers_that_can_be_missing() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    batch = pa.record_batch({"x": [1.0, 2.0]})
    for given, kind, expected in (
        (np.array([[1.5], [2.5]]), "DOUBLE", [1.5, 2.5]),
        (np.array([[1.5], [2.5]]), "ARRAY<DOUBLE>", [[1.5], [2.5]]),
        (pandas.Series([7, None], dtype="Int64"), "BIGINT", [7, None]),
        (pandas.Series([7.5, 8.5]), "DOUBLE", [7.5, 8.5]),
        (pandas.Series(["a", None]), "STRING", ["a", None]),
        (polars.Series([2**60 + 1, None]), "BIGINT", [2**60 + 1, None]),
    ):
        scorer = PredictScorer(Answer(given), columns(f"y {kind}"))
        assert scorer.score(batch)[0].to_pylist() == expected


def test_what_is_no_column_and_values_that_may_not_be_missing_are_told() -> None:
    batch = pa.record_batch({"x": [1.0, 2.0]})
    for given, kind, reason in (
        (5.0, "DOUBLE", "returned float, but a value for each row"),
        (None, "DOUBLE", "returned NoneType, but"),
        (
            [1.0, None],
            "DOUBLE NOT NULL",
            "no value of 'y', which is of type DOUBLE NOT NULL, for 1 of 2",
        ),
    ):
        with pytest.raises(JobExecutionError, match=reason):
            PredictScorer(Answer(given), columns(f"y {kind}")).score(batch)
