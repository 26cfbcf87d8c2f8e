"""Watches pumps: shocks in single readings, and windows in which a pump is not as it usually is.

``millrace run watch.py`` reads ``data/shift.csv``, and writes ``alerts``.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from math import sqrt
from pathlib import Path

from condition import READINGS, WINDOWS, Condition

from millrace.common import Row, Types
from millrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueState, ValueStateDescriptor
from millrace.table import StreamTableEnvironment

ALERT = Types.ROW_NAMED(
    ["machine", "kind", "since", "until", "score"],
    [
        *(Types.STRING(), Types.STRING(), Types.SQL_TIMESTAMP(), Types.SQL_TIMESTAMP()),
        Types.DOUBLE(),
    ],
)
ALERTS = """
    CREATE TEMPORARY TABLE alerts (
        machine STRING, kind STRING, since TIMESTAMP(3), `until` TIMESTAMP(3), score DOUBLE
    ) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json')
"""
CONDITIONS = """
    SELECT machine, 'condition' AS kind, window_start AS since, window_end AS `until`,
        ROUND(distance, 1) AS score
    FROM ML_PREDICT(TABLE windows, MODEL healthy, DESCRIPTOR(machine, strength, noise, warmth))
    WHERE distance > 5
"""


class Shocks(KeyedProcessFunction[str, Row, Row]):
    """Finds vibrations that are far from what was usual just before.

    Args:
        limit: standard deviations that are too many.
        memory: number of readings after which an older one has lost most of its weight.
        warm_up: number of readings to learn from before the first alert.
        noise: standard deviation that a sensor has at least: one that was stuck has had none.
    """

    def __init__(
        self, limit: float = 5, memory: int = 40, warm_up: int = 20, noise: float = 0.15
    ) -> None:
        self._limit = limit
        self._noise = noise
        self._weight = 1 / memory
        self._warm_up = warm_up

    def open(self, runtime_context: RuntimeContext) -> None:
        usual = Types.TUPLE([Types.LONG(), Types.DOUBLE(), Types.DOUBLE()])
        self.usual: ValueState[tuple[int, float, float]] = runtime_context.get_state(
            ValueStateDescriptor("usual", usual)
        )

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        seen, mean, variance = self.usual.value() or (0, value.vibration, 0.0)
        off, deviation = value.vibration - mean, max(sqrt(variance), self._noise)
        if seen >= self._warm_up:
            score = abs(off) / deviation
            if score > self._limit:
                until = value.ts + timedelta(seconds=1)
                yield Row(value.machine, "shock", value.ts, until, round(score, 1))
            # what is unusual is learnt, too, but slowly
            most = self._limit * deviation
            off = max(-most, min(off, most))
        weight = max(self._weight, 1 / (seen + 1))
        mean += weight * off
        variance = (1 - weight) * (variance + weight * off * off)
        self.usual.update((seen + 1, mean, variance))


def watch(env: StreamExecutionEnvironment, directory: Path) -> StreamTableEnvironment:
    """Declare the job; its inserts are attached to the environment."""
    t_env = StreamTableEnvironment.create(env)
    t_env.execute_sql(READINGS.format(path=directory / "data/shift.csv"))
    t_env.execute_sql(WINDOWS)
    t_env.execute_sql(ALERTS.format(path=directory / "alerts"))
    t_env.create_temporary_model("healthy", Condition.load(directory / "model.json").described())
    machines = t_env.to_data_stream(t_env.from_path("readings")).key_by(
        lambda reading: reading.machine, key_type=Types.STRING()
    )
    shocks = machines.process(Shocks(), ALERT).name("shocks").uid("shocks")
    t_env.create_temporary_view("shocks", shocks)
    inserts = t_env.create_statement_set()
    inserts.add_insert_sql("INSERT INTO alerts SELECT * FROM shocks")
    inserts.add_insert_sql(f"INSERT INTO alerts {CONDITIONS}")
    inserts.attach_as_datastream()
    return t_env


def main() -> None:
    """Run until the readings end."""
    env = StreamExecutionEnvironment.get_execution_environment()
    watch(env, Path.cwd())
    env.execute("machines")


if __name__ == "__main__":
    main()
