"""What is computed of a machine in ten minutes, and the model that knows how it is when healthy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from millrace.table import DataTypes, ModelDescriptor, Schema

READINGS = """
    CREATE TEMPORARY TABLE readings (
        ts TIMESTAMP(3), machine STRING, vibration DOUBLE, temperature DOUBLE,
        WATERMARK FOR ts AS ts - INTERVAL '30' SECOND
    ) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""
WINDOWS = """
    CREATE TEMPORARY VIEW windows AS
    SELECT machine, window_start, window_end, AVG(vibration) AS strength,
        LN(STDDEV_POP(vibration) + 0.01) AS noise, AVG(temperature) AS warmth
    FROM HOP(TABLE readings, DESCRIPTOR(ts), INTERVAL '5' MINUTE, INTERVAL '10' MINUTE)
    GROUP BY machine, window_start, window_end
"""
"""The same query makes what the model learns from and what it is asked about."""
FEATURES = ["strength", "noise", "warmth"]


class Condition:
    """How far a window is from what is usual for its machine, in standard deviations that take into
    account how features vary together (Mahalanobis' distance).

    Args:
        usual: means of the features by machine.
        precision: the inverse of their covariance.
    """

    def __init__(self, usual: dict[str, list[float]], precision: list[list[float]]) -> None:
        self._usual = pd.DataFrame.from_dict(usual, orient="index", columns=FEATURES)
        self._precision = np.array(precision)

    @classmethod
    def fitted(cls, windows: pd.DataFrame) -> Condition:
        """The model of windows in which all machines were healthy."""
        usual = windows.groupby("machine")[FEATURES].mean()
        off = windows[FEATURES].to_numpy() - usual.loc[windows["machine"]].to_numpy()
        precision = np.linalg.inv(np.cov(off, rowvar=False))
        return cls(
            dict(zip(usual.index, usual.to_numpy().tolist(), strict=True)), precision.tolist()
        )

    def predict(self, windows: pd.DataFrame) -> np.ndarray:
        """The distances of a batch of windows."""
        off = windows[FEATURES].to_numpy() - self._usual.loc[windows["machine"]].to_numpy()
        return np.sqrt(np.einsum("ij,jk,ik->i", off, self._precision, off))

    def save(self, path: Path) -> None:
        """Write the model as JSON."""
        usual = {str(name): list(row) for name, *row in self._usual.itertuples()}
        path.write_text(json.dumps({"usual": usual, "precision": self._precision.tolist()}))

    @classmethod
    def load(cls, path: Path) -> Condition:
        """Read a model that `save` has written."""
        return cls(**json.loads(path.read_text()))

    def described(self) -> ModelDescriptor:
        """The model as SQL knows it."""
        takes = Schema.new_builder().column("machine", DataTypes.STRING())
        for name in FEATURES:
            takes.column(name, DataTypes.DOUBLE())
        gives = Schema.new_builder().column("distance", DataTypes.DOUBLE())
        described = ModelDescriptor.for_model(self).option("batch-format", "pandas")
        return described.input_schema(takes.build()).output_schema(gives.build()).build()
