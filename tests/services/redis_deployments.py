"""Redis as it is deployed: a cluster of three, a server behind a sentinel, a server with TLS."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from redis_server import RedisServer
from service import ServiceUnavailableError, free_ports, run_installer


class RedisCluster(RedisServer):
    """Three servers that share the slots."""

    name: ClassVar[str] = "Redis cluster"
    _SLOTS = ((0, 5460), (5461, 10922), (10923, 16383))

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        return f"redis+cluster://{hosts}"

    def start(self) -> None:
        import redis

        numbers = free_ports(6)
        self.ports, buses = numbers[:3], numbers[3:]
        for port, bus in zip(self.ports, buses, strict=True):
            self.run(
                {
                    "port": port,
                    "cluster-enabled": "yes",
                    "cluster-port": bus,
                    "cluster-config-file": f"nodes-{port}.conf",
                    "cluster-node-timeout": 5000,
                }
            )
        clients = []
        for port, slots in zip(self.ports, self._SLOTS, strict=True):
            self.wait_until(lambda port=port: self.answers(port))  # type: ignore[misc]
            client: Any = redis.Redis(port=port)
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", *slots)
            clients.append(client)
        for port, bus in zip(self.ports[1:], buses[1:], strict=True):
            clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", port, bus)
        self.wait_until(lambda: all(_is_whole(client) for client in clients))


def _is_whole(client: Any) -> bool:
    info = client.cluster("INFO")
    return info["cluster_state"] == "ok" and info["cluster_known_nodes"] == "3"


class RedisSentinel(RedisServer):
    """A server and its replica, watched by a sentinel."""

    name: ClassVar[str] = "Redis Sentinel"

    @property
    def url(self) -> str:
        return f"redis+sentinel://127.0.0.1:{self.sentinel}/tests/0"

    def start(self) -> None:
        import redis

        self.port, self.replica, self.sentinel = free_ports(3)
        self.run({"port": self.port})
        self.wait_until(lambda: self.answers(self.port))
        self.run({"port": self.replica, "replicaof": f"127.0.0.1 {self.port}"})
        self.wait_until(lambda: self.answers(self.replica))
        settings = self.directory / "sentinel.conf"
        settings.write_text(
            f"port {self.sentinel}\nbind 127.0.0.1\n"
            f"sentinel monitor tests 127.0.0.1 {self.port} 1\n"
            "sentinel down-after-milliseconds tests 1000\n"
        )
        self.run_sentinel(settings)
        self.wait_until(lambda: self.answers(self.sentinel))
        client: Any = redis.Redis(port=self.sentinel)
        self.wait_until(lambda: len(client.sentinel_slaves("tests")) == 1)
        replica: Any = redis.Redis(port=self.replica)
        self.wait_until(lambda: replica.info("replication")["master_link_status"] == "up")

    def fail_over(self) -> None:
        """Make the replica the master, and wait until the sentinel says so."""
        import redis

        client: Any = redis.Redis(port=self.sentinel)
        client.sentinel_failover("tests")
        until = time.monotonic() + 60
        while client.sentinel_get_master_addr_by_name("tests")[1] != self.replica:
            if time.monotonic() > until:
                raise ServiceUnavailableError("the replica does not become the master")
            time.sleep(0.1)


class RedisWithTls(RedisServer):
    """A server that speaks TLS only, with a certificate that it has signed itself."""

    name: ClassVar[str] = "Redis with TLS"

    @property
    def url(self) -> str:
        return f"rediss://localhost:{self.port}/0?ssl_ca_certs={self.certificate}"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"REDIS_URL": self.url}

    @property
    def certificate(self) -> Path:
        return self.directory / "certificate.pem"

    def start(self) -> None:
        [self.port] = free_ports(1)
        key = self.directory / "key.pem"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        run_installer([*command, *names, "-keyout", key, "-out", self.certificate])
        self.run(
            {
                "port": 0,
                "tls-port": self.port,
                "tls-cert-file": self.certificate,
                "tls-key-file": key,
                "tls-auth-clients": "no",
            }
        )
        command = ["openssl", "s_client", "-connect", f"127.0.0.1:{self.port}"]
        self.wait_until(
            lambda: (
                subprocess.run(command, input=b"", capture_output=True, check=False).returncode == 0
            )
        )
