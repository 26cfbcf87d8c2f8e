"""A Kafka broker that speaks TLS and asks for a name and a password."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from kafka_broker import KafkaBroker
from service import run_installer

USER, PASSWORD = "shop", "s3cret-of-the-shop"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


class SecuredKafkaBroker(KafkaBroker):
    """Clients come by ``SASL_SSL`` with PLAIN or SCRAM-SHA-256; its certificate is self-made."""

    name: ClassVar[str] = "Kafka (TLS and SASL)"
    protocol: ClassVar[str] = "SASL_SSL"

    @property
    def certificate(self) -> Path:
        """Certificate of the authority that clients are to trust."""
        return self.directory / "broker.crt"

    def start(self) -> None:
        self._make_certificate()
        super().start()

    def _make_certificate(self) -> None:
        key = self.directory / "broker.key"
        subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        run_installer([*command, "-keyout", key, "-out", self.certificate, *subject])
        both = key.read_text() + self.certificate.read_text()
        (self.directory / "broker.pem").write_text(both)

    def options(self, node: int) -> Mapping[str, Any]:
        listener = "listener.name.client"
        return {
            **super().options(node),
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            f"{listener}.plain.sasl.jaas.config": (f'{_PLAIN} required user_{USER}="{PASSWORD}";'),
            f"{listener}.scram-sha-256.sasl.jaas.config": f"{_SCRAM} required;",
            f"{listener}.ssl.keystore.type": "PEM",
            f"{listener}.ssl.keystore.location": self.directory / "broker.pem",
        }

    def format_arguments(self) -> list[str]:
        return ["--add-scram", f"SCRAM-SHA-256=[name={USER},password={PASSWORD}]"]
