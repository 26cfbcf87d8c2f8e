"""``ML_PREDICT(TABLE t, MODEL m, DESCRIPTOR(a, b))`` in FROM.

Flink docs: "Model Inference".
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millrace.common.similar_names import did_you_mean
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.parameters import implicit_cast
from millrace.expressions.resolved import Cast, ResolvedExpression
from millrace.planner.binder.from_context import FromContext
from millrace.planner.binder.names import unique_names
from millrace.planner.binder.tables import path_of
from millrace.planner.catalog_reader import NameKind, ResolvedModel
from millrace.planner.relational.model_predict import ModelPredict
from millrace.planner.relational.rel_node import Project, RelNode
from millrace.sql.dialect import nodes

__all__ = ["ML_PREDICT", "bind_model_predict", "predicted"]

ML_PREDICT = "ML_PREDICT"
_PARAMETERS = ("INPUT", "MODEL", "ARGS", "CONFIG")
_EXPECTED = "ML_PREDICT(TABLE t, MODEL m, DESCRIPTOR(a, b))"


def bind_model_predict(binder: FromContext, call: nodes.FunctionCall) -> RelNode:
    """The table's rows, followed by the columns of the model's output.

    Raises:
        SqlValidationError: the model or a column does not exist, or a type does not fit.
    """
    given = _by_parameter(binder, call)
    data, model, columns = given.get("INPUT"), given.get("MODEL"), given.get("ARGS")
    if not isinstance(data, nodes.TableArgument):
        raise binder.context.refusal(data or call, f"a table is missing: {_EXPECTED}")
    if not isinstance(model, nodes.ModelArgument):
        raise binder.context.refusal(model or call, f"a model is missing: {_EXPECTED}")
    if not isinstance(columns, nodes.Descriptor):
        raise binder.context.refusal(columns or call, f"the columns are missing: {_EXPECTED}")
    rows, resolved_model = binder.table_rows(data), _model(binder, model)
    names = [column.name for column in columns.expressions]
    for node, name in zip(columns.expressions, names, strict=True):
        if name not in rows.row_type.names:
            hint = did_you_mean(name, rows.row_type.names)
            raise binder.context.refusal(node, f"there is no column {name!r}{hint}")
    try:
        return predicted(rows, resolved_model, names)
    except ValueError as error:
        raise binder.context.refusal(columns, str(error)) from None


def _by_parameter(binder: FromContext, call: nodes.FunctionCall) -> dict[str, exp.Expr]:
    by_parameter: dict[str, exp.Expr] = {}
    for position, node in enumerate(call.arguments):
        named = isinstance(node, exp.Kwarg)
        name = node.this.name.upper() if named else (*_PARAMETERS, "")[min(position, 4)]
        if name not in _PARAMETERS or name in by_parameter:
            raise binder.context.refusal(node, f"this argument is not expected: {_EXPECTED}")
        by_parameter[name] = node.expression if named else node
    return by_parameter


def _model(binder: FromContext, node: nodes.ModelArgument) -> ResolvedModel:
    path = path_of(node.this)
    model = binder.context.catalog.resolve_model(path)
    if model is None:
        hint = did_you_mean(path[-1], binder.context.catalog.names(NameKind.MODEL))
        raise binder.context.refusal(node, f"there is no model {'.'.join(path)!r}{hint}")
    return model


def predicted(rows: RelNode, model: ResolvedModel, columns: list[str]) -> RelNode:
    """The rows with a model's output for some of their columns; raises if a column does not exist.

    Raises:
        ValueError: they are too many or too few, or of types that do not fit; the text says so.
    """
    wanted = model.input_type.fields
    if len(columns) != len(wanted):
        raise ValueError(
            f"the model {model.path[-1]!r} takes {len(wanted)} columns "
            f"({', '.join(field.name for field in wanted)}), not {len(columns)}"
        )
    width = len(rows.row_type)
    added: list[ResolvedExpression] = []
    features: list[int] = []
    for name, field in zip(columns, wanted, strict=True):
        place = rows.row_type.names.index(name)
        source = rows.field(place)
        cast = _cast(source, field.type)
        if cast is None:
            raise ValueError(
                f"the model {model.path[-1]!r} takes {field.type} for {field.name!r}, but the "
                f"column {name!r} is {source.output_type}: CAST it"
            )
        if cast is source:
            features.append(place)
        else:
            features.append(width + len(added))
            added.append(cast)
    result = [field.name for field in model.output_type.fields]
    if not added:
        names = unique_names([*rows.row_type.names, *result])[width:]
        return ModelPredict(rows, model, tuple(features), tuple(names))
    names = unique_names([*rows.row_type.names, *(f"$in{n}" for n, _ in enumerate(added)), *result])
    own = tuple(rows.field(place) for place in range(width))
    below = Project(rows, (*own, *added), tuple(names[: width + len(added)]))
    made = ModelPredict(below, model, tuple(features), tuple(names[width + len(added) :]))
    kept = [*range(width), *range(width + len(added), len(made.row_type))]
    shown = unique_names([*rows.row_type.names, *result])
    return Project(made, tuple(made.field(place) for place in kept), tuple(shown))


def _cast(source: ResolvedExpression, wanted: LogicalType) -> ResolvedExpression | None:
    """The expression cast to the wanted type; None if the cast could lose information."""
    given = source.output_type
    kind = wanted.with_nullable(given.is_nullable)
    if given == kind:
        return source
    if implicit_cast(given, wanted) is None:
        return None
    return Cast(source, replace(kind))
