"""Prediction stages: the computations of Spark ML's fitted models, in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from millrace.runtime.ml.model_frame import Doubles, ModelFrame, ModelStage

__all__ = [
    "ClassColumns",
    "Forest",
    "ForestClasses",
    "ForestNumbers",
    "LinearClasses",
    "LinearNumbers",
    "NearestCentre",
]

_LEAF = -1


@dataclass(frozen=True)
class ClassColumns:
    """Names of the columns that a classifier adds. An empty name adds no column.

    Attributes:
        thresholds: threshold per class. The predicted class has the largest quotient of probability
            and threshold. None for the most probable class.
    """

    raw: str
    probability: str
    prediction: str
    thresholds: Doubles | None = None

    def add(self, frame: ModelFrame, raw: Doubles, probability: Doubles | None) -> None:
        """Add the columns to the frame."""
        if self.raw:
            frame.columns[self.raw] = raw
        if self.probability and probability is not None:
            frame.columns[self.probability] = probability
        if self.prediction:
            scores = raw if probability is None else probability
            frame.columns[self.prediction] = self._best(scores).astype(np.float64)

    def _best(self, scores: Doubles) -> Any:
        if self.thresholds is None:
            return np.argmax(scores, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = scores / self.thresholds
        # 0 / 0: a class that is never predicted, however low its threshold
        return np.argmax(np.where(np.isnan(scaled), 0.0, scaled), axis=1)


@dataclass(frozen=True)
class LinearNumbers(ModelStage):
    """A linear regression.

    Attributes:
        link: function applied to the sum: ``identity``, ``exp``, ``logistic``, ``inverse`` or
            ``square``.
    """

    features: str
    prediction: str
    coefficients: Doubles
    intercept: float
    link: str = "identity"

    def apply(self, frame: ModelFrame) -> None:
        sums = frame.vectors(self.features) @ self.coefficients + self.intercept
        frame.columns[self.prediction] = _LINKS[self.link](sums)


def _logistic(values: Doubles) -> Doubles:
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-values))


_LINKS: dict[str, Callable[[Doubles], Doubles]] = {
    "identity": lambda values: values,
    "exp": np.exp,
    "logistic": _logistic,
    "inverse": lambda values: 1.0 / values,
    "square": np.square,
}


@dataclass(frozen=True)
class LinearClasses(ModelStage):
    """A linear classifier. For two classes, it has one row of coefficients, for more classes one
    row per class.

    Attributes:
        threshold: for two classes, the probability from which on the second one is predicted; or
            the sum, if there are no probabilities.
        has_probability: whether sums are converted to probabilities.
    """

    features: str
    columns: ClassColumns
    coefficients: Doubles
    intercepts: Doubles
    threshold: float
    has_probability: bool = True

    def apply(self, frame: ModelFrame) -> None:
        sums = frame.vectors(self.features) @ self.coefficients.T + self.intercepts
        if len(self.coefficients) > 1:
            shifted = np.exp(sums - sums.max(axis=1, keepdims=True))
            self.columns.add(frame, sums, shifted / shifted.sum(axis=1, keepdims=True))
            return
        margin = sums[:, 0]
        raw = np.column_stack([-margin, margin])
        first = _logistic(-margin)
        probability = np.column_stack([first, 1.0 - first]) if self.has_probability else None
        self.columns.add(frame, raw, probability)
        if self.columns.prediction and self.columns.thresholds is None:
            scores = margin if probability is None else probability[:, 1]
            frame.columns[self.columns.prediction] = (scores > self.threshold).astype(np.float64)


@dataclass(frozen=True)
class Forest:
    """Decision trees as arrays of nodes, tree after tree. The root is the first node of each tree.

    Attributes:
        roots: first node of each tree.
        features: number of the feature that a node tests. -1 for a leaf.
        thresholds: rows with at most this value go left. NaN for categorical nodes.
        categories: per categorical node the categories that go left.
        values: value of each node: a number, or the weights of the classes.
    """

    roots: tuple[int, ...]
    features: np.ndarray[tuple[int], np.dtype[np.int64]]
    thresholds: Doubles
    lefts: np.ndarray[tuple[int], np.dtype[np.int64]]
    rights: np.ndarray[tuple[int], np.dtype[np.int64]]
    categories: dict[int, Doubles]
    values: Doubles

    def leaves(self, root: int, vectors: Doubles) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """For each row, the leaf of a tree that the row reaches. All rows go down one level at a
        time.
        """
        at = np.full(len(vectors), root, np.int64)
        rows = np.flatnonzero(self.features[at] != _LEAF)
        while rows.size:
            nodes = at[rows]
            given = vectors[rows, self.features[nodes]]
            left = given <= self.thresholds[nodes]
            for node in np.unique(nodes[np.isnan(self.thresholds[nodes])]):
                mine = nodes == node
                left[mine] = np.isin(given[mine], self.categories[int(node)])
            at[rows] = np.where(left, self.lefts[nodes], self.rights[nodes])
            rows = rows[self.features[at[rows]] != _LEAF]
        return at


@dataclass(frozen=True)
class ForestNumbers(ModelStage):
    """Prediction of a number by trees: the weighted sum of the trees' numbers."""

    features: str
    prediction: str
    forest: Forest
    weights: tuple[float, ...]

    def apply(self, frame: ModelFrame) -> None:
        frame.columns[self.prediction] = summed(
            self.forest, self.weights, frame.vectors(self.features)
        )


