"""`model_stages`: fitted Spark ML models as stages that NumPy evaluates.

A fitted model is an object of the JVM, and Python workers have none. What it has learnt is read
once, in the driver; workers compute with it what Spark's ``transform`` would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from pyspark.errors import PySparkException
from pyspark.ml import PipelineModel

from millrace.common.errors import JobDefinitionError
from millrace.runtime.ml import feature_stages as features
from millrace.runtime.ml import prediction_stages as predictions
from millrace.runtime.ml.model_frame import ModelStage

_MODEL_MODULES = ("pyspark.ml.", "org.apache.spark.ml.")

__all__ = ["SUPPORTED", "load_stages", "model_stages"]


def load_stages(path: str) -> list[ModelStage]:
    """The stages of a model that Spark ML's ``save`` wrote.

    Raises:
        JobDefinitionError: there is no model at this path, or a stage is not supported.
    """
    from pyspark.ml.util import DefaultParamsReader

    from millrace.spark.session import create_context, current_session

    create_context("millrace", parallelism=2)
    session = current_session()
    try:
        _require_known(path, session)
        model: Any = DefaultParamsReader.loadParamsInstance(path, session)
    except JobDefinitionError:
        raise
    except Exception as error:
        first = str(error).partition("\n")[0][:500]
        raise JobDefinitionError(f"there is no model of Spark ML at {path}: {first}") from error
    return model_stages(model)


def _require_known(path: str, session: Any) -> None:
    """Refuse a saved model of an unsupported class: Spark would import any class that its
    metadata names, and a model may come from a stranger."""
    from pyspark.ml.pipeline import PipelineSharedReadWrite
    from pyspark.ml.util import DefaultParamsReader

    metadata = DefaultParamsReader.loadMetadata(path, session)
    named = str(metadata["class"])
    module, _, name = named.rpartition(".")
    if not f"{module}.".startswith(_MODEL_MODULES) or name not in SUPPORTED:
        raise JobDefinitionError(
            f"the model at {path} names the class {named}, which is not imported; "
            f"these are supported: {', '.join(SUPPORTED)}"
        )
    if name == PipelineModel.__name__:
        uids = metadata["paramMap"]["stageUids"]
        for number, uid in enumerate(uids):
            place = PipelineSharedReadWrite.getStagePath(uid, number, len(uids), f"{path}/stages")
            _require_known(place, session)


def model_stages(model: Any) -> list[ModelStage]:
    """The stages of a fitted model, or of a `PipelineModel`.

    Raises:
        JobDefinitionError: a stage is not fitted, or its class is not supported.
    """
    if isinstance(model, PipelineModel):
        return [stage for part in model.stages for stage in model_stages(part)]
    name = type(model).__name__
    convert = _CONVERSIONS.get(name)
    if convert is None or not type(model).__module__.startswith("pyspark.ml"):
        hint = f"fit it first: {name}Model can be" if f"{name}Model" in _CONVERSIONS else ""
        hint = hint or f"these are supported: {', '.join(SUPPORTED)}"
        raise JobDefinitionError(
            f"a {name} of Spark ML cannot be evaluated without a JVM, which workers do not have; "
            f"{hint}"
        )
    try:
        return [convert(model)]
    except PySparkException as error:
        raise JobDefinitionError(f"the {name} cannot be read: {error}") from error


# -- parameters ------------------------------------------------------------------------------


def _get(model: Any, name: str, default: Any = None) -> Any:
    """Value of a parameter, set or by default."""
    if not model.hasParam(name) or not model.isDefined(name):
        return default
    return model.getOrDefault(name)


def _pairs(model: Any, many: bool = True) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Input and output columns of a stage with one or several columns."""
    if many and _get(model, "inputCols"):
        outputs = _get(model, "outputCols")
        return tuple(_get(model, "inputCols")), tuple(outputs)
    return (_get(model, "inputCol"),), (_get(model, "outputCol"),)


