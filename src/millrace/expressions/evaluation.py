"""`compiled`: an expression as a function of record batches, evaluated by column.

Constants are folded when it is built, a subexpression that occurs twice is computed once, and what
may fail is computed only for the rows that ask for it. Evaluators are pickled as their expression
and built anew.

    >>> import pyarrow as pa
    >>> from millrace.common.types.logical.logical_type import BigIntType, RowType
    >>> from millrace.expressions.built_in import TIMES
    >>> from millrace.expressions.registry import resolve_call
    >>> from millrace.expressions.resolved import FieldReference, ValueLiteral
    >>> price = FieldReference(0, BigIntType(), "price")
    >>> doubled = resolve_call(TIMES, (price, ValueLiteral(2, BigIntType(nullable=False))))
    >>> evaluate = compiled(doubled, RowType.of(("price", BigIntType())))
    >>> evaluate(pa.record_batch({"price": [1, None, 3]})).to_pylist()
    [2, None, 6]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.functions.metrics import MetricGroup
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.expressions.casting.cast import cast_may_fail, caster
from millrace.expressions.columns import (
    CallSite,
    Datum,
    ExpressionNode,
    Frame,
    array_of,
    conformed,
    is_scalar,
    of_length,
)
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_context import open_functions
from millrace.expressions.function_definition import FunctionDefinition, FunctionResolutionError
from millrace.expressions.functions.utf16 import encodable
from millrace.expressions.resolved import (
    Call,
    Cast,
    FieldReference,
    ResolvedExpression,
    ValueLiteral,
)
from millrace.expressions.session_settings import SessionSettings

__all__ = ["CompiledCalc", "Evaluator", "calls_users", "compiled", "is_deterministic", "tell_row"]

_SHOWN = 200
"""Characters of an expression in a message."""


class Evaluator:
    """Evaluates an expression on record batches.

    Attributes:
        expression: the expression to evaluate.
        input_type: the columns it reads.
        session: its settings.
    """

    def __init__(
        self, expression: ResolvedExpression, input_type: RowType, session: SessionSettings
    ) -> None:
        self.expression, self.input_type, self.session = expression, input_type, session
        self._node = _Compiler(session).node(expression)

    def __reduce__(self) -> tuple[Any, ...]:
        return Evaluator, (self.expression, self.input_type, self.session)

    @property
    def may_fail(self) -> bool:
        """Whether the evaluation may raise for some rows."""
        return self._node.may_fail

    def open(self, metric_group: MetricGroup) -> None:
        """Open the user functions in the expression, for an operator with these metrics."""
        open_functions((self.expression,), self.session.job_parameters, metric_group)

    def __call__(self, batch: pa.RecordBatch, instant: int | None = None) -> pa.Array:
        """One value per row of the batch.

        Args:
            batch: columns of the input type.
            instant: milliseconds since 1970 of NOW, PROCTIME and similar functions in this batch.

        Raises:
            EvaluationError: a row has no value (division by zero, a cast that fails).
        """
        try:
            return self._values(batch, instant)
        except EvaluationError as error:
            tell_row(error, (self.expression,), self.input_type, batch, self._values)
            raise

    def _values(self, batch: pa.RecordBatch, instant: int | None = None) -> pa.Array:
        frame = Frame(batch.columns, batch.num_rows, _instant(self.session, instant))
        return _column(self._node, frame, self.expression.output_type)


def compiled(
    expression: ResolvedExpression,
    input_type: RowType,
    session: SessionSettings | None = None,
) -> Evaluator:
    """The evaluator of an expression over rows of a type."""
    return Evaluator(expression, input_type, session or SessionSettings())


class CompiledCalc:
    """Applies a filter and projections to record batches.

    Args:
        projections: the columns to make.
        condition: condition that is TRUE for the rows to keep; None if all rows are kept.
        input_type: columns of the input.
        session: its settings.
    """

    def __init__(
        self,
        projections: tuple[ResolvedExpression, ...],
        condition: ResolvedExpression | None,
        input_type: RowType,
        session: SessionSettings | None = None,
    ) -> None:
        self._arguments = (projections, condition, input_type, session or SessionSettings())
        compiler = _Compiler(self._arguments[3])
        self._condition = None if condition is None else compiler.node(condition)
        self._projections = [
            (compiler.node(projection), projection.output_type) for projection in projections
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledCalc, self._arguments

    def open(self, metric_group: MetricGroup) -> None:
        """Open the user functions in the expressions, for an operator with these metrics."""
        projections, condition, _, session = self._arguments
        read = projections if condition is None else (condition, *projections)
        open_functions(read, session.job_parameters, metric_group)

    def __call__(
        self, batch: pa.RecordBatch, instant: int | None = None, watermark: int | None = None
    ) -> tuple[list[pa.Array], np.ndarray[Any, Any] | None]:
        """The projected columns of the rows that are kept, and the positions of these rows; None if
        all rows are kept.

        Args:
            instant: milliseconds since 1970 of NOW, PROCTIME and similar functions in this batch.
            watermark: value of CURRENT_WATERMARK; None if there is no watermark.
        """
        try:
            return self._made(batch, instant, watermark)
        except EvaluationError as error:
            projections, condition, rows, _ = self._arguments
            read = projections if condition is None else (condition, *projections)
            tell_row(error, read, rows, batch, partial(self._made, watermark=watermark))
            raise

    def _made(
        self, batch: pa.RecordBatch, instant: int | None = None, watermark: int | None = None
    ) -> tuple[list[pa.Array], np.ndarray[Any, Any] | None]:
        now = _instant(self._arguments[3], instant)
        frame = Frame(batch.columns, batch.num_rows, now, watermark=watermark)
        rows = None
        if self._condition is not None:
            mask = self._condition(frame)
            if is_scalar(mask):
                rows = None if mask.as_py() else np.empty(0, np.int64)
            elif mask.true_count < len(mask):
                rows = pc.indices_nonzero(mask).to_numpy().astype(np.int64)
            if rows is not None:
                frame = frame.narrowed(rows)
        return [_column(node, frame, kind) for node, kind in self._projections], rows


def _column(node: ExpressionNode, frame: Frame, kind: LogicalType) -> Any:
    """Values of a node as an array; without rows the node is not evaluated, since a constant may
    fail."""
    if not frame.length:
        return pa.array([], arrow_type(kind))
    return array_of(node(frame), frame.length)


def _instant(session: SessionSettings, instant: int | None) -> int | None:
    return session.instant if session.instant is not None else instant


class _Compiler:
    """Compiles expressions to nodes; equal deterministic expressions share a node."""

    def __init__(self, session: SessionSettings) -> None:
        self._session = session
        self._nodes: dict[ResolvedExpression, ExpressionNode] = {}

    def node(self, expression: ResolvedExpression) -> ExpressionNode:
        known = self._nodes.get(expression)
        if known is not None:
            known.shared = True
            return known
        made = self._made(expression)
        if is_deterministic(expression):
            self._nodes[expression] = made
        return made

    def _made(self, expression: ResolvedExpression) -> ExpressionNode:
        if isinstance(expression, FieldReference):
            index = expression.index
            return ExpressionNode(lambda frame: frame.column(index))
        if isinstance(expression, ValueLiteral):
            value, arrow = expression.value, arrow_type(expression.type)
            if isinstance(value, str):
                value = encodable(value)
            return ExpressionNode(_unreachable, constant=pa.scalar(value, arrow))
        if isinstance(expression, Cast):
            return self._cast(expression)
        if isinstance(expression, Call):
            return self._call(expression)
        raise FunctionResolutionError(f"{expression} cannot be evaluated over the rows of a table")

    def _cast(self, expression: Cast) -> ExpressionNode:
        operand = self.node(expression.operand)
        source, target = expression.operand.output_type, expression.type
        kernel = caster(source, target, self._session, expression.safe)
        name = "TRY_CAST" if expression.safe else "CAST"
        fails = operand.may_fail or (cast_may_fail(source, target) and not expression.safe)
        run = _placed(
            lambda frame: of_length(kernel(operand(frame)), frame.length, name), expression
        )
        return _folded(ExpressionNode(run, fails), [operand], True)

    def _call(self, expression: Call) -> ExpressionNode:
        definition = expression.function
        arguments = [self.node(argument) for argument in expression.arguments]
        site = CallSite(
            definition.name,
            tuple(argument.output_type for argument in expression.arguments),
            expression.type,
            arrow_type(expression.type),
            expression.options,
            self._session,
        )
        constants = [argument.constant for argument in arguments]
        safe = definition.safe_with is not None and definition.safe_with(constants)
        fails = (definition.may_fail and not safe) or any(
            argument.may_fail for argument in arguments
        )
        run = _placed(_runner(definition, site, arguments), expression)
        constant = definition.deterministic and not definition.of_batch
        return _folded(ExpressionNode(run, fails), arguments, constant or definition.lazy)


def _runner(
    definition: FunctionDefinition, site: CallSite, arguments: list[ExpressionNode]
) -> Callable[[Frame], Datum]:
    run, arrow, name = _kernel_runner(definition, site, arguments), site.arrow, site.function
    return lambda frame: conformed(of_length(run(frame), frame.length, name), arrow)


def _kernel_runner(
    definition: FunctionDefinition, site: CallSite, arguments: list[ExpressionNode]
) -> Callable[[Frame], Datum]:
    kernel = definition.kernel
    if kernel is None:
        raise FunctionResolutionError(f"{site.function} is not a scalar function")
    if definition.lazy:
        return lambda frame: kernel(site, frame, *arguments)
    if definition.of_batch:
        return lambda frame: kernel(site, frame, *(argument(frame) for argument in arguments))
    if len(arguments) == 1:
        (only,) = arguments
        return lambda frame: kernel(site, only(frame))
    if len(arguments) == 2:
        left, right = arguments
        return lambda frame: kernel(site, left(frame), right(frame))
    return lambda frame: kernel(site, *(argument(frame) for argument in arguments))


def _placed(run: Callable[[Frame], Datum], expression: Call | Cast) -> Callable[[Frame], Datum]:
    """The evaluation of a node, where errors show the position of the innermost subexpression
    with a known position. Errors raised by user functions stay unchanged."""
    place = expression.place
    caught = () if calls_users(expression) else (ArithmeticError, ValueError)

    def placed(frame: Frame) -> Datum:
        try:
            return run(frame)
        except EvaluationError as error:
            error.place = error.place or place
            if error.call is None:
                error.call = "" if _name(expression) in str(error) else _shown(expression)
            raise
        except caught as error:
            made = EvaluationError(f"{_shown(expression)} has no value: {error}")
            made.place = place
            raise made from None

    return placed


def _name(expression: Call | Cast) -> str:
    return expression.function.name if isinstance(expression, Call) else "be cast"


def _shown(expression: Call | Cast) -> str:
    text = encodable(str(expression))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def calls_users(expression: ResolvedExpression) -> bool:
    """Whether the expression calls a user function."""
    if isinstance(expression, Call) and not expression.function.built_in:
        return True
    return any(map(calls_users, expression.children()))


def _folded(
    node: ExpressionNode, arguments: list[ExpressionNode], foldable: bool
) -> ExpressionNode:
    """The node with its constant value, if its arguments are constants and the evaluation succeeds.

    What fails is left to run time: a row may never ask for it.
    """
    if not foldable or any(argument.constant is None for argument in arguments):
        return node
    try:
        value = node.run(Frame((), 1, 0))
    except Exception:
        return node
    node.constant = value if is_scalar(value) else array_of(value, 1)[0]
    return node


def is_deterministic(expression: ResolvedExpression) -> bool:
    """Whether the expression always gives the same value for the same columns."""
    if isinstance(expression, Call):
        function = expression.function
        if not function.deterministic or (function.tells_time and not expression.arguments):
            return False
    return all(map(is_deterministic, expression.children()))


def _unreachable(frame: Frame) -> Any:
    raise AssertionError("constants are not run")


_SHOWN_ROW = 400
"""Characters of a row in a message."""


def tell_row(
    error: EvaluationError,
    expressions: Iterable[ResolvedExpression],
    input_type: RowType,
    batch: pa.RecordBatch,
    evaluate: Callable[[pa.RecordBatch], Any],
) -> None:
    """Add the first failing row to the error. This is not done for expressions with user functions,
    because finding the row would call the functions again.

    Args:
        expressions: the evaluated expressions; the error shows the columns they read.
        evaluate: the evaluation that failed for the batch.
    """
    nodes = [node for expression in expressions for node in _nodes(expression)]
    columns = {node.index for node in nodes if isinstance(node, FieldReference)}
    calls = (node for node in nodes if isinstance(node, Call))
    if error.row or not columns or not all(call.function.built_in for call in calls):
        return
    start, end = 0, batch.num_rows
    while end - start > 1:
        middle = (start + end) // 2
        try:
            evaluate(batch.slice(start, middle - start))
            start = middle
        except EvaluationError:
            end = middle
    names = input_type.names
    shown = ", ".join(
        f"{names[index]} = {batch.column(index)[start].as_py()!r}" for index in sorted(columns)
    )
    error.row = shown if len(shown) <= _SHOWN_ROW else f"{shown[:_SHOWN_ROW]}..."


def _nodes(expression: ResolvedExpression) -> Iterable[ResolvedExpression]:
    yield expression
    for child in expression.children():
        yield from _nodes(child)
