"""Windows put together from panes: always what a plain merge of their panes gives."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.runtime.sliding_aggregates import SlidingAggregates


class Panes:
    """Panes of lists of numbers per key, with the aggregates over them."""

    def __init__(self, size: int, slide: int, step: int, mutable: bool) -> None:
        self.size, self.slide, self.step = size, slide, step
        self.mutable = mutable
        self.panes: dict = {}
        self.merges = 0
        self.aggregates = SlidingAggregates(
            lambda start: self.panes.get(start, {}), step, slide, self.merge
        )

    def merge(self, first, second):
        self.merges += 1
        if not self.mutable:
            return first + second
        first.extend(second)
        second.clear()  # whoever owns it must not be hurt
        return first

    def add(self, *records) -> None:
        for key, start, number in records:
            pane = self.panes.setdefault(start, {})
            if self.mutable:
                pane.setdefault(key, []).append(number)
            else:
                pane[key] = (*pane.get(key, ()), number)
        self.aggregates.repair([key for key, *_ in records], [start for _, start, _ in records])

    def window(self, start: int) -> dict:
        window = self.aggregates.window(start, start + self.size)
        return {key: list(numbers) for key, numbers in window.items()}

    def expected(self, start: int) -> dict:
        merged: dict = {}
        for pane in range(start, start + self.size, self.step):
            for key, numbers in self.panes.get(pane, {}).items():
                merged.setdefault(key, []).extend(numbers)
        return merged


SHAPES = [(4, 1, 1), (10, 2, 2), (7, 3, 1), (36, 4, 4), (5, 5, 5), (9, 6, 3)]
ROUND = st.tuples(
    st.integers(1, 12),
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1.3)), max_size=4),
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SHAPES), st.booleans(), st.integers(-50, 50), st.lists(ROUND, max_size=20))
def test_windows_are_their_panes(shape, mutable, begin, rounds) -> None:
    """Records come to panes that are merged already and to those that are not yet; windows are
    asked for in order, now and then one is left out."""
    size, slide, step = shape
    panes = Panes(size, slide, step, mutable)
    start = begin * slide
    for number, (skip, places) in enumerate(rounds):
        offsets = [int(part * size) // step * step for _, part in places]
        panes.add(
            *((key, start + at, number) for (key, _), at in zip(places, offsets, strict=True))
        )
        assert panes.window(start) == panes.expected(start)
        start += slide * (skip if skip > 9 else 1)
        for old in [pane for pane in panes.panes if pane < start]:
            del panes.panes[old]


def test_a_firing_costs_a_few_merges_whatever_the_number_of_panes() -> None:
    """About four per key, for 100 panes as for 400; and few of them are kept."""
    for number in (100, 400):
        panes = Panes(number, 1, 1, mutable=False)
        panes.add(*(("a", at, at) for at in range(number)))
        kept = 0
        for start in range(4 * number):
            panes.add(("a", start + number - 1, 0))
            panes.window(start)
            kept = max(kept, len(panes.aggregates._before))
        assert panes.merges < 4.2 * 4 * number
        assert kept <= 2.2 * number**0.5


def test_forgetting() -> None:
    """After a restore everything is put together from the panes there are."""
    panes = Panes(4, 1, 1, mutable=True)
    panes.add(("a", 0, 1), ("b", 1, 2))
    assert panes.window(0) == {"a": [1], "b": [2]}
    panes.panes = {2: {"a": [5]}}
    panes.aggregates.forget()
    assert panes.window(1) == {"a": [5]}