def _keeps(model: Any) -> bool:
    """Whether missing or unknown values are kept; rows are never left out.

    Raises:
        JobDefinitionError: the model leaves out rows.
    """
    handling = _get(model, "handleInvalid", "error")
    if handling == "skip":
        raise JobDefinitionError(
            f"{type(model).__name__} has handleInvalid='skip': a model here gives a row for each "
            "row; set 'keep' or 'error', and leave rows out with WHERE"
        )
    return bool(handling == "keep")


def _doubles(values: Any) -> Any:
    return np.asarray(values.toArray() if hasattr(values, "toArray") else values, np.float64)


# -- features --------------------------------------------------------------------------------


def _vector_assembler(model: Any) -> ModelStage:
    return features.AssembledVector(
        tuple(model.getInputCols()), model.getOutputCol(), _keeps(model)
    )


def _standard_scaler(model: Any) -> ModelStage:
    mean, deviation = _doubles(model.mean), _doubles(model.std)
    scale = np.ones_like(mean)
    if _get(model, "withStd"):
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation != 0)
    shift = mean if _get(model, "withMean") else np.zeros_like(mean)
    return _scaled(model, shift, scale)


def _scaled(
    model: Any, shift: Any, scale: Any, offset: float = 0.0, constants: Any = None
) -> ModelStage:
    fixed = np.full_like(shift, np.nan) if constants is None else constants
    (name,), (output,) = _pairs(model, many=False)
    return features.ScaledVector(name, output, shift, scale, offset, fixed)


def _min_max_scaler(model: Any) -> ModelStage:
    least, most = _doubles(model.originalMin), _doubles(model.originalMax)
    low, high = _get(model, "min"), _get(model, "max")
    spread = most - least
    scale = np.divide(high - low, spread, out=np.zeros_like(spread), where=spread != 0)
    constants = np.where(spread == 0, (low + high) / 2, np.nan)
    return _scaled(model, least, scale, low, constants)


def _max_abs_scaler(model: Any) -> ModelStage:
    most = _doubles(model.maxAbs)
    scale = np.divide(1.0, most, out=np.ones_like(most), where=most != 0)
    return _scaled(model, np.zeros_like(most), scale)


def _robust_scaler(model: Any) -> ModelStage:
    spread, median = _doubles(model.range), _doubles(model.median)
    scale = np.ones_like(spread)
    if _get(model, "withScaling"):
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread != 0)
    return _scaled(model, median if _get(model, "withCentering") else 0 * median, scale)


def _normalizer(model: Any) -> ModelStage:
    (name,), (output,) = _pairs(model, many=False)
    return features.UnitVector(name, output, float(model.getP()))


def _pca(model: Any) -> ModelStage:
    (name,), (output,) = _pairs(model, many=False)
    return features.PrincipalComponents(name, output, _doubles(model.pc))


def _string_indexer(model: Any) -> ModelStage:
    inputs, outputs = _pairs(model)
    labels = tuple(tuple(map(str, column_labels)) for column_labels in model.labelsArray)
    return features.IndexedLabels(inputs, outputs, labels, _keeps(model))


def _index_to_string(model: Any) -> ModelStage:
    labels = _get(model, "labels")
    if not labels:
        raise JobDefinitionError(
            "IndexToString has no labels of its own: make it with labels=..., for example those of "
            "the StringIndexerModel"
        )
    (name,), (output,) = _pairs(model, many=False)
    return features.LabelsOfIndices(name, output, tuple(labels))


def _one_hot_encoder(model: Any) -> ModelStage:
    inputs, outputs = _pairs(model)
    sizes, keep = tuple(map(int, model.categorySizes)), _keeps(model)
    fewer = int(bool(model.getDropLast())) - int(keep)
    widths = tuple(size - fewer for size in sizes)
    return features.OneHotVectors(inputs, outputs, sizes, widths, keep)


