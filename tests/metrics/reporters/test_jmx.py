"""Metrics as beans of the driver's JVM, read as JMX tools read them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from millrace.common.config.configuration import Configuration
from millrace.metrics.measurement import HistogramValue, Measurement, MetricKind, MetricScope
from millrace.metrics.reporter_factories import reporters_of

JOB = MetricScope("jobmanager.job", {"<host>": "here", "<job_name>": "count: all"})
FLINKS = "org.apache.flink.metrics.jmx.JMXReporterFactory"


def measured(name: str, value: Any, kind: MetricKind = MetricKind.GAUGE) -> Measurement:
    return Measurement(JOB, name, kind, value, name)


class Beans:
    """Those of the driver's JVM."""

    def __init__(self, gateway: Any) -> None:
        self._gateway, self._jvm = gateway, gateway.jvm
        interface = self._jvm.java.lang.Class.forName("javax.management.MBeanServer")
        self._methods = {method.getName(): method for method in interface.getMethods()}

    def values(self) -> dict[str, Any]:
        found = {}
        pattern = self._jvm.javax.management.ObjectName("mine:*")
        for name in self._ask("queryNames", pattern, None):
            shown = name.getKeyProperty("name").strip('"')
            found[shown.rpartition("count: all.")[2]] = self._ask("getAttribute", name, "Value")
        return found

    def _ask(self, method: str, *given: Any) -> Any:
        """By the interface: the class of the platform's server is not public."""
        jvm = self._jvm
        arguments = self._gateway.new_array(jvm.java.lang.Object, len(given))
        for place, value in enumerate(given):
            arguments[place] = value
        server = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
        return self._methods[method].invoke(server, arguments)


@pytest.mark.spark
def test_beans_have_the_values_of_the_last_report(spark: Any) -> None:
    settings = {"metrics.reporter.jmx.factory.class": FLINKS, "metrics.reporter.jmx.domain": "mine"}
    (reporter,) = reporters_of(Configuration(settings))
    beans = Beans(spark.sparkContext._gateway)
    reporter.open(lambda: [])
    seen = HistogramValue(2, 10.0, 4.0, 6.0)
    try:
        reporter.report(
            [
                measured("numRestarts", 1),
                measured("size", 1 << 40),
                measured("lastCheckpointExternalPath", "/chk-3"),
                measured("latency", seen, MetricKind.HISTOGRAM),
            ]
        )
        assert beans.values() == {
            "numRestarts": 1, "size": 1 << 40, "lastCheckpointExternalPath": "/chk-3",
            "latency.count": 2, "latency.mean": 5.0, "latency.min": 4.0, "latency.max": 6.0,
        }  # fmt: skip
        reporter.report([measured("numRestarts", 2), measured("size", 0.5)])
        assert beans.values() == {"numRestarts": 2, "size": 0.5}
    finally:
        reporter.close()
    assert beans.values() == {}


def test_without_a_jvm_it_says_so() -> None:
    """In a process of its own: this one may have a JVM by now."""
    program = (
        "from millrace.common.config.configuration import Configuration\n"
        "from millrace.metrics.reporter_factories import reporters_of\n"
        "(reporter,) = reporters_of(Configuration({'metrics.reporters': 'jmx'}))\n"
        "reporter.open(lambda: [])\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert "JMX needs the JVM of a job that runs on Spark" in run.stderr
