"""Certificates of a transport for HTTPS: authorities that are trusted, and the client's own."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from millrace.statefun.module.components import Transport

__all__ = ["CertificateFault", "Certificates"]


class CertificateFault(Exception):
    """A file of a certificate or key cannot be loaded. The text names it."""


class Certificates:
    """TLS contexts of a transport. A file that was replaced is loaded for the next connection."""

    def __init__(self, settings: Transport) -> None:
        self._settings = settings
        names = "trust_cacerts", "client_cert", "client_key", "client_key_password"
        given = ((name, getattr(settings, name)) for name in names)
        self._files = [(name, path) for name, path in given if path is not None]
        self._context: ssl.SSLContext | None = None
        self._loaded: list[tuple[int, int, int] | None] = []

    def context(self) -> ssl.SSLContext:
        """Context with the certificates of the present files. If some files have been replaced and
        do not match the others yet, the former context is used.

        Raises:
            CertificateFault: the files cannot be loaded, and never could.
        """
        present = [_version(path) for _, path in self._files]
        if self._context is None or present != self._loaded:
            try:
                self._context = self._load()
            except CertificateFault:
                if self._context is None:
                    raise
            else:
                self._loaded = present
        return self._context

    def _load(self) -> ssl.SSLContext:
        settings = self._settings
        for name, path in self._files:
            try:
                Path(path).read_bytes()
            except OSError as error:
                raise CertificateFault(f"{name} {path!r}: {error.strerror}") from None
        try:
            context = ssl.create_default_context(cafile=settings.trust_cacerts)
        except ssl.SSLError as error:
            path = settings.trust_cacerts
            raise CertificateFault(
                f"trust_cacerts {path!r} contains no certificate: {error}"
            ) from None
        if settings.client_cert is not None:
            self._load_client(context)
        return context

    def _load_client(self, context: ssl.SSLContext) -> None:
        settings = self._settings
        assert settings.client_cert is not None
        # never asked on a terminal, which a key with a password would do without one
        password = b""
        if settings.client_key_password is not None:
            password = Path(settings.client_key_password).read_bytes().strip()
        try:
            context.load_cert_chain(settings.client_cert, settings.client_key, lambda: password)
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            raise CertificateFault(
                f"client_cert {settings.client_cert!r} with client_key {settings.client_key!r} "
                f"cannot be loaded, is the password right? {error}"
            ) from None


def _version(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
