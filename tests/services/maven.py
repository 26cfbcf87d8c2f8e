"""Jars of Maven Central with all that they need, below `.services`, and the JVM that runs them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from service import cache_directory, install_lock, run_installer


def maven_jars(name: str, *artifacts: str, alone: tuple[str, ...] = ()) -> Path:
    """A directory of jars; instant if it is there.

    Args:
        name: of the directory.
        artifacts: ``group:artifact:version`` of each.
        alone: artifacts whose dependencies are left out.

    Raises:
        ServiceUnavailableError: there is no Maven, no network, or no such artifact.
    """
    directory = cache_directory() / name
    done = directory / ".installed"
    with install_lock(name):
        if not done.exists():
            directory.mkdir(parents=True, exist_ok=True)
            project = directory / "pom.xml"
            project.write_text(_project(name, artifacts, alone))
            goal = ["dependency:copy-dependencies", f"-DoutputDirectory={directory}"]
            run_installer(["mvn", "-q", "-B", "-f", project, *goal])
            done.touch()
    return directory


def java(classpath: str, most_memory: int = 192) -> list[str]:
    """The command of a small JVM, up to the name of its class.

    Args:
        most_memory: of its heap, in MiB.
    """
    home = os.environ.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else shutil.which("java") or "java"
    memory = ["-Xms48m", f"-Xmx{most_memory}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return [program, *memory, "-XX:-UsePerfData", "-cp", classpath]


def _project(name: str, artifacts: tuple[str, ...], alone: tuple[str, ...]) -> str:
    nothing = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
    wanted = [(artifact, "") for artifact in artifacts]
    wanted += [(artifact, f"{nothing}</exclusions>") for artifact in alone]
    dependencies = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>"
        "{}</dependency>".format(*artifact.split(":"), exclusions)
        for artifact, exclusions in wanted
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>tests</groupId><artifactId>{name}</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
