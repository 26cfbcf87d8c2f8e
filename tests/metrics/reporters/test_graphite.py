from __future__ import annotations

import pytest

from millrace.common.errors import ConfigurationError
from millrace.metrics.reporters.graphite import GraphiteReporter


def received(listener) -> list[str]:
    connection, _ = listener.accept()
    with connection, connection.makefile() as lines:
        return [line.rsplit(" ", 1)[0] for line in lines]


def test_lines_arrive_with_labels_in_their_paths(settings, tcp_listener, measurements) -> None:
    host, port = tcp_listener.getsockname()
    reporter = GraphiteReporter(
        settings(host=host, port=str(port), path="prod", scope__variables__excludes="job_id")
    )
    reporter.report(measurements)
    lines = received(tcp_listener)
    assert lines[0] == ("prod.flink_jobmanager_job_numRestarts.host.here.job_name.count_it 2.0")
    assert any("topic_lag" in line and ".topic.orders -1.5" in line for line in lines)
    assert any("size_count" in line and line.endswith(" 4.0") for line in lines)


def test_tags(settings, tcp_listener, measurements) -> None:
    host, port = tcp_listener.getsockname()
    GraphiteReporter(settings(host=host, port=str(port), tags="true")).report(measurements[:1])
    assert received(tcp_listener) == [
        "flink_jobmanager_job_numRestarts;host=here;job_id=00;job_name=count_it 2.0"
    ]


def test_a_host_is_needed(settings, measurements) -> None:
    with pytest.raises(ConfigurationError, match="metrics.reporter.r.host: is missing"):
        GraphiteReporter(settings()).report(measurements)
