"""The client of a schema registry: who asks, how often, and what is said of failures."""

from __future__ import annotations

import pickle
import socket
from base64 import b64encode
from typing import Any

import pytest
from schema_registry import SchemaRegistry

from millrace.common.errors import JobDefinitionError
from millrace.formats.registry.registry_client import (
    RegisteredSchema,
    SchemaRegistryClient,
    SchemaRegistryError,
)
from millrace.formats.registry.registry_config import RegistryConfig

SECRET = "s3cret-pass"


def client(url: str, **properties: str) -> SchemaRegistryClient:
    found = {key.replace("_", "."): value for key, value in properties.items()}
    return SchemaRegistryClient(RegistryConfig.create(url, found))


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_registry_that_comes_back_is_waited_for(registry: SchemaRegistry) -> None:
    registry.register("s", '"int"')
    registry.failures = [503, 500, 429]
    assert client(registry.url).schema(1) == RegisteredSchema("AVRO", '"int"')
    assert len(registry.requests) == 4


def test_a_registry_that_does_not_answer() -> None:
    url = f"http://127.0.0.1:{unused_port()}"
    with pytest.raises(SchemaRegistryError, match=f"{url} does not answer .*efused.* after 0.3 s"):
        client(url, request_patience_ms="300").schema(1)


def test_the_second_address_is_asked_when_the_first_does_not_answer(
    registry: SchemaRegistry,
) -> None:
    registry.register("s", '"int"')
    both = f"http://127.0.0.1:{unused_port()},{registry.url}"
    assert client(both).schema(1).text == '"int"'


@pytest.mark.parametrize("key", ["basic.auth.user.info", "schema.registry.basic.auth.user.info"])
def test_a_user(key: str, registry: SchemaRegistry) -> None:
    registry.register("s", '"int"')
    registry.ask_for_user("ada", SECRET)
    config = RegistryConfig.create(registry.url, {key: f"ada:{SECRET}"})
    assert SchemaRegistryClient(config).schema(1).text == '"int"'
    inside = registry.url.replace("//", f"//ada:{SECRET}@")
    assert SchemaRegistryClient(RegistryConfig.create(inside)).schema(1).text == '"int"'


def test_a_token(registry: SchemaRegistry) -> None:
    registry.register("s", '"int"')
    registry.authorization = "Bearer abc"
    assert client(registry.url, bearer_auth_token="abc").schema(1).text == '"int"'


def test_nobody_is_told_the_secret(registry: SchemaRegistry) -> None:
    registry.ask_for_user("ada", "another")
    inside = registry.url.replace("//", f"//ada:{SECRET}@")
    config = RegistryConfig.create(inside)
    with pytest.raises(SchemaRegistryError, match="denies access") as refused:
        SchemaRegistryClient(config).schema(1)
    encoded = b64encode(f"ada:{SECRET}".encode()).decode()
    for text in (str(refused.value), repr(config), str(config)):
        assert SECRET not in text
        assert encoded not in text
    assert pickle.loads(pickle.dumps(config)) == config


@pytest.mark.parametrize(
    ("url", "properties", "says"),
    [
        ("localhost:8081", {}, "begins with http"),
        ("", {}, "needs an address"),
        ("http://a", {"basic.auth.user.info": SECRET}, "the colon is missing"),
        ("http://a", {"basic.auth.user": "x"}, "no property 'basic.auth.user'"),
        ("http://a", {"basic.auth.user.info": "a:b", "bearer.auth.token": "c"}, "not with both"),
        ("http://a", {"request.patience.ms": "soon"}, "number of milliseconds"),
    ],
)
def test_configurations_that_are_refused(url: str, properties: dict[str, str], says: str) -> None:
    with pytest.raises(JobDefinitionError, match=says) as refused:
        RegistryConfig.create(url, properties)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("password", ["12#34", "12/34", "12?34", "ab#cd"])
def test_a_password_that_cuts_the_address_is_not_shown(password: str) -> None:
    with pytest.raises(JobDefinitionError, match="such as #, / and [?] are written as") as error:
        RegistryConfig.create(f"http://ada:{password}@localhost", None)
    assert password[:2] not in str(error.value)


def test_what_is_no_registry(registry: SchemaRegistry) -> None:
    registry.answer = lambda method, path, body: (200, [1])  # type: ignore[assignment,method-assign]
    with pytest.raises(SchemaRegistryError, match="does not respond like a schema registry"):
        client(registry.url).schema(1)


@pytest.mark.parametrize("content", [{}, {"error_code": 404, "message": "HTTP 404 Not Found"}])
def test_a_404_of_somebody_else_says_nothing_about_a_schema(
    content: dict[str, Any], registry: SchemaRegistry
) -> None:
    """With an error policy each message would be passed over while a proxy has lost its way."""
    registry.answer = lambda method, path, body: (404, content)  # type: ignore[method-assign]
    with pytest.raises(SchemaRegistryError, match="answers 404, but not like a schema registry"):
        client(registry.url).schema(1)


def test_ids_are_kept_in_bounds(registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages of somebody who makes up ids do not fill the memory."""
    monkeypatch.setattr("millrace.formats.registry.registry_client._MAX_KEPT", 5)
    asked = client(registry.url)
    for number in range(20):
        with pytest.raises(Exception, match="no schema with the id"):
            asked.schema(number)
    assert len(asked._unknown) <= 5


def test_nobody_is_sent_to_another_address(registry: SchemaRegistry) -> None:
    """Who redirects us would have our password."""
    with SchemaRegistry() as other:
        other.register("s", '"int"')
        registry.redirect = other.url
        with pytest.raises(SchemaRegistryError, match="302"):
            client(registry.url, basic_auth_user_info=f"ada:{SECRET}").schema(1)
        assert other.requests == []


def test_certificates_that_are_not_there() -> None:
    with pytest.raises(SchemaRegistryError, match=r"no certificates in none\.pem"):
        client("https://127.0.0.1:1", ssl_ca_location="none.pem").schema(1)


def test_each_address_has_its_own_user(registry: SchemaRegistry) -> None:
    """No server gets the password of another."""
    registry.register("s", '"int"')
    registry.ask_for_user("ada", SECRET)
    port = registry.url.rpartition(":")[2]
    with SchemaRegistry() as other:
        other.register("s", '"int"')
        other.ask_for_user("ben", "other")
        two = other.url.rpartition(":")[2]
        both = f"http://ada:{SECRET}@127.0.0.1:{port},http://ben:other@127.0.0.1:{two}"
        assert client(both).schema(1).text == '"int"'
        registry.failures = [503]
        assert client(both).schema(1).text == '"int"'
        assert len(other.requests) == 1
    config = RegistryConfig.create(f"http://ada:{SECRET}@one,http://two")
    assert [bool(header) for header in config.authorizations] == [True, False]
    given = RegistryConfig.create("http://one,http://ben@two", {"basic.auth.user.info": "a:b"})
    assert len(set(given.authorizations)) == 1
    with pytest.raises(JobDefinitionError, match="not with both"):
        RegistryConfig.create("http://ada:x@one,http://two", {"bearer.auth.token": "t"})
