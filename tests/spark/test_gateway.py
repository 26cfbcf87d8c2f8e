from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from millrace.common.errors import ConfigurationError
from millrace.spark.class_archive import OWN_OPTIONS
from millrace.spark.gateway import (
    EXECUTOR_OPTIONS,
    LEVEL_VARIABLE,
    LOG_VARIABLE,
    reason_of_java,
    require_no_remote,
    with_file_options,
    with_late_optimization,
    with_quiet_log,
)


def test_spark_is_quiet_on_a_terminal(tmp_path: Path) -> None:
    here = {"SPARK_CONF_DIR": str(tmp_path)}
    users = {"spark.driver.extraJavaOptions": "-Xss4m", "spark.app.name": "a"}
    settings = with_quiet_log(users, here)
    option = settings.pop(OWN_OPTIONS)
    assert settings == users
    path = Path(option.removeprefix("-Dlog4j2.configurationFile="))
    assert "rootLogger.level = fatal" in path.read_text()


def test_spark_has_a_file_of_its_own_beside_the_log(tmp_path: Path) -> None:
    here = {"SPARK_CONF_DIR": str(tmp_path), LOG_VARIABLE: "/logs/a.log"}
    for level in ({}, {LEVEL_VARIABLE: "INFO"}):
        option = with_quiet_log({}, {**here, **level})[OWN_OPTIONS]
        path = Path(option.removeprefix("-Dlog4j2.configurationFile="))
        assert "fileName = ${env:MILLRACE_SPARK_LOG}.spark\n" in path.read_text()


def test_who_has_set_up_the_log_gets_it(tmp_path: Path) -> None:
    here = {"SPARK_CONF_DIR": str(tmp_path)}
    assert with_quiet_log({}, {**here, LEVEL_VARIABLE: "WARN"}) == {}
    for name in (OWN_OPTIONS, "spark.driver.extraJavaOptions"):
        own = {name: "-Dlog4j2.configurationFile=mine"}
        assert with_quiet_log(own, here) == own
    (tmp_path / "log4j2.properties").touch()
    assert with_quiet_log({}, here) == {}


@pytest.mark.parametrize("key", [OWN_OPTIONS, EXECUTOR_OPTIONS])
def test_options_of_the_user_come_after_the_thresholds_of_the_compiler(key: str) -> None:
    """In the JVMs of executors, too: Spark puts their default options before the user's."""
    own = "-XX:Tier4InvocationThreshold=5000"
    settings = with_late_optimization({key: own, "spark.app.name": "a"})
    *ours, last = settings[key].split()
    assert last == own
    assert "-XX:Tier4InvocationThreshold=100000" in ours
    assert with_late_optimization({})[key].split() == ours
    assert settings["spark.app.name"] == "a"


def test_default_options_of_a_file_stay(tmp_path: Path) -> None:
    """Those of an administrator are not replaced by ours."""
    here = {"SPARK_CONF_DIR": str(tmp_path)}
    assert with_file_options({"a": "b"}, here) == {"a": "b"}
    (tmp_path / "spark-defaults.conf").write_text(
        f"# {OWN_OPTIONS} -Dno=1\n{EXECUTOR_OPTIONS}   -Dmine=1 -Xss4m\n{OWN_OPTIONS} = -Dmine=2\n"
        "spark.master yarn\nempty\n"
    )
    settings = with_file_options({}, here)
    assert settings == {EXECUTOR_OPTIONS: "-Dmine=1 -Xss4m", OWN_OPTIONS: "-Dmine=2"}
    assert with_late_optimization(settings)[EXECUTOR_OPTIONS].endswith("0 -Dmine=1 -Xss4m")
    assert with_file_options({OWN_OPTIONS: "-Dprogram=1"}, here)[OWN_OPTIONS] == "-Dprogram=1"


DRIVER = """
from millrace.spark.gateway import ensure_gateway
ensure_gateway({})
print("started", flush=True)
input()
"""


@pytest.mark.spark
def test_the_jvm_ends_with_the_driver_and_not_by_its_signals(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.extraJavaOptions -Dmine=1\n")
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "SPARK_CONF_DIR": str(tmp_path)},
    ) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"started\n"
        [jvm] = [p for p in psutil.Process(driver.pid).children() if "java" in p.name()]
        command = jvm.cmdline()
        assert command.index("-XX:Tier4InvocationThreshold=100000") < command.index("-Dmine=1")
        status = Path(f"/proc/{jvm.pid}/status").read_text()
        ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
        for number in (signal.SIGTERM, signal.SIGINT):
            assert ignored >> (number - 1) & 1, "a signal for the driver would end it"
        assert os.getsid(jvm.pid) == jvm.pid, "nor does it get those of the driver's group"
        driver.kill()
        assert psutil.wait_procs([jvm], 60)[1] == [], "it outlives the driver"


@pytest.mark.spark
def test_a_jvm_that_does_not_start_says_why_in_the_message(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text('Exception in thread "main" java.lang.Error: of an earlier start\n')
    program = "from millrace.spark.gateway import ensure_gateway\nensure_gateway({!r})"
    ended = subprocess.run(
        [sys.executable, "-c", program.format({"spark.master": "sparc://host:7077"})],
        env={**os.environ, LOG_VARIABLE: str(log)},
        capture_output=True,
        check=False,
        text=True,
    )
    last = ended.stderr.strip().splitlines()[-1]
    assert "did not start: Master must either be yarn or start with" in last
    assert last.endswith(f"; what it said is in {log}")


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("", ""),
        ("WARNING: Using incubator modules: jdk.incubator.vector\n", ""),
        (
            "WARNING: a\n26/01/01 ERROR ShutdownHook: later\n"
            'Exception in thread "main" org.apache.spark.SparkException: no master\n\tat a.b\n',
            "no master",
        ),
        (
            "\nUnrecognized option: -Xq\nError: Could not create the Java Virtual Machine.\n",
            "Unrecognized option: -Xq",
        ),
    ],
    ids=["nothing", "only a warning", "an exception", "an option"],
)
def test_the_reason_is_the_uncaught_exception_or_the_first_line(output: str, reason: str) -> None:
    assert reason_of_java(output) == reason


def test_spark_connect_is_refused_by_the_name_of_its_variable() -> None:
    require_no_remote({})
    with pytest.raises(ConfigurationError, match=r"SPARK_REMOTE \('sc://host'\).*Unset it"):
        require_no_remote({"SPARK_REMOTE": "sc://host"})
