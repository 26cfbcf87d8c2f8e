"""Conditions that look at rows taken before, sums over them, and limits of time."""

from conformance.match_recognize import Clause, found, prices

FALLING = "B AS (LAST(B.price, 1) IS NULL OR B.price < LAST(B.price, 1))"

CLAUSES = {
    "falling then up": Clause(
        "(A B+ C)", f"{FALLING} AND B.price < A.price, C AS C.price > LAST(B.price)"
    ),
    "falling while it can": Clause("(A B+? C)", f"{FALLING}, C AS C.price > 15"),
    "twice the first": Clause("(A B)", "A AS A.price > 0, B AS B.price >= 2 * FIRST(A.price)"),
    "sum below 30": Clause("(A+ B)", "A AS SUM(A.price) < 30, B AS B.price > 10"),
    "within 1 s": Clause(
        "(A B+ C)",
        "A AS A.price < 10, B AS B.price >= 10, C AS C.price < 10",
        within="INTERVAL '1' SECOND",
    ),
    "within 500 ms": Clause(
        "(A B)", "A AS A.price < 20, B AS B.price >= 5", within="INTERVAL '0.5' SECOND"
    ),
}


def last(ctx, name):
    return ctx.get_events_for_pattern(name)[-1][2]


def falling(value, ctx):
    before = ctx.get_events_for_pattern("B")
    return not before or value[2] < before[-1][2]


def patterns():
    from millrace.cep import AfterMatchSkipStrategy, Pattern

    def begin():
        return Pattern.begin("A", AfterMatchSkipStrategy.skip_past_last_event())

    def some_falling():
        return begin().next("B").where(falling).one_or_more().consecutive()

    def sum_below_30(value, ctx):
        return value[2] + sum(row[2] for row in ctx.get_events_for_pattern("A")) < 30

    lows = begin().where(lambda value: value[2] < 10)
    highs = lows.next("B").where(lambda value: value[2] >= 10).one_or_more().consecutive().greedy()
    return {
        "falling then up": begin()
        .next("B")
        .where(lambda value, ctx: falling(value, ctx) and value[2] < last(ctx, "A"))
        .one_or_more()
        .consecutive()
        .greedy()
        .next("C")
        .where(lambda value, ctx: value[2] > last(ctx, "B")),
        "falling while it can": some_falling().next("C").where(lambda value: value[2] > 15),
        "twice the first": begin()
        .where(lambda value: value[2] > 0)
        .next("B")
        .where(lambda value, ctx: value[2] >= 2 * last(ctx, "A")),
        "sum below 30": begin()
        .where(sum_below_30)
        .one_or_more()
        .consecutive()
        .greedy()
        .next("B")
        .where(lambda value: value[2] > 10),
        "within 1 s": highs.next("C").where(lambda value: value[2] < 10).within(1000),
        "within 500 ms": begin()
        .where(lambda value: value[2] < 20)
        .next("B")
        .where(lambda value: value[2] >= 5)
        .within(500),
    }


def build(env):
    return found(env, prices(240, seed=5), CLAUSES, patterns)
