"""The anomalies of the pumps that the example finds are those that its readings have."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from random import Random

import application_pictures as pictures
import judge
import machines
import pytest
import train
import watch

from millrace.common import Row
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import OperatorHarness, run_local


def verdict(directory: Path, seed: int) -> judge.Verdict:
    machines.write(directory / "data", seed)
    with run_local(workers=2):
        train.train(directory)
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        watch.watch(env, directory)
        env.execute("machines")
    faults = judge.read_faults(directory / "data/labels.csv")
    return judge.judged(faults, judge.read_alerts(directory / "alerts"))


@pytest.mark.parametrize("seed", [machines.SEED, 7])
def test_faults_are_found_and_alerts_are_right(seed: int, tmp_path: Path) -> None:
    found = verdict(tmp_path, seed)
    assert {fault.kind for fault in found.faults} == {"shock", "wear", "stuck"}
    assert len(found.faults) > 15
    assert found.recall >= 0.9, found.missed
    assert found.precision >= 0.9, found.wrong
    if seed == machines.SEED:  # after a change run scripts/application_pictures.py
        picture = (pictures.PICTURES / "sensors.svg").read_text("utf-8")
        assert pictures.sensors(tmp_path) == picture


def test_shocks_are_those_of_a_plain_computation() -> None:
    dice = Random(3)
    values = [dice.gauss(2, 0.2) + (3 if dice.random() < 0.02 else 0) for _ in range(500)]
    harness = OperatorHarness(watch.Shocks(), key_by=lambda row: row.machine)
    begin, _ = machines.SHIFT
    readings = [
        Row(ts=begin + number * machines.EVERY, machine="p", vibration=value)
        for number, value in enumerate(values)
    ]
    for reading in readings:
        harness.process_element(reading)
    mean, variance, expected = values[0], 0.0, []
    for number, value in enumerate(values):
        off, allowed = value - mean, 5 * max(sqrt(variance), 0.15)
        if number >= 20:
            if abs(off) > allowed:
                expected.append(readings[number].ts)
            off = max(-allowed, min(off, allowed))
        weight = max(1 / 40, 1 / (number + 1))
        mean, variance = (
            mean + weight * off,
            (1 - weight) * (variance + weight * off * off),
        )
    assert expected
    assert [alert[2] for alert in harness.output()] == expected


def test_without_alerts_there_is_a_verdict() -> None:
    assert (
        judge.judged([machines.Fault("m-1", "shock", machines.SHIFT[0], machines.SHIFT[0])], [])
        .text()
        .endswith("about a fault")
    )
