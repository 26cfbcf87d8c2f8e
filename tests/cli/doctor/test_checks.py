"""The checks of ``millrace doctor``, on machines that are made up."""

from __future__ import annotations

import dataclasses
import socket
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from millrace.cli.doctor.addresses import check_host_name, check_loopback
from millrace.cli.doctor.checkpoint_directory import begin_trial, check_trial
from millrace.cli.doctor.clocks import check_clocks
from millrace.cli.doctor.diagnosis import Diagnosis, Severity
from millrace.cli.doctor.machine import (
    GIBIBYTE,
    check_class_archive,
    check_disk,
    check_encoding,
    check_java,
    check_memory,
    check_open_files,
)
from millrace.cli.doctor.server_port import check_port
from millrace.cli.doctor.spark_master import check_executors, check_master
from millrace.cli.doctor.versions import (
    check_driver_python,
    check_packages,
    check_pyspark,
    check_worker_python,
)
from millrace.spark.java_version import Java
from millrace.spark.worker_survey import WorkerReport

OK, WARNING, FAILURE = Severity.OK, Severity.WARNING, Severity.FAILURE
REPORT = WorkerReport(
    host="a",
    pid=1,
    executable="/opt/python",
    python="3.11.9",
    packages={"millrace": "1.0", "numpy": "2.4"},
    encoding="utf-8 utf-8",
    open_files=65536,
    memory=8 * GIBIBYTE,
    scratch="/scratch",
    disk=100 * GIBIBYTE,
    trial_name="worker-a",
    trial_error=None,
)


def judged(result: Diagnosis, severity: Severity, found: str = "", fix: str = "") -> None:
    """What is not well says what to do, in a sentence; what is well says nothing more."""
    assert result.severity is severity, result
    assert found in result.found
    assert fix in (result.fix or "")
    assert (result.fix is None) == (severity is OK)
    assert result.fix is None or result.fix.endswith(".")


def test_java() -> None:
    judged(check_java(Java("/usr/bin/java", 21)), OK, "21 (/usr/bin/java)")
    judged(check_java(Java("/usr/bin/java", 11)), FAILURE, "Java 11", "Set JAVA_HOME")
    judged(check_java(Java(None)), FAILURE, "none", "install it")
    judged(check_java(Java("/usr/bin/java", None)), WARNING, "does not show")


def test_python() -> None:
    judged(check_driver_python("3.13.1", "/usr/bin/python3"), OK, "3.13.1")
    judged(check_driver_python("3.9.2", "/usr/bin/python3"), FAILURE, "3.9.2", "3.11 or newer")
    other = dataclasses.replace(REPORT, host="b", python="3.12.1")
    judged(check_worker_python("3.11.2", [REPORT]), OK, "3.11.9 (/opt/python); 1 worker on 1 host")
    found = "3.12.1 on b, 3.11.2 in the driver"
    judged(check_worker_python("3.11.2", [REPORT, other]), FAILURE, found, "PYSPARK_PYTHON")


def test_spark() -> None:
    judged(check_pyspark("4.3.0", "4.3.0"), OK, "4.3.0")
    judged(check_pyspark("4.3.0", "4.3.1"), FAILURE, "4.3.1", "pyspark==4.3.1")
    judged(check_pyspark("4.3.0+vendor.1", "4.3.0-vendor-1"), OK, "4.3.0-vendor-1")


def test_packages() -> None:
    same, numpy = check_packages({"millrace": "1.0", "numpy": "2.5"}, [REPORT])
    judged(same, OK, "1.0")
    judged(numpy, WARNING, "2.4 on a; 2.5 in the driver", "Install numpy 2.5")
    [ours] = check_packages({"millrace": "1.1"}, [REPORT])
    judged(ours, FAILURE, "1.0 on a; 1.1 in the driver", "Install millrace 1.1")
    none = dataclasses.replace(REPORT, packages={"numpy": "ModuleNotFoundError: no numpy"})
    [missing] = check_packages({"numpy": "2.4"}, [none])
    judged(missing, FAILURE, "ModuleNotFoundError: no numpy on a", "Install numpy 2.4")


