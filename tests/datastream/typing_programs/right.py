"""Programs that mypy must accept, with the types it must find."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, assert_type

from millrace.cep import CEP, Pattern, PatternProcessFunction
from millrace.common import Row, Time, TypeInformation, Types, WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    CoMapFunction,
    CountWindow,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    TimeWindow,
    WindowedStream,
)
from millrace.datastream.functions import ProcessAllWindowFunction
from millrace.datastream.state import (
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millrace.datastream.window import CountTrigger, TumblingEventTimeWindows
from millrace.testing import CollectingSink, MiniJob, PushedSource

Sale = tuple[str, int]
LATE: OutputTag[Sale] = OutputTag("late")
WINDOWS = TumblingEventTimeWindows.of(Time.seconds(1))

env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection([1, 2])
words = env.from_collection(["to be"])
sales: DataStream[Sale] = env.from_collection([("a", 1)])

assert_type(numbers, DataStream[int])
assert_type(numbers.map(str), DataStream[str])
assert_type(words.map(len), DataStream[int])
assert_type(words.flat_map(str.split).filter(str.isalpha), DataStream[str])
assert_type(words.execute_and_collect(limit=2), list[str])
assert_type(numbers.union(words.map(len)).rebalance(), DataStream[int])
assert_type(numbers.name("numbers").set_parallelism(2), DataStream[int])
strategy: WatermarkStrategy[Sale] = WatermarkStrategy.for_monotonous_timestamps()
timed = strategy.with_timestamp_assigner(lambda sale, _: sale[1])
assert_type(sales.assign_timestamps_and_watermarks(timed), DataStream[Sale])

by_shop = sales.key_by(lambda sale: sale[0])
assert_type(by_shop, KeyedStream[Sale, str])
assert_type(by_shop.window(WINDOWS), WindowedStream[Sale, str, TimeWindow])
assert_type(by_shop.sum(1), DataStream[Sale])


class Count(KeyedProcessFunction[str, Sale, int]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor[int]("count"))

    def process_element(self, value: Sale, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        self.count.update((self.count.value() or 0) + 1)
        yield self.count.value() or 0


assert_type(by_shop.process(Count()), DataStream[int])


class Mean(AggregateFunction[Sale, list[int], float]):
    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Sale, accumulator: list[int]) -> list[int]:
        return [*accumulator, value[1]]

    def get_result(self, accumulator: list[int]) -> float:
        return sum(accumulator) / len(accumulator)

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


class Named(ProcessWindowFunction[float, str, str, TimeWindow]):
    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[float],
    ) -> Iterator[str]:
        yield f"{key} {next(iter(elements))}"


windows = by_shop.window(WINDOWS).trigger(CountTrigger.of(1)).side_output_late_data(LATE)
assert_type(windows.reduce(lambda one, other: one), DataStream[Sale])
assert_type(windows.aggregate(Mean()), DataStream[float])
assert_type(windows.aggregate(Mean(), Named()), DataStream[str])
assert_type(windows.aggregate(Mean()).get_side_output(LATE), DataStream[Sale])
assert_type(numbers.count_window_all(2).reduce(lambda a, b: a + b), DataStream[int])

joined = sales.join(words).where(lambda sale: sale[0]).equal_to(lambda word: word)
assert_type(joined.window(WINDOWS).apply(lambda sale, word: sale[1]), DataStream[int])
groups = sales.co_group(words).where(0).equal_to(str.upper).window(WINDOWS).allowed_lateness(5)
assert_type(groups.apply(lambda first, second: [len(first)]), DataStream[int])
close = by_shop.interval_join(words.key_by(str.upper)).between(0, 5)
assert_type(close.process(lambda sale, word: word), DataStream[str])


class Both(CoMapFunction[int, str, bytes]):
    def map1(self, value: int) -> bytes:
        return bytes(value)

    def map2(self, value: str) -> bytes:
        return value.encode()


assert_type(numbers.connect(words).map(Both()), DataStream[bytes])
loop = numbers.iterate()
assert_type(loop.close_with(loop.map(lambda n: n - 1)), DataStream[int])


class Lookup(AsyncFunction[str, int]):
    async def async_invoke(self, value: str) -> list[int]:
        return [len(value)]


async def lengths(value: str) -> list[int]:
    return [len(value)]


assert_type(AsyncDataStream.unordered_wait(words, Lookup(), Time.seconds(1)), DataStream[int])
assert_type(AsyncDataStream.ordered_wait(words, lengths, 1_000), DataStream[int])


class Rules(KeyedBroadcastProcessFunction[str, Sale, int, str]):
    def process_element(
        self, value: Sale, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[str]:
        limit = ctx.get_broadcast_state(LIMITS).get("limit")
        if limit is not None and value[1] > limit:
            yield value[0]

    def process_broadcast_element(
        self, value: int, ctx: KeyedBroadcastProcessFunction.Context
    ) -> None:
        ctx.get_broadcast_state(LIMITS).put("limit", value)


LIMITS: MapStateDescriptor[str, int] = MapStateDescriptor("limits")
assert_type(by_shop.connect(numbers.broadcast(LIMITS)).process(Rules()), DataStream[str])
assert_type(numbers.broadcast(), DataStream[int])


class Sorted(ProcessFunction[str, int]):
    def process_element(
        self, value: str, ctx: ProcessFunction.Context
    ) -> Iterator[int | tuple[OutputTag[str], str]]:
        yield len(value)
        yield BAD, value


BAD = OutputTag[str]("bad")
assert_type(words.process(Sorted()).get_side_output(BAD), DataStream[str])


class Whole(ProcessAllWindowFunction[int, str, CountWindow]):
    def process(
        self, context: ProcessAllWindowFunction.Context[CountWindow], elements: Iterable[int]
    ) -> Iterator[str]:
        yield str(list(elements))


assert_type(numbers.count_window_all(2).process(Whole()), DataStream[str])
assert_type(numbers.count_window_all(2).reduce(max, Whole()), DataStream[str])


class Enrich(KeyedCoProcessFunction[str, Sale, str, tuple[str, int]]):
    def process_element1(
        self, value: Sale, ctx: KeyedCoProcessFunction.Context
    ) -> Iterator[tuple[str, int]]:
        yield value

    def process_element2(self, value: str, ctx: KeyedCoProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(5)


enriched = sales.connect(words).key_by(lambda sale: sale[0], lambda word: word).process(Enrich())
assert_type(enriched, DataStream[tuple[str, int]])

sequence = env.from_source(NumberSequenceSource(1, 5), WatermarkStrategy.no_watermarks(), "numbers")
assert_type(sequence, DataStream[int])
sink: CollectingSink[int] = CollectingSink()
sequence.sink_to(sink)
sequence.add_sink(print)
assert_type(sink.values(), list[int])
with MiniJob() as job:
    clicks: PushedSource[str] = job.source("clicks")
    assert_type(job.collect(clicks.stream.map(len)).take(), list[int])


class Alert(PatternProcessFunction[Sale, str]):
    def process_match(
        self, match: dict[str, list[Sale]], ctx: PatternProcessFunction.Context
    ) -> Iterator[str]:
        yield match["large"][0][0]


large = Pattern.begin("large").where(lambda value: value[1] > 100).times(2).within(Time.seconds(9))
found = CEP.pattern(sales.key_by(0), large).side_output_late_data(LATE)
assert_type(found.process(Alert()), DataStream[str])
assert_type(found.select(lambda match: match["large"][0][1]), DataStream[int])
assert_type(found.flat_select(lambda match: match["large"]), DataStream[Sale])
ended: OutputTag[int] = OutputTag("ended")
assert_type(
    found.select(
        lambda match: match["large"][0][0],
        timed_out_tag=ended,
        timeout_function=lambda match, time: time,
    ),
    DataStream[str],
)


class Typed(ProcessFunction[int, int]):
    def open(self, runtime_context: RuntimeContext) -> None:
        context = runtime_context
        count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
        assert_type(count, ValueState[int])
        assert_type(count.value(), int | None)
        names = context.get_list_state(ListStateDescriptor("names", Types.STRING()))
        assert_type(names, ListState[str])
        prices = context.get_map_state(MapStateDescriptor("m", Types.STRING(), Types.BIG_DEC()))
        assert_type(prices, MapState[str, Decimal])
        lists = context.get_state(ValueStateDescriptor("l", Types.LIST(Types.DOUBLE())))
        assert_type(lists, ValueState[list[float]])
        rows = context.get_state(ValueStateDescriptor("r", Types.ROW([Types.INT()])))
        assert_type(rows, ValueState[Row])
        points = context.get_state(ValueStateDescriptor("p", Types.of(Point)))
        assert_type(points, ValueState[Point])
        largest = ReducingStateDescriptor("largest", max, Types.INT())
        assert_type(context.get_reducing_state(largest), ReducingState[int])
        assert_type(context.get_state(ValueStateDescriptor("any")), ValueState[Any])
        pairs: ValueState[tuple[str, int]] = context.get_state(
            ValueStateDescriptor("pairs", Types.TUPLE([Types.STRING(), Types.INT()]))
        )
        pairs.update(("a", 1))


@dataclass
class Point:
    x: int


assert_type(Types.MAP(Types.STRING(), Types.LONG()), TypeInformation[dict[str, int]])
