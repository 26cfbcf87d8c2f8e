"""Client of a schema registry with Confluent's REST interface ("Schema Registry API Reference").
It caches schemas, which never change under their id."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import (
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
    build_opener,
)

from millrace.connectors.errors import ConnectorError
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.registry.registry_config import RegistryConfig, path_part

__all__ = ["RegisteredSchema", "SchemaReference", "SchemaRegistryClient", "SchemaRegistryError"]

_TIMEOUT_S = 10.0
_FIRST_PAUSE_S = 0.1
_MAX_PAUSE_S = 5.0
_MAX_ANSWER = 16 << 20
_MAX_KEPT = 10_000
_UNKNOWN_FOR_S = 10.0
"""Seconds for which an id that the registry did not know is not requested again."""
_MAX_REFERENCES = 200
_NOT_FOUND = (40401, 40402, 40403)
"""The registry's error codes for a missing subject, version or schema."""
_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"


class SchemaRegistryError(ConnectorError):
    """A schema registry does not respond, or refuses a request."""


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """A reference of a schema to another one.

    Attributes:
        name: name in the referring schema: a full name in Avro, an import in Protobuf.
        subject: subject of the referenced schema.
        version: its number there.
    """

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as stored in the registry.

    Attributes:
        kind: AVRO, PROTOBUF or JSON.
        text: the schema.
        references: references to other schemas.
    """

    kind: str
    text: str
    references: tuple[SchemaReference, ...] = ()


class SchemaRegistryClient:
    """Queries a registry, with retries if it does not respond; one per process and configuration.

    Take it from `of`, so that all readers of a process share what it keeps.
    """

    def __init__(self, config: RegistryConfig) -> None:
        self._config = config
        self._by_id: dict[int, RegisteredSchema] = {}
        self._unknown: dict[int, float] = {}
        self._ids: dict[tuple[str, RegisteredSchema, bool], int] = {}

    @staticmethod
    def of(config: RegistryConfig) -> SchemaRegistryClient:
        """Client of this process for a configuration."""
        return _client(config)

    def schema(self, schema_id: int) -> RegisteredSchema:
        """Schema with this id.

        Raises:
            MalformedRecordError: the registry does not know it.
            SchemaRegistryError: the registry does not answer, or refuses to.
        """
        schema = self._by_id.get(schema_id)
        if schema is not None:
            return schema
        if self._unknown.get(schema_id, 0) > time.monotonic():
            raise self._unknown_id(schema_id)
        answer = self._ask("GET", f"/schemas/ids/{schema_id}")
        if answer is None:
            _bound(self._unknown)
            self._unknown[schema_id] = time.monotonic() + _UNKNOWN_FOR_S
            raise self._unknown_id(schema_id)
        _bound(self._by_id)
        self._by_id[schema_id] = schema = _schema_of(answer)
        return schema

    def _unknown_id(self, schema_id: int) -> MalformedRecordError:
        return MalformedRecordError(
            f"the schema registry {self._address} has no schema with the id {schema_id}; is the "
            "message in its wire format, and written with this registry?"
        )

    def schema_id(self, subject: str, schema: RegisteredSchema, registers: bool) -> int:
        """Id of a schema under a subject.

        Args:
            registers: whether to register the schema; otherwise the registry must have it.

        Raises:
            SchemaRegistryError: the registry lacks the schema, finds it incompatible, or does not
                answer.
        """
        key = (subject, schema, registers)
        if key not in self._ids:
            _bound(self._ids)
            self._ids[key] = self._find_id(subject, schema, registers)
        return self._ids[key]

    def _find_id(self, subject: str, schema: RegisteredSchema, registers: bool) -> int:
        path = f"/subjects/{path_part(subject)}"
        answer = self._ask("POST", path + ("/versions" if registers else ""), _body(schema))
        schema_id = None if answer is None else answer.get("id")
        if not isinstance(schema_id, int):
            raise SchemaRegistryError(
                f"the schema is not registered under the subject {subject!r} of the schema "
                f"registry {self._address}: register it, or let the job do so with "
                "auto_register=True"
            )
        return schema_id

    def version(self, subject: str, schema: RegisteredSchema) -> int:
        """Version of a schema that is registered under a subject.

        Raises:
            SchemaRegistryError: the registry lacks the schema, or does not answer.
        """
        answer = self._ask("POST", f"/subjects/{path_part(subject)}", _body(schema))
        if answer is None or not isinstance(answer.get("version"), int):
            raise SchemaRegistryError(f"the subject {subject!r} has no such schema")
        return int(answer["version"])

    def referenced(self, schema: RegisteredSchema) -> dict[str, RegisteredSchema]:
        """All schemas that a schema refers to, by their reference names; a schema comes after those
        that it refers to itself.

        Raises:
            SchemaRegistryError: the registry lacks a schema, or does not answer.
        """
        schemas: dict[str, RegisteredSchema] = {}
        self._gather(schema, schemas, 0)
        return schemas

    def _gather(
        self, schema: RegisteredSchema, schemas: dict[str, RegisteredSchema], depth: int
    ) -> None:
        for reference in schema.references:
            if reference.name in schemas:
                continue
            if len(schemas) >= _MAX_REFERENCES or depth > _MAX_REFERENCES:
                raise SchemaRegistryError(f"a schema refers to more than {_MAX_REFERENCES} others")
            path = f"/subjects/{path_part(reference.subject)}/versions/{reference.version}"
            answer = self._ask("GET", path)
            if answer is None:
                raise SchemaRegistryError(
                    f"the schema registry {self._address} has no version {reference.version} of "
                    f"the subject {reference.subject!r}, which a schema refers to"
                )
            inner = _schema_of(answer)
            self._gather(inner, schemas, depth + 1)
            schemas[reference.name] = inner

    @property
    def _address(self) -> str:
        return ", ".join(self._config.urls)

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | None:
        """Response of the registry; None if it has no such schema or subject.

        Raises:
            SchemaRegistryError: the registry does not answer, or refuses to.
        """
        until, pause = time.monotonic() + self._config.patience, _FIRST_PAUSE_S
        while True:
            reasons = []
            for url, authorization in zip(
                self._config.urls, self._config.authorizations, strict=True
            ):
                try:
                    return self._ask_once(method, url + path, body, authorization)
                except _UnansweredError as error:
                    reasons.append(str(error))
            if time.monotonic() + pause > until:
                raise SchemaRegistryError(
                    f"the schema registry {self._address} does not answer ({'; '.join(reasons)}), "
                    f"after {self._config.patience:g} s of attempts; check its address"
                )
            time.sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE_S)

    def _ask_once(
        self, method: str, url: str, body: Mapping[str, Any] | None, authorization: str
    ) -> dict[str, Any] | None:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": f"{_MEDIA_TYPE}, application/json", "Content-Type": _MEDIA_TYPE}
        if authorization:
            headers["Authorization"] = authorization
        request = Request(url, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                content = json.loads(answer.read(_MAX_ANSWER))
        except HTTPError as error:
            self._refuse(error)
            return None
        except (URLError, OSError, HTTPException) as error:
            raise _UnansweredError(f"{getattr(error, 'reason', error)}") from None
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise SchemaRegistryError(f"{self._address} does not respond like a schema registry")
        return content

    def _refuse(self, error: HTTPError) -> None:
        """Raise the error that a response stands for, unless the registry reports a missing schema
        or subject.

        Raises:
            SchemaRegistryError, _UnansweredError: the registry reports another error.
        """
        try:
            answer = json.loads(error.read(1 << 16))
            said, reason = str(answer.get("message", "")), answer.get("error_code", 0)
        except (ValueError, AttributeError, OSError, HTTPException):
            said, reason = "", 0
        if error.code == 404:
            if reason in _NOT_FOUND:
                return
            # of a proxy, or a server of something else: it says nothing about the schema
            raise SchemaRegistryError(
                f"{self._address} answers 404, but not like a schema registry, which would say "
                "what is missing; check the address and its path"
            )
        if error.code in (408, 429) or error.code >= 500:
            raise _UnansweredError(f"{error.code} {said or error.reason}")
        if error.code in (401, 403):
            raise SchemaRegistryError(
                f"the schema registry {self._address} denies access ({error.code} "
                f"{error.reason}): set basic.auth.user.info or bearer.auth.token"
            )
        what = "not compatible with the registered schema" if error.code == 409 else "refused"
        raise SchemaRegistryError(
            f"the schema registry {self._address}: {what} ({error.code}): {said[:1000]}"
        )

    @cached_property
    def _opener(self) -> OpenerDirector:
        location = self._config.ca_location
        try:
            trusted = ssl.create_default_context(cafile=location)
        except OSError as error:
            raise SchemaRegistryError(f"no certificates in {location}: {error}") from None
        return build_opener(HTTPSHandler(context=trusted), _NoRedirect())


class _NoRedirect(HTTPRedirectHandler):
    """HTTP handler that follows no redirects, because another address would receive the
    credentials.
    """

    def redirect_request(self, *request: Any) -> None:
        return None


class _UnansweredError(Exception):
    """The registry sent no response, or a response that asks for a retry."""


@lru_cache(maxsize=64)
def _client(config: RegistryConfig) -> SchemaRegistryClient:
    return SchemaRegistryClient(config)


def _body(schema: RegisteredSchema) -> dict[str, Any]:
    """A schema as the body of a request."""
    body: dict[str, Any] = {"schema": schema.text}
    if schema.kind != "AVRO":
        body["schemaType"] = schema.kind
    if schema.references:
        body["references"] = [
            {"name": reference.name, "subject": reference.subject, "version": reference.version}
            for reference in schema.references
        ]
    return body


def _bound(kept: dict[Any, Any]) -> None:
    """Clear a full cache, so that messages with ever new ids do not fill the memory."""
    if len(kept) >= _MAX_KEPT:
        kept.clear()


def _schema_of(answer: Mapping[str, Any]) -> RegisteredSchema:
    text = answer.get("schema")
    if not isinstance(text, str):
        raise SchemaRegistryError("a schema registry gave an answer without a schema")
    return RegisteredSchema(
        str(answer.get("schemaType") or "AVRO"), text, _references(answer.get("references") or ())
    )


def _references(entries: Sequence[Any]) -> tuple[SchemaReference, ...]:
    try:
        return tuple(
            SchemaReference(str(entry["name"]), str(entry["subject"]), int(entry["version"]))
            for entry in entries
        )
    except (TypeError, KeyError, ValueError):
        raise SchemaRegistryError("a schema registry returned invalid references") from None
