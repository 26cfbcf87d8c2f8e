"""Calls of models. Flink: ``MLPredict``."""

from __future__ import annotations

from functools import partial

from millrace.common.config import table_options
from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.state_digest import digest
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.relational.model_predict import ModelPredict
from millrace.table_runtime.model_predict import ModelPredictOperator

__all__ = ["translate_model_predict"]


@translates(ModelPredict)
def translate_model_predict(node: ModelPredict, translator: Translator) -> Transformation:
    """The operator of a model call; it runs in the subtasks of its input."""
    model, names = node.model, node.input.row_type.names
    features = ", ".join(names[place] for place in node.features)
    path = ".".join(model.path)
    version = model.scorer.version
    factory = partial(
        ModelPredictOperator,
        model.scorer,
        path,
        model.input_type,
        node.features,
        node.row_type,
        str(translator.settings.options[table_options.MODEL_CHANGE.key]) == "fail",
    )
    source = translator.input(node.input)
    rows = translator.provenance(source)
    # what other versions of the model have said stays comparable
    said = (
        digest("MLPredict", model.path, rows.at(node.features), field.name, field.type)
        for field in model.output_type.fields
    )
    return translator.stateless(
        "MLPredict",
        factory,
        [source],
        rows.with_columns((*rows.columns, *said)),
        f"MLPredict(model=[{path}], version=[{version}], features=[{features}])",
    )
