"""Fitted models of Spark ML give in NumPy what Spark's own `transform` gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.logical.parser import parse_type
from millrace.runtime.ml.scorers import StagedScorer
from millrace.spark.ml_models import SUPPORTED, load_stages, model_stages

pytestmark = pytest.mark.spark

ROWS = 120
INPUT = "ROW<a DOUBLE, b DOUBLE, c DOUBLE, word STRING, label DOUBLE>"


def data_of() -> pa.Table:
    """Rows of three classes, with a column that is always the same and a text."""
    random = np.random.default_rng(7)
    a, b = random.normal(size=ROWS), random.uniform(-3, 3, size=ROWS)
    label = (a + b > 0.3).astype(float) + (b > 1.5)
    words = np.array(["red", "green", "blue", "grey"])[random.integers(0, 4, ROWS)]
    return pa.table({"a": a, "b": b, "c": np.full(ROWS, 2.5), "word": words, "label": label})


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    return spark.createDataFrame(data_of()).coalesce(1).cache()


def types_of(text: str) -> RowType:
    found = parse_type(text)
    assert isinstance(found, RowType)
    return found


def same_as_spark(model: Any, frame: Any, output: str) -> None:
    """Compares all output columns of all rows; each may be off by the last bits of a sum."""
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql.functions import col

    row_type = types_of(output)
    scorer = StagedScorer(model_stages(model), types_of(INPUT), row_type)
    columns = scorer.score(data_of().combine_chunks().to_batches()[0])
    arrays = [
        vector_to_array(col(field.name)).alias(field.name)
        if str(field.type).startswith("ARRAY")
        else col(field.name)
        for field in row_type.fields
    ]
    wanted = model.transform(frame).select(*arrays).toArrow()
    for field, column in zip(row_type.fields, columns, strict=True):
        expected = wanted.column(field.name).to_pylist()
        found = column.to_pylist()
        if str(field.type) == "STRING":
            assert found == expected
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=field.name)


def fitted(frame: Any, *stages: Any) -> Any:
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import VectorAssembler

    first = VectorAssembler(inputCols=["a", "b", "c"], outputCol="features")
    return Pipeline(stages=[first, *stages]).fit(frame)


@pytest.mark.turns(7)
def test_features(frame: Any) -> None:
    from pyspark.ml import feature as ml

    model = fitted(
        frame,
        ml.StandardScaler(inputCol="features", outputCol="standard", withMean=True),
        ml.MinMaxScaler(inputCol="features", outputCol="least", min=-1.0, max=3.0),
        ml.MaxAbsScaler(inputCol="features", outputCol="most"),
        ml.RobustScaler(inputCol="features", outputCol="robust", withCentering=True),
        ml.Normalizer(inputCol="features", outputCol="unit", p=1.0),
        ml.PCA(inputCol="standard", outputCol="axes", k=2),
        ml.Bucketizer(inputCol="b", outputCol="bucket", splits=[-3.0, 0.0, 1.0, 3.0]),
        ml.Binarizer(inputCol="a", outputCol="positive", threshold=0.0),
        ml.Imputer(inputCols=["a", "b"], outputCols=["x", "y"]),
        ml.StringIndexer(inputCol="word", outputCol="number"),
        ml.OneHotEncoder(inputCols=["number", "bucket"], outputCols=["hot", "warm"]),
        ml.VectorAssembler(inputCols=["unit", "hot", "bucket"], outputCol="all"),
    )
    vectors = ("standard", "least", "most", "robust", "unit", "axes", "hot", "warm", "all")
    numbers = ("bucket", "positive", "x", "y", "number")
    columns = [f"`{name}` ARRAY<DOUBLE>" for name in vectors]
    columns += [f"`{name}` DOUBLE" for name in numbers]
    same_as_spark(model, frame, f"ROW<{', '.join(columns)}>")


CLASSES = "ROW<rawPrediction ARRAY<DOUBLE>, probability ARRAY<DOUBLE>, prediction DOUBLE>"


def classifiers() -> list[tuple[str, Callable[[], Any], bool]]:
    from pyspark.ml import classification as ml

    return [
        ("logistic", lambda: ml.LogisticRegression(threshold=0.4, regParam=0.01), True),
        ("multinomial", lambda: ml.LogisticRegression(regParam=0.01), False),
        ("thresholds", lambda: ml.RandomForestClassifier(numTrees=4).setThresholds(
            [0.2, 0.7, 0.1]), False),
        ("tree", lambda: ml.DecisionTreeClassifier(maxDepth=4), False),
        ("forest", lambda: ml.RandomForestClassifier(numTrees=5, seed=2), False),
        ("boosted", lambda: ml.GBTClassifier(maxIter=4, seed=3), True),
    ]  # fmt: skip


@pytest.mark.turns(7)
def test_classifiers(frame: Any) -> None:
    from pyspark.sql.functions import col

    two = frame.withColumn("label", (col("label") > 0).cast("double"))
    for _, make, binary in classifiers():
        same_as_spark(fitted(two if binary else frame, make()), frame, CLASSES)


def test_a_linear_svc_has_no_probability(frame: Any) -> None:
    from pyspark.ml.classification import LinearSVC
    from pyspark.sql.functions import col

    two = frame.withColumn("label", (col("label") > 0).cast("double"))
    model = fitted(two, LinearSVC(maxIter=5))
    same_as_spark(model, frame, "ROW<rawPrediction ARRAY<DOUBLE>, prediction DOUBLE>")


@pytest.mark.turns(7)
def test_regressions_and_clusters(frame: Any) -> None:
    from pyspark.ml import regression as ml
    from pyspark.ml.clustering import KMeans

    for stage in (
        ml.LinearRegression(regParam=0.1),
        ml.GeneralizedLinearRegression(family="poisson"),
        ml.DecisionTreeRegressor(maxDepth=3),
        ml.RandomForestRegressor(numTrees=3, seed=4),
        ml.GBTRegressor(maxIter=3, seed=5),
        KMeans(k=3, seed=6),
        KMeans(k=3, seed=6, distanceMeasure="cosine"),
    ):
        same_as_spark(fitted(frame, stage), frame, "ROW<prediction DOUBLE>")


@pytest.mark.turns(7)
def test_categories_in_trees_and_labels_back(frame: Any, tmp_path: Path) -> None:
    """Trees ask for sets of categories; the model is read from where it was saved, too."""
    from pyspark.ml import Pipeline
    from pyspark.ml import feature as ml
    from pyspark.ml.classification import RandomForestClassifier

    indexer = ml.StringIndexer(inputCol="word", outputCol="number", handleInvalid="keep").fit(frame)
    model = Pipeline(
        stages=[
            indexer,
            ml.VectorAssembler(inputCols=["number", "a"], outputCol="raw"),
            ml.VectorIndexer(inputCol="raw", outputCol="features", maxCategories=5),
            RandomForestClassifier(labelCol="number", numTrees=3, seed=1),
            ml.IndexToString(inputCol="prediction", outputCol="guess", labels=indexer.labels),
        ]
    ).fit(frame)
    same_as_spark(model, frame, "ROW<prediction DOUBLE, guess STRING>")
    model.write().overwrite().save(str(tmp_path / "model"))
    stages = load_stages(str(tmp_path / "model"))
    kept = StagedScorer(stages, types_of(INPUT), types_of("ROW<guess STRING>"))
    assert kept.version == StagedScorer(
        model_stages(model), types_of(INPUT), types_of("ROW<guess STRING>")
    ).version  # fmt: skip
    with pytest.raises(JobDefinitionError, match="no model of Spark ML"):
        load_stages(str(tmp_path / "nothing"))


@pytest.mark.turns(7)
def test_a_class_that_saved_metadata_names_is_not_imported(frame: Any, tmp_path: Path) -> None:
    """Neither that of the model nor that of a stage in it."""
    from pyspark.ml import PipelineModel
    from pyspark.ml import feature as ml

    scaler = ml.Normalizer(inputCol="a", outputCol="b")
    PipelineModel([PipelineModel([scaler])]).write().save(str(tmp_path / "model"))
    load_stages(str(tmp_path / "model"))
    [metadata] = (tmp_path / "model" / "stages").glob("*/stages/*/metadata/part-*")
    (tmp_path / "harmful.py").write_text("raise SystemExit('imported')")
    for name in ("harmful.Stage", "pyspark.ml.pipeline.os", "pyspark.sql.functions.Normalizer"):
        said = metadata.read_text().replace(json.loads(metadata.read_text())["class"], name)
        metadata.write_text(said)
        metadata.with_name(f".{metadata.name}.crc").unlink(missing_ok=True)
        with pytest.raises(JobDefinitionError, match=f"{name}, which is not imported"):
            load_stages(str(tmp_path / "model"))


def test_what_is_refused(frame: Any) -> None:
    from pyspark.ml import feature as ml
    from pyspark.ml.classification import LogisticRegression, NaiveBayes

    with pytest.raises(JobDefinitionError, match=r"fit it first: LogisticRegressionModel"):
        model_stages(LogisticRegression())
    with pytest.raises(JobDefinitionError, match="supported: PipelineModel, Binarizer"):
        model_stages(NaiveBayes(modelType="gaussian"))
    skipping = ml.Bucketizer(
        inputCol="b", outputCol="x", splits=[-9.0, 9.0], handleInvalid="skip"
    )  # fmt: skip
    with pytest.raises(JobDefinitionError, match="handleInvalid='skip'"):
        model_stages(skipping)
    assert "KMeansModel" in SUPPORTED
    indexer = ml.StringIndexer(inputCol="word", outputCol="number").fit(frame)
    stages = model_stages(indexer)
    with pytest.raises(JobDefinitionError, match="reads the column 'word'"):
        StagedScorer(stages, types_of("ROW<other STRING>"), types_of("ROW<number DOUBLE>"))
    scorer = StagedScorer(stages, types_of("ROW<word STRING>"), types_of("ROW<number INT>"))
    found = scorer.score(pa.record_batch({"word": ["red", "blue"]}))[0]
    assert found.type == pa.int32()
    with pytest.raises(JobExecutionError, match="does not know 'pink'"):
        scorer.score(pa.record_batch({"word": ["pink"]}))
