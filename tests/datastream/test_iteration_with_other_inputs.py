"""Loops that something else than their input feeds."""

from __future__ import annotations

import pytest

from millrace.common.errors import CheckpointError
from millrace.common.functions.co_functions import CoMapFunction
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.engine.feedback_coordinator import FeedbackCoordinator
from millrace.plan.job_graph import LoopNode
from millrace.state.serialization.payload import decode, encode
from millrace.testing import MiniJob


class Tagged(CoMapFunction):
    def map1(self, value):
        return value[0], "seen"

    def map2(self, value):
        return value[0], "again"


def test_the_end_is_held_until_all_that_feeds_the_loop_has_ended() -> None:
    with MiniJob() as job:
        source, control = job.source("source"), job.source("control")
        loop = source.stream.iterate()
        body = loop.connect(control.stream).map(Tagged())
        loop.close_with(body.filter(lambda value: value[1] == "again"))
        windows = loop.key_by(lambda value: value[0]).window(TumblingEventTimeWindows.of(10_000))
        seen = job.collect(windows.reduce(lambda one, other: one))
        source.push(("a", "in"), timestamp=1)
        source.end()
        job.process()
        control.push(("b", "control"), timestamp=5000)
        control.end()
        job.finish()
        assert sorted(seen.values()) == [("a", "in"), ("b", "again")]


def node(uid: str) -> LoopNode:
    return LoopNode("loop-1", 0, 1, frozenset({0}), frozenset(), uid)


def test_what_goes_round_is_found_by_the_uid_of_its_loop() -> None:
    snapshot = encode(({("mine", 0): [b"records"]}, []))
    coordinator = FeedbackCoordinator([node("mine")])
    coordinator.restore(snapshot)
    assert coordinator.feedback((0, 0)) == {"loop-1": (b"records",)}
    assert decode(coordinator.snapshot()) == decode(snapshot)


def test_records_of_a_loop_that_is_gone_are_not_dropped_silently() -> None:
    with pytest.raises(CheckpointError, match="'?mine"):
        FeedbackCoordinator([node("other")]).restore(encode(({("mine", 0): [b"records"]}, [])))
