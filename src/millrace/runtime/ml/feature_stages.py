"""Feature stages: the computations of Spark ML's fitted transformers, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from millrace.common.errors import JobExecutionError
from millrace.runtime.ml.model_frame import Column, Doubles, ModelFrame, ModelStage

__all__ = [
    "AssembledVector",
    "BinaryThreshold",
    "Buckets",
    "FilledColumns",
    "IndexedCategories",
    "IndexedLabels",
    "LabelsOfIndices",
    "OneHotVectors",
    "PrincipalComponents",
    "ScaledVector",
    "UnitVector",
]


@dataclass(frozen=True)
class AssembledVector(ModelStage):
    """Concatenates numbers and vectors to one vector.

    Attributes:
        keep_missing: whether a missing number stays NaN. Else it is refused.
    """

    inputs: tuple[str, ...]
    output: str
    keep_missing: bool = False

    def apply(self, frame: ModelFrame) -> None:
        parts = [frame.vectors(name) for name in self.inputs]
        if not self.keep_missing:
            for name, part in zip(self.inputs, parts, strict=True):
                if np.isnan(part).any():
                    raise JobExecutionError(
                        f"the column {name!r} has a NULL or NaN, which the model's VectorAssembler "
                        "refuses; leave such rows out, or fit it with handleInvalid='keep'"
                    )
        frame.columns[self.output] = (
            np.hstack(parts) if parts else np.zeros((frame.rows, 0), np.float64)
        )


@dataclass(frozen=True)
class ScaledVector(ModelStage):
    """Scales each feature of a vector to ``(x - shift) * scale + offset``, or to a constant if the
    feature cannot be scaled.

    Attributes:
        constants: constants for features that cannot be scaled. NaN for the others.
    """

    input: str
    output: str
    shift: Doubles
    scale: Doubles
    offset: float
    constants: Doubles

    def apply(self, frame: ModelFrame) -> None:
        vectors = frame.vectors(self.input)
        made = (vectors - self.shift) * self.scale + self.offset
        fixed = ~np.isnan(self.constants)
        made[:, fixed] = np.where(np.isnan(vectors[:, fixed]), np.nan, self.constants[fixed])
        frame.columns[self.output] = made


@dataclass(frozen=True)
class UnitVector(ModelStage):
    """Scales vectors to length 1 in a norm. Zero vectors stay zero."""

    input: str
    output: str
    p: float

    def apply(self, frame: ModelFrame) -> None:
        vectors = frame.vectors(self.input)
        norms = np.linalg.norm(vectors, self.p, axis=1)[:, None]
        frame.columns[self.output] = np.divide(
            vectors, norms, out=vectors.astype(np.float64, copy=True), where=norms != 0
        )


@dataclass(frozen=True)
class PrincipalComponents(ModelStage):
    """Projects vectors on the axes of a matrix."""

    input: str
    output: str
    components: Doubles

    def apply(self, frame: ModelFrame) -> None:
        frame.columns[self.output] = frame.vectors(self.input) @ self.components


@dataclass(frozen=True)
class IndexedLabels(ModelStage):
    """Replaces texts by their indices in a list of labels.

    Attributes:
        labels: labels of each column.
        keep_unknown: whether NULL and unknown labels get the index after the last one. Else they
            are refused.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    keep_unknown: bool = False

    def apply(self, frame: ModelFrame) -> None:
        for name, output, labels in zip(self.inputs, self.outputs, self.labels, strict=True):
            frame.columns[output] = self._indexed(name, frame.column(name), labels)

    def _indexed(self, name: str, values: Column, labels: tuple[str, ...]) -> Doubles:
        if values.dtype != object:
            raise JobExecutionError(
                f"the model's StringIndexer takes texts from the column {name!r}: CAST it AS STRING"
            )
        numbers = {label: float(number) for number, label in enumerate(labels)}
        unknown = float(len(labels)) if self.keep_unknown else np.nan
        # a label is looked up once for all of its rows
        known, places = np.unique(
            np.array(["" if value is None else value for value in values], np.str_),
            return_inverse=True,
        )
        indices = np.array([numbers.get(str(label), unknown) for label in known], np.float64)
        made = indices[places] if len(known) else np.zeros(0, np.float64)
        missing = np.array([value is None for value in values], bool)
        made[missing] = unknown
        if not self.keep_unknown and np.isnan(made).any():
            shown = values[int(np.flatnonzero(np.isnan(made))[0])]
            raise JobExecutionError(
                f"the model's StringIndexer does not know {shown!r} of the column {name!r}; leave "
                "such rows out, or fit it with handleInvalid='keep'"
            )
        return made


