"""What is done to an order on its way from a dirty line to a clean file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from millrace.common import DeadLetter, OutputTag, Time, Types
from millrace.connectors import FileOrigin
from millrace.datastream import (
    AsyncFunction,
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeContext,
)
from millrace.datastream.state import StateTtlConfig, ValueState, ValueStateDescriptor

Record = dict[str, Any]
REFUSED: OutputTag[Record] = OutputTag("refused")
DUPLICATES: OutputTag[Record] = OutputTag("duplicates")
MOST = 10_000.0
"""Euros that an order may be worth."""


@dataclass
class Order:
    """An order, and where it stood."""

    order: str
    day: str
    country: str
    article: str
    amount: float
    note: str
    file: str
    offset: int


class Check(ProcessFunction[tuple[Record, FileOrigin], Order]):
    """Makes orders of records whose values make sense; the others are refused.

    Args:
        most: the highest amount that is believed.
    """

    def __init__(self, most: float = MOST) -> None:
        self._most = most

    def process_element(
        self, value: tuple[Record, FileOrigin], ctx: ProcessFunction.Context
    ) -> Iterator[Any]:
        record, origin = value
        place: Record = {"file": Path(origin.path).name, "offset": origin.offset}
        try:
            at = datetime.fromisoformat(record.pop("at"))
            if record["amount"] is None or not 0 < record["amount"] <= self._most:
                raise ValueError(f"an order of {record['amount']} euros")
        except ValueError as error:
            yield REFUSED, {**place, "error": str(error)}
        else:
            yield Order(**record, **place, day=at.date().isoformat())


class ArticleService:
    """Stands for a service that is slow, forgetful, and at times not there."""

    def __init__(self) -> None:
        self._names = {"pen": "Fountain pen", "lamp": "Desk lamp", "chair": "Office chair"}
        self._calls = 0

    async def name(self, article: str) -> str | None:
        """The name of an article; None: there is none."""
        self._calls += 1
        busy = self._calls % 20 == 0
        await asyncio.sleep(0.005)
        if busy:
            raise ConnectionError("the service is busy")
        return self._names.get(article)


class NameOfArticle(AsyncFunction[Order, tuple[Order, str | None]]):
    """Asks the service, with many requests at a time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.service = ArticleService()

    async def async_invoke(self, value: Order) -> list[tuple[Order, str | None]]:
        return [(value, await self.service.name(value.article))]


class Named(ProcessFunction[tuple[Order, str | None], Order]):
    """Gives articles their names; orders of unknown ones are refused."""

    def process_element(
        self, value: tuple[Order, str | None], ctx: ProcessFunction.Context
    ) -> Iterator[Any]:
        order, name = value
        if name is None:
            error = f"there is no article {order.article!r}"
            yield REFUSED, {"file": order.file, "offset": order.offset, "error": error}
        else:
            yield replace(order, article=name)


@dataclass
class First:
    """Where an order was seen first."""

    file: str


class Deduplicate(KeyedProcessFunction[str, Order, Order]):
    """Lets the first of several equal orders pass, for a month.

    Args:
        kept: the class of what is remembered of an order.
    """

    def __init__(self, kept: type[First] = First) -> None:
        self._kept = kept

    def open(self, runtime_context: RuntimeContext) -> None:
        first = ValueStateDescriptor("first", Types.of(self._kept))
        first.enable_time_to_live(StateTtlConfig.new_builder(Time.days(30)).build())
        self.first: ValueState[First] = runtime_context.get_state(first)

    def process_element(self, value: Order, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        first = self.first.value()
        if first is None:
            self.first.update(self._kept(value.file))
            yield value
        else:
            yield DUPLICATES, {"file": value.file, "offset": value.offset, "first": first.file}


def described(letter: DeadLetter) -> Record:
    """A line that could not be read, in the form of those that are refused."""
    return {"file": Path(letter.source).name, "offset": letter.offset, "error": letter.error}