def test_clocks() -> None:
    judged(check_clocks({"a": (-0.2, 0.1), "b": (-0.1, 0.3)}), OK, "within 0.30 s")
    judged(check_clocks({"a": (-0.2, 0.1), "b": (4.0, 4.5)}), WARNING, "b is 4.0 s or more ahead")
    judged(check_clocks({"b": (-95.0, -90.5)}), FAILURE, "b is 90.5 s or more behind", "chrony")
    judged(check_clocks({"slow": (-90.0, 0.5)}), OK)  # the answer took long, the clock is right
    judged(check_clocks({}), OK)


def test_encoding() -> None:
    judged(check_encoding({"driver": "utf-8 utf-8", "a": "utf-8 UTF_8"}), OK)
    latin = {"driver": "utf-8 utf-8", "a": "utf-8 ansi_x3.4-1968"}
    judged(check_encoding(latin), WARNING, "a: utf-8 ansi_x3.4-1968", "PYTHONUTF8=1")


def test_open_files() -> None:
    judged(check_open_files({"driver": 65536, "a": -1}), OK, "65,536 (driver)")
    judged(check_open_files({"driver": 65536, "a": 1024}), WARNING, "1,024 (a)", "ulimit")
    judged(check_open_files({"driver": 256}), FAILURE, "256")
    judged(check_open_files({"driver": -1}), OK, "no limit")
    judged(check_open_files({"driver": None}), OK)


def test_disk() -> None:
    judged(check_disk({"/scratch": 9 * GIBIBYTE}), OK, "9.0 GiB free in /scratch")
    judged(check_disk({"/scratch": 9 * GIBIBYTE, "/small": GIBIBYTE}), WARNING, "in /small")
    judged(check_disk({"/full": 1000}), FAILURE, "1000 B", "/full")


