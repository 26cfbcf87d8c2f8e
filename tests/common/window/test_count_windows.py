"""Count windows: which windows the records of a key belong to."""

from __future__ import annotations

from io import BytesIO

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.window import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    CountWindow,
    CountWindowSerializer,
    PurgingTrigger,
    WindowAssigner,
)


class OneKey(WindowAssigner.WindowAssignerContext):
    """A context that is its own runtime context and its own state."""

    def __init__(self) -> None:
        self.number = None

    def get_current_processing_time(self):
        raise AssertionError

    def get_runtime_context(self):
        return self

    def get_state(self, descriptor):
        return self

    def value(self):
        return self.number

    def update(self, number):
        self.number = number


def assigned(assigner, count: int):
    context = OneKey()
    return [
        [window.id for window in assigner.assign_windows("a", None, context)] for _ in range(count)
    ]


def test_tumbling() -> None:
    assert assigned(CountTumblingWindowAssigner.of(2), 5) == [[0], [0], [1], [1], [2]]


@pytest.mark.parametrize(
    ("size", "slide", "windows"),
    [
        (3, 1, [[0], [1, 0], [2, 1, 0], [3, 2, 1], [4, 3, 2]]),
        (3, 2, [[0], [0], [1, 0], [1], [2, 1]]),
        (2, 2, [[0], [0], [1], [1], [2]]),
        (1, 3, [[0], [], [], [1], []]),
    ],
)
def test_sliding(size, slide, windows) -> None:
    """Window n begins with record n * slide and has ``size`` records."""
    assert assigned(CountSlidingWindowAssigner.of(size, slide), 5) == windows


def test_what_goes_with_them() -> None:
    """Full windows fire and are forgotten."""
    for assigner in (CountTumblingWindowAssigner.of(4), CountSlidingWindowAssigner.of(4, 2)):
        trigger = assigner.get_default_trigger(None)
        assert isinstance(trigger, PurgingTrigger)
        assert repr(trigger) == "PurgingTrigger(CountTrigger(4))"
        assert not assigner.is_event_time()
        assert isinstance(assigner.get_window_serializer(), CountWindowSerializer)


def test_windows_survive_their_serializer() -> None:
    stream = BytesIO()
    for number in (0, 7, 2**40):
        CountWindowSerializer().serialize(CountWindow(number), stream)
    stream.seek(0)
    read = [CountWindowSerializer().deserialize(stream) for _ in range(3)]
    assert read == [CountWindow(0), CountWindow(7), CountWindow(2**40)]
    assert read[0] < read[1]
    assert read[0].max_timestamp() == 2**63 - 1


@pytest.mark.parametrize(
    ("of", "parameters"),
    [
        (CountTumblingWindowAssigner.of, (0,)),
        (CountSlidingWindowAssigner.of, (0, 1)),
        (CountSlidingWindowAssigner.of, (1, -1)),
    ],
)
def test_wrong_sizes_are_refused(of, parameters) -> None:
    with pytest.raises(JobDefinitionError, match="count windows need"):
        of(*parameters)
