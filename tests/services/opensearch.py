"""OpenSearch: one node from the jars of Maven Central, with its HTTP module and no others."""

from __future__ import annotations

import http.client
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from service import Service, cache_directory, free_ports, install_lock, run_installer

VERSION = "2.19.1"
"""The newest version that runs on Java 17."""
_LOG4J = "2.21.0"
_MODULE = "transport-netty4"
_DEPENDENCIES = {
    "org.opensearch:opensearch": VERSION,
    "org.opensearch:opensearch-plugin-classloader": VERSION,
    "org.opensearch.plugin:transport-netty4-client": VERSION,
    "org.apache.logging.log4j:log4j-core": _LOG4J,
}
_DESCRIPTOR = f"""description=HTTP
version={VERSION}
name={_MODULE}
classname=org.opensearch.transport.Netty4Plugin
java.version=11
opensearch.version={VERSION}
extended.plugins=
has.native.controller=false
"""
_POLICY = "grant {\n  permission java.security.AllPermission;\n};\n"
_LOGGING = """status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c: %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


class OpenSearch(Service):
    """A cluster of one node that trusts everybody."""

    name: ClassVar[str] = "OpenSearch"
    command: ClassVar[str] = "opensearch"
    fixture: ClassVar[str] = "opensearch"
    stop_seconds: ClassVar[float] = 0

    @classmethod
    def install(cls) -> None:
        home = _home()
        done = home / ".installed"
        with install_lock(home.name):
            if not done.exists():
                _install(home)
                done.touch()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"OPENSEARCH_URL": self.url}

    def start(self) -> None:
        self.port, transport = free_ports(2)
        configuration = self.directory / "config"
        configuration.mkdir()
        (configuration / "log4j2.properties").write_text(_LOGGING)
        data = self.directory / "data"
        data.mkdir()
        settings = {
            "cluster.name": "tests",
            "discovery.type": "single-node",
            "http.port": self.port,
            "transport.port": transport,
            "network.host": "127.0.0.1",
            "path.data": data,
            "path.logs": data,
            "cluster.routing.allocation.disk.threshold_enabled": "false",
        }
        lines = [f"{name}: {value}\n" for name, value in settings.items()]
        (configuration / "opensearch.yml").write_text("".join(lines))
        self.resume()

    def resume(self) -> None:
        """Start it again after `kill`, on the same port, with its data."""
        home = os.environ.get("JAVA_HOME")
        java = f"{home}/bin/java" if home else shutil.which("java") or "java"
        memory = ["-Xms320m", "-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        paths = {
            "opensearch.path.home": _home(),
            "opensearch.path.conf": self.directory / "config",
            "opensearch.distribution.type": "tar",
            "java.security.manager": "allow",
            # without native functions it does not ask whether it is root's, which it refuses to be
            "jna.nounpack": "true",
            "jna.nosys": "true",
            "jna.noclasspath": "true",
        }
        properties = [f"-D{name}={value}" for name, value in paths.items()]
        command = [java, *memory, *properties, "-cp", f"{_home()}/lib/*"]
        command.append("org.opensearch.bootstrap.OpenSearch")
        self.spawn(command)
        self.wait_until(self._answers, seconds=180)

    def _answers(self) -> bool:
        return bool(self.request("GET", "/")["version"]["number"] == VERSION)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """The answer to a request, from JSON.

        Raises:
            OSError: it does not answer.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            headers = {"content-type": "application/json"}
            connection.request(method, path, json.dumps(body) if body else None, headers)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def documents(self, index: str) -> dict[str, Any]:
        """All documents of an index by their ids, as somebody finds them who searches now."""
        self.request("POST", f"/{index}/_refresh")
        found = self.request("GET", f"/{index}/_search?size=10000")
        return {hit["_id"]: hit["_source"] for hit in found["hits"]["hits"]}


def _home() -> Path:
    return cache_directory() / f"opensearch-{VERSION}"


def _install(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    dependencies = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>"
        "</dependency>".format(*name.split(":"), version)
        for name, version in _DEPENDENCIES.items()
    )
    project = home / "pom.xml"
    project.write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>tests</groupId><artifactId>opensearch</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
    library, module = home / "lib", home / "modules" / _MODULE
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={library}"]
    run_installer(["mvn", "-q", "-B", "-f", project, *goal])
    module.mkdir(parents=True, exist_ok=True)
    (home / "plugins").mkdir(exist_ok=True)
    for pattern in ("netty-*.jar", "transport-netty4-*.jar"):
        for jar in library.glob(pattern):
            jar.replace(module / jar.name)
    (module / "plugin-descriptor.properties").write_text(_DESCRIPTOR)
    (module / "plugin-security.policy").write_text(_POLICY)
