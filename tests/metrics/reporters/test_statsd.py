from __future__ import annotations

from millrace.metrics.reporters.statsd import StatsdReporter


def test_gauges_arrive_under_the_names_of_the_scope_formats(
    settings, udp_listener, measurements
) -> None:
    host, port = udp_listener.getsockname()
    formats = {"metrics.scope.operator": "<job_name>.<operator_name>.<tm_id>.<subtask_index>"}
    reporter = StatsdReporter(settings(formats, host=host, port=str(port)))
    reporter.open(lambda: ())
    reporter.report(measurements)
    reporter.close()
    lines: list[str] = []
    while "count it.Map.here-7.0.size.p99:4|g" not in lines:
        lines += udp_listener.recv(65_536).decode().split("\n")
    assert lines == [
        "here.jobmanager.count it.numRestarts:2|g",
        "count it.Map.here-7.0.numRecordsIn:7|g",
        # a sign means a change to StatsD, so a negative number follows a zero
        "count it.Map.here-7.0.topic.orders.lag:0|g",
        "count it.Map.here-7.0.topic.orders.lag:-1.5|g",
        "count it.Map.here-7.0.size.count:4|g",
        "count it.Map.here-7.0.size.mean:2.5|g",
        "count it.Map.here-7.0.size.min:1|g",
        "count it.Map.here-7.0.size.max:4|g",
        "count it.Map.here-7.0.size.p50:2|g",
        "count it.Map.here-7.0.size.p99:4|g",
    ]
