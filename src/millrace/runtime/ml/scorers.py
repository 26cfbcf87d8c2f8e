"""`Scorer`: the object that a job calls with a batch of a model's input columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import cloudpickle

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import ArrayType, RowField, RowType, VarCharType
from millrace.runtime.ml.model_frame import ModelFrame, ModelStage
from millrace.runtime.ml.model_version import model_version
from millrace.runtime.operators.map_batches import pandas_frame

if TYPE_CHECKING:
    import pyarrow

__all__ = ["FORMATS", "PredictScorer", "Scorer", "StagedScorer"]

FORMATS = ("pandas", "arrow", "numpy", "polars")


class Scorer(ABC):
    """A model in a job. It is shipped to the workers with the operator that calls it.

    Attributes:
        version: version of the model, as stored in savepoints.
    """

    version: str

    @abstractmethod
    def score(self, batch: pyarrow.RecordBatch) -> list[pyarrow.Array]:
        """Output columns for a batch of input columns.

        Raises:
            JobExecutionError: the model does not accept a value, or returns an invalid result.
        """


class StagedScorer(Scorer):
    """A scorer of NumPy stages, which are applied one after the other.

    Args:
        stages: stages of the model.
        input_type: columns, under the names that the stages read.
        output_type: columns, under the names that the stages give them.
        version: version of the model. None for a hash of the stages.

    Raises:
        JobDefinitionError: the stages do not fit the columns.
    """

    def __init__(
        self,
        stages: Sequence[ModelStage],
        input_type: RowType,
        output_type: RowType,
        version: str | None = None,
    ) -> None:
        self._stages = tuple(stages)
        self._input, self._output = input_type, output_type
        self.version = version or model_version(self._stages)
        if not any(isinstance(field.type, ArrayType) for field in input_type.fields):
            self._try_nothing()

    def _try_nothing(self) -> None:
        """Score a batch without rows, to check that the declared columns are the ones that the
        stages read and add."""
        import pyarrow as pa

        arrays = [pa.array([], arrow_type(field.type)) for field in self._input.fields]
        try:
            self.score(pa.RecordBatch.from_arrays(arrays, list(self._input.names)))
        except (JobExecutionError, ValueError) as error:
            raise JobDefinitionError(
                f"the model does not match INPUT ({_columns(self._input)}) OUTPUT "
                f"({_columns(self._output)}): {error}"
            ) from error

    def score(self, batch: pyarrow.RecordBatch) -> list[pyarrow.Array]:
        pairs = zip(self._input.fields, batch.columns, strict=True)
        frame = ModelFrame(
            {field.name: _as_numpy(field, column) for field, column in pairs}, batch.num_rows
        )
        for stage in self._stages:
            stage.apply(frame)
        return [_as_arrow(frame.column(field.name), field) for field in self._output.fields]


class PredictScorer(Scorer):
    """A scorer that calls a method of any object with a batch, such as a model of scikit-learn.

    Args:
        model: the object. It is pickled, by value if its class belongs to the program.
        output_type: output columns. A single column holds the result's values. Several columns are
            taken from a frame or a dict by name, from an array by position.
        method: name of the method, such as ``predict`` or ``predict_proba``.
        batch_format: type of the argument: ``pandas`` and ``polars``, a DataFrame; ``arrow``, a
            RecordBatch; ``numpy``, a two-dimensional array of numbers.
        version: version of the model. None for a hash of the pickled object.

    Raises:
        JobDefinitionError: the object has no such method, or the format does not exist.
    """

    def __init__(
        self,
        model: Any,
        output_type: RowType,
        method: str = "predict",
        batch_format: str = "pandas",
        version: str | None = None,
    ) -> None:
        if not callable(getattr(model, method, None)):
            raise JobDefinitionError(
                f"a model has a method {method}() that takes a batch; {type(model).__qualname__} "
                "has none; the option 'method' names another"
            )
        if batch_format not in FORMATS:
            raise JobDefinitionError(
                f"'batch-format' is one of {', '.join(FORMATS)}, not {batch_format!r}"
            )
        self._pickled = cloudpickle.dumps(model)
        self._model: Any = None
        self._output, self._method, self._format = output_type, method, batch_format
        self.version = version or model_version(model)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_model": None}

    def score(self, batch: pyarrow.RecordBatch) -> list[pyarrow.Array]:
        if self._model is None:
            self._model = cloudpickle.loads(self._pickled)
        result = getattr(self._model, self._method)(_given(batch, self._format))
        columns = _result_columns(result, self._output)
        for field, column in zip(self._output.fields, columns, strict=True):
            if len(column) != batch.num_rows:
                raise JobExecutionError(
                    f"the model gives {len(column)} values of {field.name!r} for "
                    f"{batch.num_rows} rows"
                )
            if column.null_count and not field.type.is_nullable:
                raise JobExecutionError(
                    f"the model gives no value of {field.name!r}, which is of type "
                    f"{field.type}, for {column.null_count} of {batch.num_rows} rows"
                )
        return columns


def _given(batch: pyarrow.RecordBatch, batch_format: str) -> Any:
    if batch_format == "pandas":
        return pandas_frame(batch)
    if batch_format == "polars":
        import polars

        return polars.from_arrow(batch)
    if batch_format == "numpy":
        import numpy as np

        parts = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        return np.column_stack(parts) if parts else np.empty((batch.num_rows, 0))
    return batch


def _result_columns(result: Any, output: RowType) -> list[pyarrow.Array]:
    import numpy as np

    fields = output.fields
    named = hasattr(result, "columns") or isinstance(result, Mapping) or hasattr(result, "schema")
    if named:
        missing = [field.name for field in fields if field.name not in _names(result)]
        if missing:
            raise JobExecutionError(
                f"the model gives no column {missing[0]!r}; it gives {', '.join(_names(result))}"
            )
        return [_as_arrow(_plain(result[field.name]), field) for field in fields]
    if len(fields) == 1:
        return [_as_arrow(_plain(result), fields[0])]
    whole = np.asarray(result)
    if whole.ndim != 2 or whole.shape[1] != len(fields):
        raise JobExecutionError(
            f"the model gives an array of shape {whole.shape}, OUTPUT has {len(fields)} columns"
        )
    return [_as_arrow(whole[:, place], field) for place, field in enumerate(fields)]


def _names(result: Any) -> list[str]:
    schema: Any = getattr(result, "schema", None)
    names = schema.names if hasattr(schema, "names") else getattr(result, "columns", result)
    return [str(name) for name in (names() if callable(names) else names)]


def _plain(column: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    if isinstance(column, pa.Array | pa.ChunkedArray | np.ndarray):
        return column
    if hasattr(column, "to_arrow"):  # of Polars; in NumPy integers with nulls would be floats
        return column.to_arrow()
    if hasattr(getattr(column, "array", None), "__arrow_array__"):  # Int64 and the like of pandas
        return pa.array(column.array)
    if hasattr(column, "__array__"):
        return np.asarray(column)
    if isinstance(column, Iterable):
        return list(column)
    raise JobExecutionError(
        f"the model returned {type(column).__qualname__}, but a value for each row is expected"
    )


def _as_numpy(field: RowField, column: Any) -> Any:
    """A column in NumPy: numbers as doubles, arrays as vectors, texts as objects."""
    import numpy as np
    import pyarrow as pa

    if isinstance(field.type, VarCharType):
        return np.array(column.to_pylist(), object)
    if isinstance(field.type, ArrayType):
        lengths = column.value_lengths()
        distinct = set(lengths.unique().to_pylist())
        if len(distinct) > 1 or None in distinct:
            raise JobExecutionError(
                f"the arrays of the column {field.name!r} have different lengths: {distinct}"
            )
        width = distinct.pop() if distinct else 0
        values = column.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False)
        return values.reshape(len(column), width)
    return column.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)


def _as_arrow(values: Any, field: RowField) -> Any:
    import numpy as np
    import pyarrow as pa

    wanted = arrow_type(field.type)
    try:
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if isinstance(values, pa.Array):
            return values.cast(wanted)
        if isinstance(values, np.ndarray) and values.ndim == 2:
            if values.shape[1] == 1 and not isinstance(field.type, ArrayType):
                return pa.array(values[:, 0]).cast(wanted)  # as fitted with a column of labels
            offsets = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
            flat = pa.array(np.ascontiguousarray(values).ravel())
            return pa.ListArray.from_arrays(pa.array(offsets), flat).cast(wanted)
        made = pa.array(values, from_pandas=False)
        return pa.array([], wanted) if not len(made) else made.cast(wanted)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise JobExecutionError(
            f"the result of the model for {field.name!r} is not {field.type}: {error}"
        ) from error


def _columns(row_type: RowType) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in row_type.fields)
