from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from millrace.metrics.reporters.push_gateway import PushGatewayReporter


def test_metrics_are_pushed_and_deleted_at_the_end(settings, http_listener, measurements) -> None:
    url = f"http://127.0.0.1:{http_listener.port}"
    reporter = PushGatewayReporter(
        settings(hostUrl=url, jobName="nightly", groupingKey="region=eu;team=shop")
    )
    reporter.open(lambda: ())
    reporter.report(measurements)
    reporter.close()
    pushed, deleted = http_listener.requests.get(timeout=20), http_listener.requests.get(timeout=20)
    assert (pushed.method, deleted.method) == ("PUT", "DELETE")
    assert pushed.path == deleted.path
    assert pushed.path.startswith("/metrics/job/nightly")
    assert len(pushed.path) > len("/metrics/job/nightly/region/eu/team/shop")  # a random suffix
    assert pushed.path.endswith("/region/eu/team/shop")
    families = {f.name: f for f in text_string_to_metric_families(pushed.body.decode())}
    assert families["flink_jobmanager_job_numRestarts"].samples[0].value == 2
    assert families["flink_taskmanager_job_task_operator_size"].type == "summary"


def test_what_stays(settings, http_listener, measurements) -> None:
    url = f"http://127.0.0.1:{http_listener.port}"
    fixed = settings(
        hostUrl=url, jobName="n", randomJobNameSuffix="false", deleteOnShutdown="false"
    )
    reporter = PushGatewayReporter(fixed)
    reporter.open(lambda: ())
    reporter.report(measurements)
    reporter.close()
    assert http_listener.requests.get(timeout=20).path == "/metrics/job/n"
    assert http_listener.requests.empty()


def test_a_gateway_that_is_not_there(settings, measurements) -> None:
    reporter = PushGatewayReporter(settings(hostUrl="http://127.0.0.1:9"))
    reporter.open(lambda: ())
    with pytest.raises(OSError, match="refused"):
        reporter.report(measurements)
