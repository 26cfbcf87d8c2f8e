"""The container's files: the Dockerfile is linted, its entry point is run."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from pathlib import Path

import pyspark
import pytest
from kubernetes_tools import hadolint, tool

from millrace.cli.parser import parse

CONTAINER = Path(__file__).resolve().parents[2] / "deploy" / "container"
ENTRYPOINT = CONTAINER / "entrypoint.sh"


@pytest.mark.connectors
def test_hadolint_finds_nothing(tmp_path: Path) -> None:
    linter = tool("hadolint", hadolint)
    run = subprocess.run(
        [str(linter), str(CONTAINER / "Dockerfile")], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    careless = tmp_path / "Dockerfile"
    careless.write_text("FROM debian\nRUN apt-get install java\n")
    assert subprocess.run([str(linter), str(careless)], capture_output=True, check=False).returncode


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory with programs that tell what they were called with."""
    for name in ("java", "millrace"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" {name} "$@"\n')
        program.chmod(0o755)
    return tmp_path


def said(programs: Path, *words: str, **variables: str) -> list[str]:
    path = {"PATH": f"{programs}:{os.environ['PATH']}"}
    run = subprocess.run(
        [str(ENTRYPOINT), *words], env=path | variables, capture_output=True, text=True, check=True
    )
    return run.stdout.splitlines()


def test_words_are_those_of_the_command(programs: Path) -> None:
    assert said(programs, "run", "a job.py") == ["millrace", "run", "a job.py"]
    assert said(programs) == ["millrace", "server"]


def test_spark_starts_an_executor(programs: Path) -> None:
    """With the variables that Spark on Kubernetes gives to a container of the name executor."""
    options = {"SPARK_JAVA_OPT_0": "-Dspark.driver.port=7078", "SPARK_JAVA_OPT_1": "-Da=two words"}
    home = str(Path(pyspark.__file__).parent)
    words = said(
        programs,
        "executor",
        SPARK_HOME=home,
        SPARK_EXECUTOR_MEMORY="1024m",
        SPARK_DRIVER_URL="spark://CoarseGrainedScheduler@192.0.2.1:7078",
        SPARK_EXECUTOR_ID="7",
        SPARK_EXECUTOR_CORES="2",
        SPARK_APPLICATION_ID="spark-1",
        SPARK_EXECUTOR_POD_IP="192.0.2.2",
        SPARK_RESOURCE_PROFILE_ID="0",
        SPARK_EXECUTOR_POD_NAME="exec-7",
        **options,
    )
    assert words[:3] == ["java", "-Dspark.driver.port=7078", "-Da=two words"]
    main = words.index("org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
    assert words[words.index("-cp") + 1] == f"{home}/jars/*"
    given = dict(zip(words[main + 1 :: 2], words[main + 2 :: 2], strict=True))
    assert given["--executor-id"] == "7"
    assert given["--hostname"] == "192.0.2.2"
    [jar] = (Path(home) / "jars").glob("spark-kubernetes_*.jar")
    with zipfile.ZipFile(jar) as classes:
        assert f"{words[main].replace('.', '/')}.class" in classes.namelist()


def test_the_image_starts_a_server() -> None:
    """The words of its CMD are those of the command as it is."""
    text = (CONTAINER / "Dockerfile").read_text(encoding="utf-8")
    [command] = [line for line in text.splitlines() if line.startswith("CMD [")]
    parsed = parse(json.loads(command.removeprefix("CMD ")))
    assert parsed.host == "0.0.0.0"
    assert "USER 10001" in text