def summed(forest: Forest, weights: tuple[float, ...], vectors: Doubles) -> Doubles:
    """Weighted sum of the trees' numbers."""
    total = np.zeros(len(vectors), np.float64)
    for root, weight in zip(forest.roots, weights, strict=True):
        total += weight * forest.values[forest.leaves(root, vectors)]
    return total


@dataclass(frozen=True)
class ForestClasses(ModelStage):
    """Prediction of a class by trees.

    Attributes:
        boosted: whether the trees' numbers are added up to a score of the second of two classes.
            Otherwise trees vote with the shares of classes in their leaves.
        shares: whether the weights in a tree's leaf are divided by their sum. Else they count
            unchanged.
    """

    features: str
    columns: ClassColumns
    forest: Forest
    weights: tuple[float, ...]
    boosted: bool = False
    shares: bool = True

    def apply(self, frame: ModelFrame) -> None:
        vectors = frame.vectors(self.features)
        if self.boosted:
            margin = summed(self.forest, self.weights, vectors)
            second = _logistic(2.0 * margin)
            raw = np.column_stack([-margin, margin])
            self.columns.add(frame, raw, np.column_stack([1.0 - second, second]))
            return
        raw = np.zeros((len(vectors), self.forest.values.shape[1]), np.float64)
        for root, weight in zip(self.forest.roots, self.weights, strict=True):
            votes = self.forest.values[self.forest.leaves(root, vectors)]
            totals = votes.sum(axis=1, keepdims=True)
            raw += weight * (votes / np.where(totals == 0, 1.0, totals) if self.shares else votes)
        sums = raw.sum(axis=1, keepdims=True)
        self.columns.add(frame, raw, raw / np.where(sums == 0, 1.0, sums))


@dataclass(frozen=True)
class NearestCentre(ModelStage):
    """Index of the nearest cluster centre.

    Attributes:
        cosine: whether the distance is the cosine distance, not the Euclidean one.
    """

    features: str
    prediction: str
    centres: Doubles
    cosine: bool = False

    def apply(self, frame: ModelFrame) -> None:
        vectors = frame.vectors(self.features)
        if self.cosine:
            norms = np.linalg.norm(vectors, axis=1, keepdims=True)
            lengths = np.linalg.norm(self.centres, axis=1)
            distances = 1.0 - (vectors / norms) @ (self.centres / lengths[:, None]).T
        else:
            distances = np.empty((len(vectors), len(self.centres)), np.float64)
            for number, centre in enumerate(self.centres):
                distances[:, number] = np.square(vectors - centre).sum(axis=1)
        frame.columns[self.prediction] = np.argmin(distances, axis=1).astype(np.float64)
