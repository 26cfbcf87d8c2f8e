"""The Java installation in which Spark's JVM runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["JAVA_MINIMUM", "Java", "find_java"]

JAVA_MINIMUM = 17
_MISSING = (
    f"Spark needs Java {JAVA_MINIMUM} or newer and none was found; install it (Debian: "
    "apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation, or the fact that there is none."""

    path: str | None
    """Path of the program ``java``; None if there is none."""
    version: int | None = None
    """Major version; None if unknown."""
    home: str | None = None
    """Value of ``JAVA_HOME``, if there is no program in it or the program does not run."""

    def problem(self) -> str | None:
        """Reason why Spark cannot use this Java, and the remedy; None if Spark can use it.

        Example:
            >>> Java("/java8/bin/java", 8).problem()
            'Spark needs Java 17 or newer; /java8/bin/java is Java 8. Set JAVA_HOME to a newer one'
        """
        if self.home is not None:
            return (
                f"JAVA_HOME is {self.home!r}, but {os.path.join(self.home, 'bin', 'java')} is not "
                "a program that can be run. Set JAVA_HOME to the directory of a Java "
                f"{JAVA_MINIMUM} or newer, or unset it to use the java on the path"
            )
        if self.path is None:
            return _MISSING
        if self.version is not None and self.version < JAVA_MINIMUM:
            return (
                f"Spark needs Java {JAVA_MINIMUM} or newer; {self.path} is Java {self.version}. "
                "Set JAVA_HOME to a newer one"
            )
        return None


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The Java of ``JAVA_HOME``, or the first on the path, as Spark's own scripts choose it."""
    home = environment.get("JAVA_HOME")
    path = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if home and not shutil.which(path or ""):
        return Java(None, home=home)
    if path is None:
        return Java(None)
    try:
        answer = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    except OSError:  # such as one for another processor
        return Java(None, home=home)
    return Java(path, major_version(answer.stderr + answer.stdout))


def major_version(text: str) -> int | None:
    """The major version of Java, from the output of `java -version`.

    Example:
        >>> major_version('openjdk version "17.0.15"'), major_version('java version "1.8.0_412"')
        (17, 8)
    """
    _, quote, rest = text.partition('version "')
    if not quote:
        return None
    first, _, more = rest.partition(".")
    number = more.partition(".")[0] if first == "1" else first
    digits = "".join(c for c in number.partition('"')[0] if c.isdigit())
    return int(digits) if digits else None