def _bucketizer(model: Any) -> ModelStage:
    inputs, outputs = _pairs(model)
    many = bool(_get(model, "inputCols"))
    splits = _get(model, "splitsArray") if many else [_get(model, "splits")]
    return features.Buckets(inputs, outputs, tuple(map(_doubles, splits)), _keeps(model))


def _vector_indexer(model: Any) -> ModelStage:
    (name,), (output,) = _pairs(model, many=False)
    values: dict[int, Any] = {}
    for feature, numbers in model.categoryMaps.items():
        known = np.empty(len(numbers), np.float64)
        for value, number in numbers.items():
            known[int(number)] = float(value)
        values[int(feature)] = known
    return features.IndexedCategories(name, output, values, _keeps(model))


def _imputer(model: Any) -> ModelStage:
    inputs, outputs = _pairs(model)
    [row] = model.surrogateDF.collect()
    values = tuple(float(row[name]) for name in inputs)
    return features.FilledColumns(inputs, outputs, values, float(model.getMissingValue()))


def _binarizer(model: Any) -> ModelStage:
    inputs, outputs = _pairs(model)
    many = bool(_get(model, "inputCols"))
    given = _get(model, "thresholds") if many else None
    thresholds = given or [_get(model, "threshold")] * len(inputs)
    return features.BinaryThreshold(inputs, outputs, tuple(map(float, thresholds)))


# -- predictions -----------------------------------------------------------------------------


def _linear_regression(model: Any) -> ModelStage:
    return predictions.LinearNumbers(
        _get(model, "featuresCol"),
        _get(model, "predictionCol"),
        _doubles(model.coefficients),
        float(model.intercept),
    )


def _generalized_linear_regression(model: Any) -> ModelStage:
    links = {"identity": "identity", "log": "exp", "logit": "logistic"}
    links |= {"inverse": "inverse", "sqrt": "square"}
    # the family's own link where none is set
    own = {"gaussian": "identity", "poisson": "log", "binomial": "logit", "gamma": "inverse"}
    family = str(_get(model, "family")).lower()
    link = str(_get(model, "link") or own.get(family, "")).lower()
    if link not in links or _get(model, "offsetCol"):
        raise JobDefinitionError(
            f"a GeneralizedLinearRegressionModel of the link {link!r} or with an offset column is "
            f"not supported; supported links are {', '.join(links)}"
        )
    return predictions.LinearNumbers(
        _get(model, "featuresCol"),
        _get(model, "predictionCol"),
        _doubles(model.coefficients),
        float(model.intercept),
        links[link],
    )


def _class_columns(model: Any) -> predictions.ClassColumns:
    thresholds = model.getOrDefault("thresholds") if _is_set(model, "thresholds") else None
    return predictions.ClassColumns(
        _get(model, "rawPredictionCol") or "",
        _get(model, "probabilityCol") or "",
        _get(model, "predictionCol") or "",
        None if thresholds is None else _doubles(thresholds),
    )


def _is_set(model: Any, name: str) -> bool:
    return bool(model.hasParam(name) and model.isSet(name))


def _logistic_regression(model: Any) -> ModelStage:
    two = int(model.numClasses) == 2 and model.coefficientMatrix.numRows == 1
    return predictions.LinearClasses(
        _get(model, "featuresCol"),
        _class_columns(model),
        _doubles(model.coefficientMatrix),
        _doubles(model.interceptVector),
        float(model.getThreshold()) if two else 0.5,
    )


def _linear_svc(model: Any) -> ModelStage:
    return predictions.LinearClasses(
        _get(model, "featuresCol"),
        _class_columns(model),
        _doubles(model.coefficients)[None, :],
        np.array([float(model.intercept)]),
        float(model.getThreshold()),
        has_probability=False,
    )


def _k_means(model: Any) -> ModelStage:
    return predictions.NearestCentre(
        _get(model, "featuresCol"),
        _get(model, "predictionCol"),
        np.array(model.clusterCenters(), np.float64),
        str(_get(model, "distanceMeasure")) == "cosine",
    )


