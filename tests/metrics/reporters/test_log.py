from __future__ import annotations

import logging

from millrace.metrics.reporters.log import LogReporter


def test_a_line_per_metric(settings, measurements, caplog) -> None:
    with caplog.at_level(logging.INFO, "millrace"):
        LogReporter(settings({"metrics.scope.operator": "<operator_name>"})).report(measurements)
    assert caplog.messages == [
        "metrics report:\n"
        "Map.numRecordsIn: 7\n"
        "Map.size: count=4, mean=2.5, min=1, max=4, p50=2, p99=4\n"
        "Map.topic.orders.lag: -1.5\n"
        "here.jobmanager.count it.lastCheckpointExternalPath: /x\n"
        "here.jobmanager.count it.numRestarts: 2"
    ]
