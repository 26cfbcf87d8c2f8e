"""Azurite: Microsoft's emulator of Azure's object store, from npm (365 MB; it needs node)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
from collections.abc import Mapping
from email.utils import formatdate
from typing import ClassVar

from service import Service, cache_directory, free_ports, install_lock, run_installer

PACKAGE = "azurite@3.37.0"
API_VERSION = "2021-08-06"


class Azurite(Service):
    """The service of blobs, in memory."""

    name: ClassVar[str] = "Azure Blob Storage (Azurite)"
    command: ClassVar[str] = "azure"
    fixture: ClassVar[str] = "azurite"
    stop_seconds: ClassVar[float] = 0
    account: ClassVar[str] = "millrace"
    key: ClassVar[str] = base64.b64encode(b"only for the tests of millrace!!").decode()
    container: ClassVar[str] = "tests"

    @classmethod
    def install(cls) -> None:
        directory = cache_directory() / PACKAGE.replace("@", "-")
        done = directory / ".installed"
        with install_lock(directory.name):
            if not done.exists():
                run_installer(["npm", "install", "--silent", "--prefix", directory, PACKAGE])
                done.touch()

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": self.account,
            "AZURE_STORAGE_ACCOUNT_KEY": self.key,
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{self.port}/{self.account}",
        }

    @property
    def root(self) -> str:
        """The container as a location."""
        return f"abfss://{self.container}@{self.account}.dfs.core.windows.net"

    def start(self) -> None:
        [self.port] = free_ports(1)
        modules = cache_directory() / PACKAGE.replace("@", "-") / "node_modules"
        command = ["node", modules / "azurite" / "dist" / "src" / "blob" / "main.js"]
        options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
        address = ["--blobHost", "127.0.0.1", "--blobPort", self.port]
        accounts = {"AZURITE_ACCOUNTS": f"{self.account}:{self.key}"}
        self.spawn([*command, *options, *map(str, address)], accounts)
        self.wait_until(self._has_container)

    def _has_container(self) -> bool:
        """Make the container; False as long as nobody answers."""
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": API_VERSION}
        path = f"/{self.account}/{self.container}"
        signed = "\n".join(
            ["PUT", *[""] * 11, *(f"{name}:{value}" for name, value in headers.items())]
        )
        signed += f"\n/{self.account}{path}\nrestype:container"
        digest = hmac.digest(base64.b64decode(self.key), signed.encode(), hashlib.sha256)
        signature = base64.b64encode(digest).decode()
        headers["Authorization"] = f"SharedKey {self.account}:{signature}"
        headers["Content-Length"] = "0"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("PUT", f"{path}?restype=container", headers=headers)
            return connection.getresponse().status in (201, 409)
        finally:
            connection.close()
