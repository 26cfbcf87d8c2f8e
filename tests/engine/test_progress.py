from __future__ import annotations

from millrace.engine.progress import Progress
from millrace.runtime.epoch import Ack

MIN, MAX = -(2**63), 2**63 - 1


def ack(stage: int, subtask: int = 0, **fields) -> Ack:
    return Ack(stage, subtask, 0, **fields)


def test_records_are_counted_at_the_sources() -> None:
    progress = Progress()
    acks = [ack(0, records_in=100), ack(1, records_in=70), ack(2, records_in=5)]
    progress.observe(acks, {0, 2}, epoch_ms=500)
    assert progress.records == 105
    assert progress.records_per_second == 210
    progress.observe(acks, {0, 2}, epoch_ms=500)
    assert (progress.records, progress.epochs) == (210, 2)


def test_the_watermark_is_the_lowest_there_is() -> None:
    progress = Progress()
    progress.observe([ack(0, watermark=MIN), ack(1, watermark=MAX)], {0}, 1)
    assert progress.watermark is None
    progress.observe([ack(0, watermark=7), ack(1, watermark=3), ack(2, watermark=MIN)], {0}, 1)
    assert progress.watermark == 3
    progress.observe([ack(0, watermark=MAX)], {0}, 1)
    assert progress.watermark == 3


def test_counters_add_up_over_epochs_and_gauges_are_replaced() -> None:
    progress = Progress()
    for count, level in ((2, 10), (3, 20)):
        answers = [
            ack(0, n, counts={"map": {"n": count}}, metrics={"map": {"level": level}})
            for n in (0, 1)
        ]
        progress.observe(answers, {0}, 1)
    expected = {"n": 5, "level": 20}
    assert progress.metrics == {"map": {0: expected, 1: expected}}


def test_how_state_was_found() -> None:
    progress = Progress()
    progress.observe([ack(0, cached="new"), ack(1, cached="new")], {0}, 1)
    progress.observe([ack(0, cached="current"), ack(1, cached="replayed")], {0}, 1)
    assert progress.cached == {"new": 2, "current": 1, "replayed": 1}
