"""Patterns of rows in a row: quantifiers, greedy and reluctant, and what may be left out."""

from conformance.match_recognize import Clause, found, prices

KINDS = "A AS A.price < 10, B AS B.price >= 10 AND B.price < 20, C AS C.price >= 20"
# what B and C both take shows how much a quantifier takes
OVERLAP = "A AS A.price < 10, B AS B.price >= 5, C AS C.price < 15"

CLAUSES = {
    "a b c": Clause("(A B C)", KINDS),
    "a b+ c": Clause("(A B+ C)", KINDS),
    "a b* c": Clause("(A B* C)", KINDS),
    "a b? c": Clause("(A B? C)", KINDS),
    "a b{2} c": Clause("(A B{2} C)", KINDS),
    "a b{1,2} c": Clause("(A B{1,2} C)", KINDS),
    "a b{2,} c": Clause("(A B{2,} C)", KINDS),
    "a+ b+ c": Clause("(A+ B+ C)", KINDS),
    "a b+ c greedy": Clause("(A B+ C)", OVERLAP),
    "a b+? c reluctant": Clause("(A B+? C)", OVERLAP),
    "a b{2,}? c reluctant": Clause("(A B{2,}? C)", OVERLAP),
    "a b+? reluctant": Clause("(A B+?)", OVERLAP),
}


def low(value):
    return value[2] < 10


def middle(value):
    return 10 <= value[2] < 20


def high(value):
    return value[2] >= 20


def patterns():
    from millrace.cep import AfterMatchSkipStrategy, Pattern

    past_last = AfterMatchSkipStrategy.skip_past_last_event()

    def a_b():
        return Pattern.begin("A", past_last).where(low).next("B").where(middle)

    def overlapping():
        a = Pattern.begin("A", past_last).where(low)
        return a.next("B").where(lambda value: value[2] >= 5)

    def then(part, condition=high):
        return part.next("C").where(condition)

    def then_overlapping(part):
        return then(part, lambda value: value[2] < 15)

    lows = Pattern.begin("A", past_last).where(low).one_or_more().consecutive().greedy()
    middles = lows.next("B").where(middle).one_or_more().consecutive().greedy()
    return {
        "a b c": then(a_b()),
        "a b+ c": then(a_b().one_or_more().consecutive().greedy()),
        "a b* c": then(a_b().one_or_more().optional().consecutive().greedy()),
        "a b? c": then(a_b().optional()),
        "a b{2} c": then(a_b().times(2).consecutive()),
        "a b{1,2} c": then(a_b().times(1, 2).consecutive().greedy()),
        "a b{2,} c": then(a_b().times_or_more(2).consecutive().greedy()),
        "a+ b+ c": then(middles),
        "a b+ c greedy": then_overlapping(overlapping().one_or_more().consecutive().greedy()),
        "a b+? c reluctant": then_overlapping(overlapping().one_or_more().consecutive()),
        "a b{2,}? c reluctant": then_overlapping(overlapping().times_or_more(2).consecutive()),
        "a b+? reluctant": overlapping().one_or_more().consecutive(),
    }


def build(env):
    return found(env, prices(240), CLAUSES, patterns)
