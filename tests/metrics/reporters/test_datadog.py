from __future__ import annotations

import json
import zlib

import pytest

from millrace.common.errors import ConfigurationError
from millrace.metrics.reporters.datadog import DatadogReporter


def content(request) -> list[dict]:
    packed = request.headers.get("content-encoding") == "deflate"
    return json.loads(zlib.decompress(request.body) if packed else request.body)["series"]


def test_series_arrive_with_tags(settings, http_listener, measurements) -> None:
    reporter = DatadogReporter(
        settings(
            apikey="sesame",
            host=f"http://127.0.0.1:{http_listener.port}",
            tags="env:prod, team:shop",
            useLogicalIdentifier="true",
            maxMetricsPerRequest="3",
        )
    )
    reporter.open(lambda: ())
    reporter.report(measurements)
    first = http_listener.requests.get(timeout=20)
    assert first.path.startswith("/api/v1/series")
    assert first.headers.get("dd-api-key", "sesame") == "sesame"
    series = content(first)
    others = [content(http_listener.requests.get(timeout=20)) for _ in range(2)]
    assert [len(series), *map(len, others)] == [3, 3, 3]
    assert series[0]["metric"] == "jobmanager.job.numRestarts"
    assert series[0]["points"][0][1] == 2
    assert series[0]["host"] == "here"
    assert series[0]["tags"] == ["env:prod", "team:shop", "job_id:00", "job_name:count it"]
    assert "topic:orders" in series[2]["tags"]


def test_wrong_parameters(settings) -> None:
    with pytest.raises(ConfigurationError, match="apikey: is missing"):
        DatadogReporter(settings()).open(lambda: ())
    with pytest.raises(ConfigurationError, match="'MOON' is neither US nor EU"):
        DatadogReporter(settings(apikey="k", dataCenter="moon")).open(lambda: ())
