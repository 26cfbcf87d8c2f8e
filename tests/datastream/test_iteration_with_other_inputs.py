"""Loops that something else than their input feeds."""

from __future__ import annotations

from millrace.common.functions.co_functions import CoMapFunction
from millrace.datastream.window import TumblingEventTimeWindows
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
