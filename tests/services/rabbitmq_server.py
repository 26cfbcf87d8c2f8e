"""RabbitMQ: the server of the Debian package, with Erlang, as one node."""

from __future__ import annotations

import signal
import socket
from collections.abc import Mapping
from typing import ClassVar

from debian import DebianPackages, debian_packages
from service import Service, free_ports

_ERLANG = "usr/lib/erlang"
_ERL = """#!/bin/sh
ROOTDIR='{root}' BINDIR='{programs}' EMU=beam PROGNAME=erl
export ROOTDIR BINDIR EMU PROGNAME
exec '{programs}/erlexec' "$@"
"""
"""In the place of the package's own ``erl``, which looks for Erlang where it would be installed."""


class RabbitMQServer(Service):
    """One node, user and password ``guest``; what is durable survives `restart`."""

    name: ClassVar[str] = "RabbitMQ"
    command: ClassVar[str] = "rabbitmq"
    fixture: ClassVar[str] = "rabbitmq"
    stop_seconds: ClassVar[float] = 0

    @classmethod
    def install(cls) -> None:
        _packages()

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/%2f"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"AMQP_URL": self.url}

    def start(self) -> None:
        self.port, self._distribution, self._names = free_ports(3)
        packages = _packages()
        programs = packages.path(f"{_ERLANG}/erts-*/bin")
        shim = self.directory / "bin" / "erl"
        shim.parent.mkdir()
        shim.write_text(_ERL.format(root=packages.root / _ERLANG, programs=programs))
        shim.chmod(0o755)
        (self.directory / "enabled_plugins").write_text("[].")
        self._erlang = {
            "HOME": str(self.directory),
            "PATH": f"{shim.parent}:{programs}:{packages.environment['PATH']}",
            "LD_LIBRARY_PATH": packages.environment["LD_LIBRARY_PATH"],
            "ERL_EPMD_PORT": str(self._names),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }
        self.spawn([programs / "epmd"], self._erlang)
        self._run()

    def _run(self) -> None:
        server = _packages().path("usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server")
        settings = self.directory / "rabbitmq.conf"
        settings.write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            "log.file = false\nlog.console = true\nlog.console.level = warning\n"
            "disk_free_limit.absolute = 50MB\n"
        )
        self._node = self.spawn(
            [server],
            {
                **self._erlang,
                "RABBITMQ_NODENAME": f"tests{self.port}@localhost",
                "RABBITMQ_DIST_PORT": str(self._distribution),
                "RABBITMQ_CONFIG_FILE": str(settings),
                "RABBITMQ_MNESIA_BASE": str(self.directory / "data"),
                "RABBITMQ_LOG_BASE": str(self.directory / "logs"),
                "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.directory / "enabled_plugins"),
                "RUNNING_UNDER_SYSTEMD": "1",  # so that the script becomes the node
                "RABBITMQ_PID_FILE": str(self.directory / "pid"),
                "RABBITMQ_SERVER_START_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none",
            },
        )
        self.wait_until(self._answers, seconds=120)

    def restart(self) -> None:
        """kill -9 of the node, and start it again at the same place."""
        self._node.send_signal(signal.SIGKILL)
        self._node.wait()
        self._processes.remove(self._node)
        self._run()

    def _answers(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            connection.settimeout(5)
            connection.sendall(b"AMQP\x00\x00\x09\x01")
            return connection.recv(1) == b"\x01"


def _packages() -> DebianPackages:
    return debian_packages("rabbitmq", "rabbitmq-server")
