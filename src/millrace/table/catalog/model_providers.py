"""`scorer_of`: Python functions that call models, for the providers ``python`` and ``spark``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from millrace.common.config.config_options import ConfigOptions
from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import RowType
from millrace.runtime.ml.scorers import PredictScorer, Scorer, StagedScorer
from millrace.table.catalog.catalog_models import CatalogModel

__all__ = ["scorer_of"]

PROVIDER = ConfigOptions.key("provider").string_type().no_default_value()
MODEL = ConfigOptions.key("model").string_type().no_default_value()
PATH = ConfigOptions.key("path").string_type().no_default_value()
METHOD = ConfigOptions.key("method").string_type().default_value("predict")
BATCH_FORMAT = ConfigOptions.key("batch-format").string_type().default_value("pandas")
VERSION = ConfigOptions.key("version").string_type().no_default_value()
TASK = ConfigOptions.key("task").string_type().no_default_value()

_COMMON = {PROVIDER.key, VERSION.key, TASK.key}


def scorer_of(name: str, model: CatalogModel, inputs: RowType, outputs: RowType) -> Scorer:
    """Function that calls a model.

    Raises:
        JobDefinitionError: there is no such provider, it does not know the model, or an option is
            missing or unknown.
    """
    if not inputs.fields or not outputs.fields:
        raise JobDefinitionError(
            f"the model {name!r} needs columns: INPUT (a DOUBLE) OUTPUT (prediction DOUBLE)"
        )
    provider = model.options.get(PROVIDER.key)
    entry = _PROVIDERS.get(str(provider))
    if entry is None:
        known = " and ".join(repr(identifier) for identifier in _PROVIDERS)
        raise JobDefinitionError(
            f"the model {name!r} has the unknown 'provider' = {provider!r}; known are {known}"
        )
    taken, make = entry
    for key in model.options:
        if key not in _COMMON | taken:
            raise JobDefinitionError(
                f"the model {name!r} has the option {key!r}, which the provider "
                f"{provider!r} does not know; known are {', '.join(sorted(_COMMON | taken))}"
            )
    return make(name, model, inputs, outputs)


def _of_python(name: str, model: CatalogModel, inputs: RowType, outputs: RowType) -> Scorer:
    options = model.options
    model_object = model.model
    if model_object is None:
        method = options.get(METHOD.key, "predict")
        model_object = _imported(name, _needed(name, options, MODEL.key), method)
    if type(model_object).__module__.startswith("pyspark.ml"):
        return _of_stages(model_object, inputs, outputs, options)
    return PredictScorer(
        model_object,
        outputs,
        options.get(METHOD.key, "predict"),
        options.get(BATCH_FORMAT.key, "pandas"),
        options.get(VERSION.key),
    )


def _of_spark(name: str, model: CatalogModel, inputs: RowType, outputs: RowType) -> Scorer:
    if model.model is not None:
        return _of_stages(model.model, inputs, outputs, model.options)
    from millrace.spark.ml_models import load_stages

    stages = load_stages(_needed(name, model.options, PATH.key))
    return StagedScorer(stages, inputs, outputs, model.options.get(VERSION.key))


def _of_stages(
    model_object: Any, inputs: RowType, outputs: RowType, options: Mapping[str, str]
) -> Scorer:
    from millrace.spark.ml_models import model_stages

    return StagedScorer(model_stages(model_object), inputs, outputs, options.get(VERSION.key))


def _needed(name: str, options: Mapping[str, str], key: str) -> str:
    value = options.get(key)
    if not value:
        raise JobDefinitionError(
            f"the model {name!r} needs the option '{key}' of the provider "
            f"'{options.get(PROVIDER.key)}'"
        )
    return value


def _imported(name: str, path: str, method: str) -> Any:
    """The model object that a path ``module:name`` names; a function or class without the
    model's method is called to create the model."""
    module, _, attribute = path.partition(":")
    try:
        imported = getattr(importlib.import_module(module), attribute)
        return (
            imported() if callable(imported) and not hasattr(type(imported), method) else imported
        )
    except Exception as error:  # whatever the user's module does when it is imported
        raise JobDefinitionError(
            f"the model {name!r} cannot be imported: 'model' = '{path}' ({error}); write "
            "the option as 'module:name'"
        ) from error


_PROVIDERS: dict[str, tuple[set[str], Callable[[str, CatalogModel, RowType, RowType], Scorer]]] = {
    "python": ({MODEL.key, METHOD.key, BATCH_FORMAT.key}, _of_python),
    "spark": ({PATH.key}, _of_spark),
}
