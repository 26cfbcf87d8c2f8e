"""What is looked for in payments: patterns that are written here, and limits that come as rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from millrace.cep import Pattern
from millrace.cep.rules import RuleMatch
from millrace.common import OutputTag, Time, Types
from millrace.datastream import (
    KeyedBroadcastProcessFunction,
    ProcessFunction,
    RuntimeContext,
)
from millrace.datastream.state import MapState, MapStateDescriptor, StateTtlConfig
from millrace.formats import LineFormat

Alert = dict[str, Any]
CLOCK_LIMIT = Time.minutes(1)
"""How far a terminal's clock may be ahead of ours."""
AHEAD: OutputTag[Payment] = OutputTag("ahead of the clock")
LIMITS: MapStateDescriptor[str, int] = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
"""Country, or * for all others -> the most cents that a card may spend in a day."""


@dataclass(frozen=True)
class Payment:
    """Somebody paid with a card. The time is in ms since 1970."""

    card: str
    time: int
    cents: int
    country: str

    def __post_init__(self) -> None:
        if not (isinstance(self.time, int) and isinstance(self.cents, int)):
            raise ValueError("time and cents must be whole numbers")


class PaymentFormat(LineFormat[Payment]):
    """A payment per line, in JSON. What it raises makes the line a dead letter."""

    def decode(self, lines: list[bytes]) -> list[Payment]:
        return [Payment(**json.loads(line)) for line in lines]


class Clock(ProcessFunction[Payment, Payment]):
    """Sends payments that have not happened yet to a side output."""

    def process_element(self, value: Payment, ctx: ProcessFunction.Context) -> Iterator[Any]:
        now = ctx.timer_service().current_processing_time()
        if value.time > now + CLOCK_LIMIT.to_milliseconds():
            yield AHEAD, value
        else:
            yield value


def two_places(minutes: int) -> Pattern:
    """A card pays in two countries within so many minutes."""
    here = Pattern.begin("here")
    there = here.followed_by("there").where(
        lambda payment, ctx: payment.country != ctx.get_events_for_pattern("here")[0].country
    )
    return there.within(Time.minutes(minutes))


def two_places_alert(match: dict[str, list[Payment]]) -> Alert:
    """The alert of a match of `two_places`."""
    return alert("two places", *match["here"], *match["there"])


def rule_alert(match: RuleMatch) -> Alert:
    """The alert of a match of a rule."""
    payments = [payment for part in match.values() for payment in part]
    return alert(f"{match.rule} {match.version}", *payments)


def alert(kind: str, *payments: Payment) -> Alert:
    """What is written when something is found."""
    return {
        "kind": kind,
        "card": payments[0].card,
        "at": [_text(payment.time) for payment in payments],
        "cents": [payment.cents for payment in payments],
    }


def day_of(payment: Payment) -> str:
    """The date of a payment."""
    return _text(payment.time)[:10]


def _text(time: int) -> str:
    return datetime.fromtimestamp(time / 1000, UTC).isoformat(timespec="milliseconds")


@dataclass
class Spending:
    """What was spent with a card on a day."""

    cents: int = 0
    reported: bool = False


class DailyLimit(KeyedBroadcastProcessFunction[str, Payment, dict[str, Any], Alert]):
    """Reports once a day that a card spends more than its country allows.

    Args:
        spending: the class of what is remembered of a day.
    """

    def __init__(self, spending: type[Spending] = Spending) -> None:
        self._spending = spending

    def open(self, runtime_context: RuntimeContext) -> None:
        days = MapStateDescriptor("days", Types.STRING(), Types.of(self._spending))
        # terminals that were offline may send payments of the last few days
        days.enable_time_to_live(StateTtlConfig.new_builder(Time.days(7)).build())
        self.days: MapState[str, Spending] = runtime_context.get_map_state(days)

    def process_element(
        self, value: Payment, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[Alert]:
        day = day_of(value)
        spending = self.days.get(day) or self._spending()
        spending.cents += value.cents
        limits = ctx.get_broadcast_state(LIMITS)
        limit = limits.get(value.country) or limits.get("*")
        if limit is not None and spending.cents > limit and not spending.reported:
            spending.reported = True
            yield {"kind": "daily limit", "card": value.card, "at": [day], "cents": [limit]}
        self.days.put(day, spending)

    def process_broadcast_element(
        self, value: dict[str, Any], ctx: KeyedBroadcastProcessFunction.Context
    ) -> None:
        ctx.get_broadcast_state(LIMITS).put(value["country"], value["cents"])
