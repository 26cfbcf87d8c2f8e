"""Programs that mypy must refuse, each at the line that says so."""

from right import (
    LIMITS,
    Alert,
    Both,
    Count,
    Lookup,
    Mean,
    Named,
    Rules,
    Sorted,
    by_shop,
    found,
    joined,
    numbers,
    sales,
    sink,
    words,
)

from millrace.cep import CEP, Pattern
from millrace.common import Types
from millrace.datastream import AsyncDataStream, ProcessFunction, RuntimeContext
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millrace.datastream.window import TumblingEventTimeWindows

WINDOWS = TumblingEventTimeWindows.of(1)

numbers.map(len)  # wrong: an int has no length
numbers.map(str).map(lambda word: word + 1)  # wrong: the words are no numbers
numbers.filter(lambda number: number.isalpha())  # wrong
words.flat_map(len)  # wrong: one number is not several
words.union(numbers)  # wrong: another type
words.key_by(lambda word: word.size)  # wrong: no such attribute
words.key_by(len).process(Count())  # wrong: of other records and keys
numbers.process(Count())  # wrong: there are no keys
sales.key_by(lambda sale: sale[1]).process(Count())  # wrong: keys are numbers
words.key_by(len).window(WINDOWS).aggregate(Mean())  # wrong: of other records
by_shop.window(WINDOWS).process(Named())  # wrong: gets sales, not means
by_shop.window(WINDOWS).reduce(lambda one, other: one[1])  # wrong: not of the same type
words.connect(numbers).map(Both())  # wrong: the other way round
words.connect(numbers).key_by(len, len)  # wrong: a number has no length
joined.window(WINDOWS).apply(lambda sale, word: sale + word)  # wrong: neither adds up
sales.join(words).where(lambda sale: sale.shop)  # wrong: no such attribute
by_shop.interval_join(words)  # wrong: has no keys
numbers.iterate().close_with(words)  # wrong: another type
AsyncDataStream.ordered_wait(numbers, Lookup(), 5)  # wrong: looks up words
AsyncDataStream.ordered_wait(words, len, 5)  # wrong: not asynchronous
by_shop.connect(words.broadcast(LIMITS)).process(Rules())  # wrong: rules are numbers
numbers.process(Sorted())  # wrong: takes words
words.sink_to(sink)  # wrong: takes numbers
words.add_sink(lambda word: word.count())  # wrong: count() of what?
found.select(lambda match: match.large)  # wrong: a match is a dict
found.select(lambda match: match["large"][0].shop)  # wrong: no such attribute
found.flat_select(len)  # wrong: one number is not several
CEP.pattern(words, Pattern.begin("a")).process(Alert())  # wrong: takes sales
Pattern.begin("a").times("2")  # wrong: not a number


class Typed(ProcessFunction[int, int]):
    def open(self, runtime_context: RuntimeContext) -> None:
        context = runtime_context
        count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
        count.update("1")  # wrong: a text is no long
        (count.value() or 0).upper()  # wrong: a long is not a text
        words: ValueState[str] = context.get_state(
            ValueStateDescriptor("words", Types.LONG())  # wrong: it is of longs
        )
        words.update("a")
        context.get_map_state(MapStateDescriptor("m", Types.STRING(), Types.LONG())).put(
            1,  # wrong: keys are texts
            1,
        )
        context.get_list_state(ListStateDescriptor("l", Types.LIST(Types.DOUBLE()))).add(
            1.5  # wrong: a list of lists
        )


ValueStateDescriptor("point", int)  # wrong: a class is not a type
Types.LIST(int)  # wrong: nor here
