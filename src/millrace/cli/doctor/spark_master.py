"""Checks that the Spark master can be reached, before Spark waits a minute for it."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from millrace.cli.doctor.diagnosis import Diagnosis, failure, ok, warning

CHECK = "Spark master"
_PATIENCE = 5.0
_HADOOP = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_SCRIPT = "spark-env.sh"
_LOCAL = re.compile(r"local(\[.*\]|-cluster\[.*\])?")


def connects(host: str, port: int) -> str | None:
    """Reason why an address cannot be reached; None if a connection can be made."""
    try:
        socket.create_connection((host, port), timeout=_PATIENCE).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


def check_master(
    master: str,
    environment: Mapping[str, str] = os.environ,
    refusal: Callable[[str, int], str | None] = connects,
) -> Diagnosis:
    """Judge a master's URL by connecting to it."""
    if _LOCAL.fullmatch(master):
        return ok(CHECK, f"{master}, on this machine")
    if master == "yarn":
        return _yarn(environment)
    for scheme, default in (("spark://", 7077), ("k8s://", 443)):
        if master.startswith(scheme):
            return _reachable(master, master.removeprefix(scheme).split(","), default, refusal)
    return failure(
        CHECK,
        f"{master!r} is not a Spark master",
        "Write local[N], spark://HOST:7077, yarn or k8s://https://HOST:6443.",
    )


def _yarn(environment: Mapping[str, str]) -> Diagnosis:
    named = {name: environment[name] for name in _HADOOP if environment.get(name)}
    for directory in named.values():
        if os.path.isfile(os.path.join(directory, "yarn-site.xml")):
            return ok(CHECK, f"yarn, as {directory} describes it")
    if named:
        variable, directory = next(iter(named.items()))
        fix = f"Let {variable} name the directory of the cluster's yarn-site.xml."
        return failure(CHECK, f"there is no yarn-site.xml in {directory}", fix)
    if os.path.isfile(script := _environment_script(environment)):
        fix = f"If the workers do not answer, check whether {script} sets HADOOP_CONF_DIR."
        return warning(CHECK, "yarn, but HADOOP_CONF_DIR is not set here", fix)
    fix = "Set HADOOP_CONF_DIR to the directory of the cluster's core-site.xml and yarn-site.xml."
    return failure(CHECK, "yarn, but HADOOP_CONF_DIR is not set", fix)


def _environment_script(environment: Mapping[str, str]) -> str:
    """Path of the script from which Spark's own scripts read variables."""
    conf = environment.get("SPARK_CONF_DIR")
    return os.path.join(conf or os.path.join(environment.get("SPARK_HOME", ""), "conf"), _SCRIPT)


def _reachable(
    master: str, parts: list[str], default: int, refusal: Callable[[str, int], str | None]
) -> Diagnosis:
    why: list[str] = []
    for part in parts:
        address = urlsplit(part if "//" in part else f"//{part}")
        host = address.hostname or ""
        port = address.port or default
        reason = refusal(host, port)
        if reason is None and why:
            fix = "Start the masters that do not answer, or remove them from the URL."
            return warning(CHECK, f"{host}:{port} answers; {'; '.join(why)}", fix)
        if reason is None:
            return ok(CHECK, f"{master} answers")
        why.append(f"{host}:{port}: {reason}")
    fix = "Start the master, correct the address, or let the firewall pass its port."
    return failure(CHECK, "; ".join(why), fix)


EXECUTORS = "executors"


def check_executors(settings: Mapping[str, str]) -> Diagnosis:
    """Judge the Spark settings of a run."""
    if settings.get("spark.dynamicAllocation.enabled", "false").lower() == "true":
        return warning(
            EXECUTORS,
            "come and go (spark.dynamicAllocation.enabled)",
            "Set spark.dynamicAllocation.enabled=false and spark.cores.max or "
            "spark.executor.instances, because state is restored whenever an executor is "
            "removed.",
        )
    return ok(EXECUTORS, "stay")
