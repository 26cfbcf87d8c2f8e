"""Where the search for the next match begins after one was found."""

from conformance.match_recognize import Clause, found, prices

DEFINE = "A AS A.price < 18, B AS B.price >= 10 AND B.price < 24, C AS C.price >= 20"

CLAUSES = {
    "past last": Clause("(A B C)", DEFINE, "PAST LAST ROW"),
    "to next": Clause("(A B C)", DEFINE, "TO NEXT ROW"),
    "to first b": Clause("(A B+ C)", DEFINE, "TO FIRST B"),
    "to last b": Clause("(A B+ C)", DEFINE, "TO LAST B"),
    "to first c": Clause("(A B C)", DEFINE, "TO FIRST C"),
    "to next a{2}": Clause("(A{2} B C)", DEFINE, "TO NEXT ROW"),
    "to last a{2}": Clause("(A{2} B C)", DEFINE, "TO LAST A"),
}


def patterns():
    from millrace.cep import AfterMatchSkipStrategy, Pattern

    skip = AfterMatchSkipStrategy

    def a_b_c(strategy, twice=False, loop=False):
        a = Pattern.begin("A", strategy).where(lambda value: value[2] < 18)
        if twice:
            a = a.times(2).consecutive()
        b = a.next("B").where(lambda value: 10 <= value[2] < 24)
        if loop:
            b = b.one_or_more().consecutive().greedy()
        return b.next("C").where(lambda value: value[2] >= 20)

    return {
        "past last": a_b_c(skip.skip_past_last_event()),
        "to next": a_b_c(skip.skip_to_next()),
        "to first b": a_b_c(skip.skip_to_first("B").throw_exception_on_miss(), loop=True),
        "to last b": a_b_c(skip.skip_to_last("B").throw_exception_on_miss(), loop=True),
        "to first c": a_b_c(skip.skip_to_first("C").throw_exception_on_miss()),
        "to next a{2}": a_b_c(skip.skip_to_next(), twice=True),
        "to last a{2}": a_b_c(skip.skip_to_last("A").throw_exception_on_miss(), twice=True),
    }


def build(env):
    return found(env, prices(240, seed=11), CLAUSES, patterns)