def test_memory() -> None:
    judged(check_memory({"driver": 4 * GIBIBYTE, "a": None}, GIBIBYTE), OK, "4.0 GiB")
    heap = check_memory({"driver": 4 * GIBIBYTE, "a": 9 * GIBIBYTE}, 8 * GIBIBYTE)
    judged(heap, WARNING, "may take 8.0 GiB", "spark.driver.memory")
    small = check_memory({"driver": 4 * GIBIBYTE, "a": GIBIBYTE // 2}, GIBIBYTE)
    judged(small, WARNING, "512.0 MiB available (a)", "Give a at least")
    judged(check_memory({"driver": None}, GIBIBYTE), OK)


def test_addresses() -> None:
    judged(check_loopback(lambda name: ["127.0.0.1", "::1"]), OK, "127.0.0.1, ::1")
    judged(check_loopback(lambda name: []), FAILURE, "no address", "/etc/hosts")
    judged(check_loopback(lambda name: ["192.0.2.7"]), FAILURE, "192.0.2.7")
    judged(check_host_name("mill", None, lambda name: ["192.0.2.7"]), OK, "mill is 192.0.2.7")
    judged(check_host_name("mill", None, lambda name: ["127.0.1.1"]), WARNING, "127.0.1.1")
    judged(check_host_name("mill", None, lambda name: []), FAILURE, "", "spark.driver.host")
    named = check_host_name("mill", "race", lambda name: ["192.0.2.8"] if name == "race" else [])
    judged(named, OK, "race is 192.0.2.8")


def test_the_master() -> None:
    asked: list[tuple[str, int]] = []

    def refusal(host: str, port: int) -> str | None:
        asked.append((host, port))
        return "Connection refused" if host == "down" else None

    for local in ("local", "local[*]", "local[2,4]", "local-cluster[2,1,1024]"):
        judged(check_master(local, {}, refusal), OK)
    judged(check_master("spark://up:7078", {}, refusal), OK, "answers")
    judged(check_master("spark://down:7077", {}, refusal), FAILURE, "down:7077: Connection refused")
    judged(check_master("spark://down:1,up:2", {}, refusal), WARNING, "up:2 answers; down:1")
    judged(check_master("k8s://https://up:6443", {}, refusal), OK)
    judged(check_master("k8s://up", {}, refusal), OK)
    assert asked[-2:] == [("up", 6443), ("up", 443)]
    judged(check_master("sparc://up", {}, refusal), FAILURE, "'sparc://up'", "spark://HOST")


def test_yarn_is_found_by_its_configuration(tmp_path: Path) -> None:
    judged(check_master("yarn", {}), FAILURE, "HADOOP_CONF_DIR is not set")
    named = {"HADOOP_CONF_DIR": str(tmp_path)}
    judged(check_master("yarn", named), FAILURE, "there is no yarn-site.xml")
    (tmp_path / "yarn-site.xml").touch()
    judged(check_master("yarn", named), OK)
    both = {"HADOOP_CONF_DIR": str(tmp_path / "hadoop"), "YARN_CONF_DIR": str(tmp_path)}
    judged(check_master("yarn", both), OK, str(tmp_path))


def test_yarn_may_be_named_by_the_environment_of_spark(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-env.sh").touch()
    home = {"SPARK_HOME": str(tmp_path)}
    judged(check_master("yarn", home), WARNING, "not set here", "spark-env.sh sets HADOOP_CONF_DIR")
    conf = {"SPARK_CONF_DIR": str(tmp_path / "conf")}
    judged(check_master("yarn", conf), WARNING, "not set here")


def test_executors_that_go() -> None:
    judged(check_executors({}), OK)
    judged(check_executors({"spark.dynamicAllocation.enabled": "true"}), WARNING)


def test_class_archive() -> None:
    judged(check_class_archive("-XX:SharedArchiveFile=a.jsa", {}), OK, "used")
    judged(check_class_archive("-XX:ArchiveClassesAtExit=a.jsa", {}), OK, "created")
    judged(check_class_archive("", {"MILLRACE_CLASS_ARCHIVE": "off"}), OK, "off")
    judged(check_class_archive("", {}), WARNING, "no directory", "MILLRACE_CLASS_ARCHIVE")


class Health(BaseHTTPRequestHandler):
    """A server of ours, or of somebody else's."""

    answer = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("answer", "severity"),
    [(b'{"status": "ok", "leader": true}', OK), (b"<html>", WARNING), (b"[]", WARNING)],
)
def test_who_listens_on_the_port(answer: bytes, severity: Severity) -> None:
    handler = type("Handler", (Health,), {"answer": answer})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        judged(check_port("127.0.0.1", server.server_port), severity)
        server.shutdown()
        thread.join()


def test_a_server_with_tls_is_ours_too(tmp_path: Path) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=mill", "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    handler = type("Handler", (Health,), {"answer": b'{"leader": true}'})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        judged(check_port("127.0.0.1", server.server_port), OK, "a server of Millrace")
        server.shutdown()
        thread.join()


def test_a_port_that_is_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    judged(check_port("127.0.0.1", port), OK, f"127.0.0.1:{port} is free")


def test_the_checkpoint_directory(tmp_path: Path) -> None:
    trial = begin_trial(str(tmp_path))
    assert not isinstance(trial, Diagnosis)
    trial.take_part(REPORT.trial_name)
    shared = check_trial(str(tmp_path), trial, [REPORT])
    judged(shared, OK, "driver and 1 worker share it")
    apart = dataclasses.replace(REPORT, trial_error="a file is not there")
    found = check_trial(str(tmp_path), trial, [apart])
    judged(found, FAILURE, "on a: a file is not there", "Mount one shared file system")
    silent = dataclasses.replace(REPORT, trial_name="worker-b")
    judged(check_trial(str(tmp_path), trial, [silent]), FAILURE, "in the driver: a file that")


def test_checkpoint_directories_that_cannot_be(tmp_path: Path) -> None:
    unknown = begin_trial("ftp://host/dir")
    assert isinstance(unknown, Diagnosis)
    judged(unknown, FAILURE, "ftp")
    (tmp_path / "file").touch()
    no_directory = begin_trial(str(tmp_path / "file"))
    assert isinstance(no_directory, Diagnosis)
    judged(no_directory, FAILURE, "cannot be written", "Mount one shared")
