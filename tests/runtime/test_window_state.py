"""A job that was changed does not lose windows without a word."""

from __future__ import annotations

import pytest

from millrace.common.errors import CheckpointError, MillraceError
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import ProcessWindowFunction
from millrace.datastream.window import (
    CountEvictor,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.testing import MiniJob, OperatorHarness


class Numbers(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield [value[1] for value in elements]


def windows(assigner):
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([]).key_by(0).window(assigner)


TUMBLING = TumblingEventTimeWindows.of(10)
SLIDING = SlidingEventTimeWindows.of(10, 5)
SESSIONS = EventTimeSessionWindows.with_gap(5)
FORMS = {
    "panes": lambda: windows(TUMBLING).reduce(max),
    "panes of elements": lambda: windows(TUMBLING).process(Numbers()),
    "slices": lambda: windows(SLIDING).reduce(max),
    "finer slices": lambda: windows(SlidingEventTimeWindows.of(10, 4)).reduce(max),
    "moved slices": lambda: windows(SlidingEventTimeWindows.of(10, 5, 1)).reduce(max),
    "slices of elements": lambda: windows(SLIDING).process(Numbers()),
    "sessions": lambda: windows(SESSIONS).reduce(max),
    "accumulators": lambda: windows(TUMBLING).allowed_lateness(1).reduce(max),
    "elements": lambda: windows(TUMBLING).allowed_lateness(1).process(Numbers()),
    "elements of sessions": lambda: windows(SESSIONS).process(Numbers()),
    "timed elements": lambda: windows(TUMBLING).evictor(CountEvictor(1)).process(Numbers()),
}


def resumed(before, after, *times: int) -> OperatorHarness:
    harness = OperatorHarness(before())
    harness.process_elements([("a", time) for time in times], list(times))
    snapshot = harness.snapshot()
    changed = OperatorHarness(after())
    changed._load([snapshot])
    return changed


@pytest.mark.parametrize("before", FORMS)
@pytest.mark.parametrize("after", FORMS)
def test_windows_in_another_form_are_refused(before, after) -> None:
    """Which operator keeps them is no business of the user's; that some would be lost is."""
    if before == after:
        harness = resumed(FORMS[before], FORMS[after], 1)
        harness.process_watermark(100)
        assert harness.output()
        return
    with pytest.raises(
        CheckpointError, match=r"windows of operator '.*' that .* no longer read.* --resume"
    ):
        resumed(FORMS[before], FORMS[after], 1)


def test_a_changed_job_fails_with_the_way_out(tmp_path) -> None:
    """It says so once and does not try again and again."""
    for lateness, resume in ((0, False), (1, True)):
        with MiniJob(checkpoint_dir=str(tmp_path), resume=resume) as job:
            source = job.source()
            keyed = source.stream.key_by(lambda value: value[0])
            job.collect(keyed.window(TUMBLING).allowed_lateness(lateness).reduce(max))
            source.push(("a", 1), timestamp=1)
            if not resume:
                job.process()
                continue
            with pytest.raises(
                MillraceError, match="sharing of panes was changed. Undo that change"
            ):
                job.process()


def test_a_job_keeps_to_the_declaration_that_its_open_windows_were_made_with() -> None:
    def alone():
        return windows(SLIDING).share_panes(False).reduce(max)

    for before, after in ((FORMS["slices"], alone), (alone, FORMS["slices"])):
        with pytest.raises(CheckpointError, match="or sharing of panes was changed"):
            resumed(before, after, 1)
    harness = resumed(alone, alone, 1, 7)
    harness.process_watermark(100)
    assert harness.output() == [("a", 1), ("a", 7), ("a", 7)]


def test_what_fits_goes_on() -> None:
    """Longer windows of the same slices, other sizes of tumbling windows, other lateness."""
    longer = resumed(
        FORMS["slices"], lambda: windows(SlidingEventTimeWindows.of(20, 5)).reduce(max), 1, 7
    )
    longer.process_watermark(19)
    assert longer.output() == [("a", 1), ("a", 7), ("a", 7), ("a", 7)]
    bigger = resumed(
        FORMS["panes"], lambda: windows(TumblingEventTimeWindows.of(20)).reduce(max), 1
    )
    bigger.process_element(("a", 3), 3)
    bigger.process_watermark(19)
    assert bigger.output() == [("a", 1), ("a", 3)], "old windows fire as they were"
    later = resumed(
        FORMS["accumulators"], lambda: windows(TUMBLING).allowed_lateness(5).reduce(max), 1
    )
    later.process_watermark(12)
    later.process_element(("a", 3), 3)
    assert later.output() == [("a", 1), ("a", 3)]


def test_nothing_is_refused_once_the_windows_are_gone() -> None:
    harness = OperatorHarness(FORMS["panes"]())
    harness.process_element(("a", 1), 1)
    harness.snapshot()
    harness.process_watermark(9)
    changed = OperatorHarness(FORMS["elements"]())
    changed._load([harness.snapshot()])
    changed.process_element(("a", 11), 11)
    changed.process_watermark(19)
    assert changed.output() == [[11]]
