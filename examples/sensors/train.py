"""Learns how healthy pumps are: ``millrace run train.py``, which writes ``model.json``."""

from __future__ import annotations

from pathlib import Path

from condition import READINGS, WINDOWS, Condition

from millrace.table import EnvironmentSettings, TableEnvironment


def train(directory: Path) -> int:
    """Fit the model and save it; returns the number of windows."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.execute_sql(READINGS.format(path=directory / "data/healthy.csv"))
    t_env.execute_sql(WINDOWS)
    windows = t_env.from_path("windows").to_pandas()
    Condition.fitted(windows).save(directory / "model.json")
    return len(windows)


if __name__ == "__main__":
    print(f"the model has seen {train(Path.cwd())} windows")