@dataclass(frozen=True)
class LabelsOfIndices(ModelStage):
    """Replaces indices by the labels that they stand for."""

    input: str
    output: str
    labels: tuple[str, ...]

    def apply(self, frame: ModelFrame) -> None:
        numbers = frame.numbers(self.input)
        frame.columns[self.output] = np.array(self.labels, object)[numbers.astype(np.int64)]


@dataclass(frozen=True)
class OneHotVectors(ModelStage):
    """Replaces category indices by vectors that have a 1 at the category's position.

    Attributes:
        sizes: number of categories of each column.
        widths: lengths of the vectors: one less than the size if the last category is all zeros.
        keep_unknown: whether an unknown category gets the position after the last one. Else it is
            refused.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sizes: tuple[int, ...]
    widths: tuple[int, ...]
    keep_unknown: bool = False

    def apply(self, frame: ModelFrame) -> None:
        for name, output, size, width in zip(
            self.inputs, self.outputs, self.sizes, self.widths, strict=True
        ):
            numbers = frame.numbers(name)
            unknown = ~((numbers >= 0) & (numbers < size) & (numbers == np.floor(numbers)))
            if unknown.any() and not self.keep_unknown:
                shown = numbers[int(np.flatnonzero(unknown)[0])]
                raise JobExecutionError(
                    f"the model's OneHotEncoder does not know the category {shown} of {name!r}; "
                    "fit it with handleInvalid='keep'"
                )
            places = np.where(unknown, size, np.nan_to_num(numbers)).astype(np.int64)
            made = np.zeros((frame.rows, width), np.float64)
            rows = np.flatnonzero(places < width)
            made[rows, places[rows]] = 1.0
            frame.columns[output] = made


@dataclass(frozen=True)
class Buckets(ModelStage):
    """Replaces values by the numbers of the ranges in which they lie. The last range includes its
    end.

    Attributes:
        keep_missing: whether NaN and NULL get the number after the last one. Else they are refused.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    splits: tuple[Doubles, ...]
    keep_missing: bool = False

    def apply(self, frame: ModelFrame) -> None:
        for name, output, splits in zip(self.inputs, self.outputs, self.splits, strict=True):
            values, last = frame.numbers(name), len(splits) - 2
            made = np.searchsorted(splits, values, "right").astype(np.float64) - 1
            made[values == splits[-1]] = last
            missing = np.isnan(values)
            outside = ((made < 0) | (made > last)) & ~missing
            if outside.any():
                shown = values[int(np.flatnonzero(outside)[0])]
                raise JobExecutionError(
                    f"{shown} of the column {name!r} is in no range of the model's Bucketizer, "
                    f"from {splits[0]} to {splits[-1]}"
                )
            if missing.any() and not self.keep_missing:
                raise JobExecutionError(
                    f"the column {name!r} has a NULL or NaN, which the model's Bucketizer refuses; "
                    "set its handleInvalid='keep'"
                )
            made[missing] = last + 1
            frame.columns[output] = made


@dataclass(frozen=True)
class FilledColumns(ModelStage):
    """Replaces missing values in columns.

    Attributes:
        missing: value that counts as missing, besides NULL: NaN or a number.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    surrogates: tuple[float, ...]
    missing: float

    def apply(self, frame: ModelFrame) -> None:
        for name, output, value in zip(self.inputs, self.outputs, self.surrogates, strict=True):
            numbers = frame.numbers(name)
            frame.columns[output] = np.where(
                np.isnan(numbers) | (numbers == self.missing), value, numbers
            )


@dataclass(frozen=True)
class IndexedCategories(ModelStage):
    """Replaces some features of vectors by category indices.

    Attributes:
        values: known values of each such feature. The position of a value is its index.
        keep_unknown: whether other values get the index after the last one. Else they are refused.
    """

    input: str
    output: str
    values: dict[int, Doubles]
    keep_unknown: bool = False

    def apply(self, frame: ModelFrame) -> None:
        made = frame.vectors(self.input).copy()
        for feature, known in self.values.items():
            given = made[:, feature]
            order = np.argsort(known)
            places = np.minimum(np.searchsorted(known[order], given), len(known) - 1)
            unknown = known[order][places] != given
            if unknown.any() and not self.keep_unknown:
                shown = given[int(np.flatnonzero(unknown)[0])]
                raise JobExecutionError(
                    f"the model's VectorIndexer does not know {shown} of the feature {feature} of "
                    f"{self.input!r}; fit it with handleInvalid='keep'"
                )
            made[:, feature] = np.where(unknown, len(known), order[places])
        frame.columns[self.output] = made


@dataclass(frozen=True)
class BinaryThreshold(ModelStage):
    """Returns 1 if a number is greater than a threshold, else 0."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    thresholds: tuple[float, ...]

    def apply(self, frame: ModelFrame) -> None:
        for name, output, least in zip(self.inputs, self.outputs, self.thresholds, strict=True):
            frame.columns[output] = (frame.numbers(name) > least).astype(np.float64)
