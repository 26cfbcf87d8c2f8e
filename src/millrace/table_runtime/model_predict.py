"""`ModelPredictOperator`: adds a model's predictions to each row. Flink: ``MLPredictRunner``."""

from __future__ import annotations

import logging

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.runtime.declared_state import declared_table
from millrace.runtime.epoch import EpochContext
from millrace.runtime.ml.scorers import Scorer
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.redistribution_mode import RedistributionMode
from millrace.table_runtime.columns import schema_of

__all__ = ["ModelPredictOperator"]

_LOG = logging.getLogger(__name__)
_VERSIONS = OperatorStateDeclaration("model-versions", RedistributionMode.UNION)


class ModelPredictOperator(Operator):
    """Calls a model once per batch.

    The versions of the model that the job has used, in their order, are state: they are in its
    savepoints, and a job that goes on with another model is seen to do so.

    Args:
        scorer: the model.
        name: name of the model, for messages.
        input_type: columns of the model's input.
        features: positions of these columns in the operator's input.
        output_type: columns of the input, and the model's output columns.
        keep_version: whether the job fails if its state has another version of the model.
    """

    takes = BatchForm.COLUMNS
    operator_states = (_VERSIONS,)

    def __init__(
        self,
        scorer: Scorer,
        name: str,
        input_type: RowType,
        features: tuple[int, ...],
        output_type: RowType,
        keep_version: bool,
    ) -> None:
        self._scorer, self._name = scorer, name
        self._names = list(input_type.names)
        self._features, self._keep_version = list(features), keep_version
        self._schema = schema_of(output_type)

    def open(self) -> None:
        self._versions = declared_table(self, _VERSIONS)
        self._is_noted = False

    def restore(self) -> None:
        self._is_noted = False

    def begin_epoch(self, epoch: EpochContext) -> None:
        if self._is_noted:
            return
        known = [version for _, version in sorted(self._versions.data.values())]
        if known and known[-1] != self._scorer.version:
            self._changed(known)
        place = (self.context.subtask_index, 0)
        history = list(dict.fromkeys(known))
        if not history or history[-1] != self._scorer.version:
            history = [earlier for earlier in history if earlier != self._scorer.version]
            history.append(self._scorer.version)
        for old in list(self._versions.data):
            self._versions.remove(old)
        for number, version in enumerate(history):
            self._versions.put((place[0], number), (number, version))
        self._is_noted = True

    def _changed(self, known: list[str]) -> None:
        text = (
            f"the model {self._name} has the version {self._scorer.version}; the state that the "
            f"job goes on with is of the version {known[-1]}"
        )
        if self._keep_version:
            raise JobExecutionError(
                f"{text}. Give the job the former model, or set table.ml.model-change to 'accept', "
                "which records both versions"
            )
        if self.context.subtask_index == 0:
            _LOG.warning("%s; both are recorded", text)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        import pyarrow as pa

        if not len(batch):
            return
        given = [batch.data.column(place) for place in self._features]
        made = self._scorer.score(pa.RecordBatch.from_arrays(given, self._names))
        data = pa.RecordBatch.from_arrays([*batch.data.columns, *made], schema=self._schema)
        self.output.emit(ColumnBatch(data, batch.timestamps, batch.row_kinds, "row"))