def _tree_numbers(model: Any) -> ModelStage:
    trees, weights = _trees(model)
    if "RandomForest" in type(model).__name__:
        weights = [1.0 / len(trees)] * len(trees)
    return predictions.ForestNumbers(
        _get(model, "featuresCol"),
        _get(model, "predictionCol"),
        _forest(trees, classes=0),
        tuple(weights),
    )


def _tree_classes(model: Any) -> ModelStage:
    trees, weights = _trees(model)
    boosted = "GBT" in type(model).__name__
    return predictions.ForestClasses(
        _get(model, "featuresCol"),
        _class_columns(model),
        _forest(trees, classes=0 if boosted else int(model.numClasses)),
        tuple(weights),
        boosted,
        shares=len(trees) > 1 or "DecisionTree" not in type(model).__name__,
    )


def _trees(model: Any) -> tuple[list[Any], list[float]]:
    """The roots of the trees, which are objects of the JVM, and their weights."""
    if not hasattr(model, "trees"):
        return [model._java_obj.rootNode()], [1.0]
    return [tree._java_obj.rootNode() for tree in model.trees], list(model.treeWeights)


def _forest(roots: list[Any], classes: int) -> predictions.Forest:
    """Trees of the JVM as arrays.

    Args:
        classes: number of classes with a weight in each node; 0 if each node has one number.
    """
    questions: list[tuple[int, float, int, int]] = []
    values: list[Any] = []
    categories: dict[int, Any] = {}

    def add(node: Any) -> int:
        place = len(questions)
        questions.append((-1, np.nan, -1, -1))
        values.append(list(node.impurityStats().stats()) if classes else float(node.prediction()))
        if not _is_kind(node, "InternalNode"):
            return place
        split = node.split()
        feature, threshold = int(split.featureIndex()), np.nan
        if _is_kind(split, "ContinuousSplit"):
            threshold = float(split.threshold())
        else:
            categories[place] = np.array(list(split.leftCategories()), np.float64)
        left, right = add(node.leftChild()), add(node.rightChild())
        questions[place] = (feature, threshold, left, right)
        return place

    starts = tuple(add(root) for root in roots)
    asked, thresholds, lefts, rights = zip(*questions, strict=True)
    return predictions.Forest(
        starts,
        np.array(asked, np.int64),
        np.array(thresholds, np.float64),
        np.array(lefts, np.int64),
        np.array(rights, np.int64),
        categories,
        np.array(values, np.float64),
    )


def _is_kind(node: Any, name: str) -> bool:
    return bool(node.getClass().getSimpleName() == name)


_CONVERSIONS: dict[str, Callable[[Any], ModelStage]] = {
    "Binarizer": _binarizer,
    "Bucketizer": _bucketizer,
    "DecisionTreeClassificationModel": _tree_classes,
    "DecisionTreeRegressionModel": _tree_numbers,
    "GBTClassificationModel": _tree_classes,
    "GBTRegressionModel": _tree_numbers,
    "GeneralizedLinearRegressionModel": _generalized_linear_regression,
    "ImputerModel": _imputer,
    "IndexToString": _index_to_string,
    "KMeansModel": _k_means,
    "LinearRegressionModel": _linear_regression,
    "LinearSVCModel": _linear_svc,
    "LogisticRegressionModel": _logistic_regression,
    "MaxAbsScalerModel": _max_abs_scaler,
    "MinMaxScalerModel": _min_max_scaler,
    "Normalizer": _normalizer,
    "OneHotEncoderModel": _one_hot_encoder,
    "PCAModel": _pca,
    "RandomForestClassificationModel": _tree_classes,
    "RandomForestRegressionModel": _tree_numbers,
    "RobustScalerModel": _robust_scaler,
    "StandardScalerModel": _standard_scaler,
    "StringIndexerModel": _string_indexer,
    "VectorAssembler": _vector_assembler,
    "VectorIndexerModel": _vector_indexer,
}
SUPPORTED = ("PipelineModel", *_CONVERSIONS)
"""Names of the classes that `model_stages` supports."""
