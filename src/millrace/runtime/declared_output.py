"""The main output of an operator whose type is declared and has rows in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millrace.common.types.batch import Batch, RowBatch
from millrace.common.types.row_conversion import Conversion, row_conversion
from millrace.common.types.type_information import TypeInformation
from millrace.runtime.operator import Operator
from millrace.runtime.output import Output


@dataclass(frozen=True, slots=True)
class DeclaredOutput:
    """Converts every record before it hands it on."""

    output: Output
    convert: Conversion

    def emit(self, batch: Batch) -> None:
        """Hand on the batch as rows."""
        convert, records = self.convert, batch.to_rows()
        converted = [convert(value) for value in records.values]
        self.output.emit(RowBatch(converted, records.timestamps))

    def emit_watermark(self, timestamp: int) -> None:
        """Hand on the watermark."""
        self.output.emit_watermark(timestamp)


@dataclass(frozen=True, slots=True)
class _Declared:
    factory: Callable[[], Operator]
    convert: Conversion

    def __call__(self) -> Operator:
        operator = self.factory()
        operator.declared = self._output
        return operator

    def _output(self, output: Output) -> Output:
        return DeclaredOutput(output, self.convert)


def declared_output(output: Output, type_info: TypeInformation[Any] | None) -> Output:
    """The output for records of that type; the same one if the type has no rows in it."""
    convert = row_conversion(type_info)
    return output if convert is None else DeclaredOutput(output, convert)


def with_declared_output(
    factory: Callable[[], Operator], output_type: TypeInformation[Any] | None
) -> Callable[[], Operator]:
    """The factory of an operator that emits what the type says; the same one if the type has no
    rows in it."""
    convert = row_conversion(output_type)
    return factory if convert is None else _Declared(factory, convert)
