"""Mosquitto: the MQTT server of the Debian package."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import ClassVar

from debian import DebianPackages, debian_packages
from service import Service, free_ports

_CONFIGURATION = """
listener {port} 127.0.0.1
allow_anonymous true
persistence true
persistence_location {directory}/
max_inflight_messages 0
max_queued_messages 0
acl_file {directory}/rights
user root
"""
"""All that is queued for a session is kept."""


class Mosquitto(Service):
    """One server; sessions survive `restart`."""

    name: ClassVar[str] = "MQTT (Mosquitto)"
    command: ClassVar[str] = "mqtt"
    fixture: ClassVar[str] = "mosquitto"

    @classmethod
    def install(cls) -> None:
        _packages()

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"MQTT_URL": self.url}

    def start(self) -> None:
        [self.port] = free_ports(1)
        settings = _CONFIGURATION.format(port=self.port, directory=self.directory)
        (self.directory / "mosquitto.conf").write_text(settings)
        rights = self.directory / "rights"
        rights.write_text("topic deny forbidden/#\ntopic readwrite #\n")
        rights.chmod(0o600)  # it asks for that
        self._run()

    def _run(self) -> None:
        packages = _packages()
        command = [packages.path("usr/sbin/mosquitto"), "-c", self.directory / "mosquitto.conf"]
        self.spawn(command, packages.environment)
        self.wait_until(self._answers)

    def restart(self) -> None:
        """End it, and start it again at the same place. Properly: killed, it loses what it has not
        saved, however often it is told to save."""
        for process in self._processes:
            process.terminate()
            process.wait()
        self._processes.clear()
        self._run()

    def _answers(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), 5):
            return True


def _packages() -> DebianPackages:
    return debian_packages("mosquitto", "mosquitto")
