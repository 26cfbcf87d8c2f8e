"""1,000 rules of two steps, which are a stream of their own, over the events of 10,000 keys.

    python dynamic_rules.py EVENTS --checkpoint-dir DIR [--check]

See ``benchmarks/workloads.md``. Checkpoints every epoch, durably. Prints one JSON line; ``seconds``
is the time ``execute`` takes.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from operator import itemgetter
from typing import Any

from workload import PRIME, check, environment, numbers, slowly, timed

from millrace.cep import CEP
from millrace.cep.rules import RuleMatch
from millrace.datastream import DataStream, StreamExecutionEnvironment

KEYS, RULES, KINDS, LARGE = 10_000, 1_000, 100, 500
WITHIN = 5
"""Seconds; a key has an event in each."""
Event = dict[str, int]


def event(i: int) -> Event:
    value = i * i % 1_000_003
    return {"key": i * PRIME % KEYS, "kind": value % KINDS, "amount": value // 1000}


def second_kind(rule: int) -> int:
    return (rule * 7 + rule // KINDS) % KINDS


def rule(number: int) -> str:
    """A rule as JSON."""
    first = {"field": "kind", "op": "==", "value": number % KINDS}
    kind = {"field": "kind", "op": "==", "value": second_kind(number)}
    amount = {"field": "amount", "op": ">=", "value": LARGE}
    parts = [{"name": "first", "where": first}, {"name": "then", "where": {"and": [kind, amount]}}]
    pattern = {"parts": parts, "within": f"{WITHIN} s"}
    return json.dumps({"format": 1, "rule": str(number), "version": 1, "pattern": pattern})


def found(match: RuleMatch) -> tuple[str, int, int, int]:
    """The rule, the key, the kind of the first event, the amount of the second."""
    [first], [then] = match["first"], match["then"]
    return match.rule, first["key"], first["kind"], then["amount"]


def matches(env: StreamExecutionEnvironment, n: int) -> DataStream[Any]:
    events = numbers(env, n, slowly(n)).map(event).key_by(itemgetter("key"))
    rules = env.from_collection([rule(number) for number in range(RULES)])
    return CEP.dynamic_pattern(events, rules).select(found)


def expected(n: int) -> Counter[Any]:
    """Straight from the definition."""
    by_key: dict[int, list[tuple[int, Event]]] = {}
    for i in range(n):
        seen = event(i)
        by_key.setdefault(seen["key"], []).append((i % (n // 2) // 5, seen))
    result: Counter[Any] = Counter()
    for key, timed_events in by_key.items():
        timed_events.sort(key=itemgetter(0))
        for index, (start, first) in enumerate(timed_events):
            soon = [e for t, e in timed_events[index + 1 : index + 20] if t < start + WITHIN * 1000]
            for number in range(first["kind"], RULES, KINDS):
                wanted = second_kind(number)
                for then in soon:
                    if then["kind"] == wanted and then["amount"] >= LARGE:
                        result[str(number), key, first["kind"], then["amount"]] += 1
                        break
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("events", type=int)
    parser.add_argument("--checkpoint-dir", required=True)
    parser.add_argument("--check", action="store_true", help="compare the results, do not time")
    args = parser.parse_args()
    env = environment(args.checkpoint_dir)
    stream = matches(env, args.events)
    report: dict[str, Any] = {"records": args.events}
    if args.check:
        report["checked"] = check(stream, expected(args.events))
    else:
        report |= timed(env, stream)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
