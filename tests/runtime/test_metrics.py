from __future__ import annotations

from millrace.runtime.metrics import (
    CounterRate,
    EventCounter,
    MetricDescription,
    MetricRegistry,
    RecentValues,
    RegisteredGroup,
)


def test_counters_and_meters_tell_what_is_new() -> None:
    registry = MetricRegistry()
    group = RegisteredGroup(registry)
    counter, meter = group.counter("n"), group.meter("m")
    counter.inc()
    counter.inc(5)
    counter.dec()
    meter.mark_event()
    assert registry.counts() == {"n": 5, "m": 1}
    meter.mark_event(2)
    assert registry.counts() == {"n": 0, "m": 2}
    assert (counter.get_count(), meter.get_count()) == (5, 3)


def test_gauges_and_distributions_tell_what_is() -> None:
    registry = MetricRegistry()
    group = RegisteredGroup(registry)
    level = [3]
    group.gauge("level", lambda: level[0])
    sizes = group.distribution("sizes")
    empty = {"count": 0, "sum": 0, "min": None, "max": None}
    assert registry.values() == {"level": 3, "sizes": empty}
    level[0] = 4
    sizes.update(5)
    sizes.update(-1)
    assert registry.values() == {"level": 4, "sizes": {"count": 2, "sum": 4, "min": -1, "max": 5}}


def test_groups_make_longer_names_and_names_are_shared() -> None:
    registry = MetricRegistry()
    group = RegisteredGroup(registry)
    inner = group.add_group("kafka").add_group("topic", "t1")
    inner.counter("n").inc()
    assert group.add_group("kafka").add_group("topic", "t1").counter("n").get_count() == 1
    assert registry.counts() == {"kafka.topic.t1.n": 1}


def test_what_is_registered_is_described_once() -> None:
    registry = MetricRegistry()
    group = RegisteredGroup(registry).add_group("kafka").add_group("topic", "t1")
    group.counter("n")
    group.meter("m", 30)
    group.gauge("lag", lambda: 3)
    group.distribution("sizes")
    topic = {"<topic>": "t1"}
    assert registry.descriptions() == {
        "kafka.topic.t1.n": MetricDescription("counter", "kafka.topic.n", topic),
        "kafka.topic.t1.m": MetricDescription("meter", "kafka.topic.m", topic, 30),
        "kafka.topic.t1.lag": MetricDescription("gauge", "kafka.topic.lag", topic),
        "kafka.topic.t1.sizes": MetricDescription("histogram", "kafka.topic.sizes", topic),
    }
    assert registry.descriptions() == {}
    group.counter("n")
    assert registry.descriptions() == {}


def test_the_rate_of_a_counter_tells_its_increments() -> None:
    registry = MetricRegistry()
    counter = registry.register("n", EventCounter(), "n", {})
    registry.register("nRate", CounterRate(counter, 30), "nRate", {})
    counter.count += 4
    assert registry.counts() == {"n": 4, "nRate": 4}
    counter.count += 1
    assert registry.counts() == {"n": 1, "nRate": 1}
    assert registry.descriptions()["nRate"] == MetricDescription("meter", "nRate", {}, 30)


def test_quantiles_are_those_of_the_last_values() -> None:
    registry = MetricRegistry()
    recent = registry.register("ms", RecentValues(100), "ms", {})
    nothing = {"count": 0, "sum": 0.0, "min": None, "max": None, "quantiles": {}}
    assert registry.news()["ms"] == nothing
    for value in range(200):
        recent.update(value)
    told = registry.news()["ms"]
    assert (told["count"], told["sum"]) == (200, 19_900.0)
    assert (told["min"], told["max"]) == (100, 199)
    assert (told["quantiles"]["0.5"], told["quantiles"]["0.99"]) == (150, 199)
    assert registry.descriptions()["ms"].kind == "histogram"
