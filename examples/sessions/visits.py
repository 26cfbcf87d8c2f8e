"""What is made of clicks: visits, the best pages of an hour, and what is known of a user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from millrace.common import Time, Types
from millrace.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    TimeWindow,
)
from millrace.datastream.state import (
    MapState,
    MapStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)

GAP = Time.minutes(30)
"""A visit ends when its user is silent for so long."""
LATENESS = Time.hours(1)
"""How late a click may be and still count."""
Record = dict[str, Any]


class Click(NamedTuple):
    """Somebody looked at a page. The time is in ms since 1970."""

    user: str
    time: int
    page: str


class Pages(AggregateFunction[Click, dict[str, int], dict[str, int]]):
    """Counts the pages of a visit. A late click may join two visits: then they are merged."""

    def create_accumulator(self) -> dict[str, int]:
        return {}

    def add(self, value: Click, accumulator: dict[str, int]) -> dict[str, int]:
        accumulator[value.page] = accumulator.get(value.page, 0) + 1
        return accumulator

    def get_result(self, accumulator: dict[str, int]) -> dict[str, int]:
        return accumulator

    def merge(self, acc_a: dict[str, int], acc_b: dict[str, int]) -> dict[str, int]:
        return {page: acc_a.get(page, 0) + acc_b.get(page, 0) for page in {**acc_a, **acc_b}}


class Visit(ProcessWindowFunction[dict[str, int], Record, str, TimeWindow]):
    """A record of a visit. A later one that covers it replaces it."""

    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[dict[str, int]],
    ) -> Iterator[Record]:
        window = context.window()
        for pages in elements:
            yield {
                "user": key,
                "start": text(window.start),
                # the window ends when the gap is over, the visit with its last click
                "end": text(window.end - GAP.to_milliseconds()),
                "clicks": sum(pages.values()),
                "paid": pages.get("paid", 0) > 0,
            }


class Views(NamedTuple):
    """How often a page was seen in an hour."""

    hour: int
    page: str
    views: int


class Count(AggregateFunction[Click, int, int]):
    """Counts clicks."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Click, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class ViewsOfPage(ProcessWindowFunction[int, Views, str, TimeWindow]):
    """Adds the hour and the page to a count."""

    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[int],
    ) -> Iterator[Views]:
        for count in elements:
            yield Views(context.window().start, key, count)


class TopPages(KeyedProcessFunction[int, Views, Record]):
    """The pages of an hour that were seen most, once no late click can change that.

    Args:
        size: how many.
    """

    def __init__(self, size: int) -> None:
        self._size = size

    def open(self, runtime_context: RuntimeContext) -> None:
        counts = MapStateDescriptor("counts", Types.STRING(), Types.LONG())
        self.counts: MapState[str, int] = runtime_context.get_map_state(counts)

    def process_element(self, value: Views, ctx: KeyedProcessFunction.Context) -> None:
        self.counts.put(value.page, value.views)  # a late click brings a higher count
        over = value.hour + Time.hours(1).to_milliseconds() + LATENESS.to_milliseconds()
        ctx.timer_service().register_event_time_timer(over)

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[Record]:
        ranked = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        yield {"hour": text(ctx.get_current_key()), "top": ranked[: self._size]}
        self.counts.clear()


@dataclass
class Profile:
    """What is known of a user."""

    clicks: int = 0
    last_seen: int = 0


class Profiles(KeyedProcessFunction[str, Click, Record]):
    """Keeps the profiles, which can be queried while the job runs; tells of new users.

    Args:
        profile: the class of a profile.
    """

    def __init__(self, profile: type[Profile] = Profile) -> None:
        self._class = profile

    def open(self, runtime_context: RuntimeContext) -> None:
        profile = ValueStateDescriptor("profile", Types.of(self._class))
        profile.set_queryable("profiles")
        self.profile: ValueState[Profile] = runtime_context.get_state(profile)

    def process_element(self, value: Click, ctx: KeyedProcessFunction.Context) -> Iterator[Record]:
        profile = self.profile.value()
        if profile is None:
            profile = self._class()
            yield {"new user": value.user}
        self.seen(profile, value)
        self.profile.update(profile)

    def seen(self, profile: Profile, click: Click) -> None:
        """Note a click."""
        profile.clicks += 1
        profile.last_seen = max(profile.last_seen, click.time)


def text(time: int) -> str:
    """A time for people."""
    return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
