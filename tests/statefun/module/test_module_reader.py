"""Modules: every kind of component, and errors that name file, document and line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.statefun.address import FunctionType
from millrace.statefun.module import (
    AwsCredentials,
    AwsRegion,
    HttpEndpoint,
    KafkaEgress,
    KafkaIngress,
    KinesisEgress,
    KinesisIngress,
    PlaygroundEgress,
    PlaygroundIngress,
    Routed,
    StartupPosition,
    Transport,
    read_module,
)
from millrace.statefun.module.located_yaml import ModuleError

ENDPOINT = """
kind: io.statefun.endpoints.v2/http
spec:
  functions: com.example/*
  urlPathTemplate: http://localhost:8000/{function.name}
"""
WHOLE = """
kind: io.statefun.endpoints.v2/http
spec:
  functions: com.example/greeter
  urlPathTemplate: https://functions:8000/{function.name}/v1
  maxNumBatchRequests: 50
  transport:
    type: io.statefun.transports.v1/async
    call: 3 min
    connect: 2s
    pool_ttl: 0s
    pool_size: 16
    payload_max_bytes: 1000
    trust_cacerts: /etc/ca.pem
---
kind: io.statefun.endpoints.v2/http
spec:
  functions: com.example/*
  urlPathTemplate: http://other
  transport:
    type: io.statefun.transports.v1/okhttp
    timeouts: {call: 1min, read: 30 sec}
---
---
kind: io.statefun.kafka.v1/ingress
spec:
  id: com.example/users
  address: broker:9092
  consumerGroupId: 17
  startupPosition:
    type: specific-offsets
    offsets:
      - users/0: 91
      - users/1: 11
  autoOffsetResetPosition: earliest
  topics:
    - topic: users
      valueType: com.example/User
      targets: [com.example/greeter, com.example/counter]
  properties:
    - max.poll.records: 10
    - client.id: me
---
kind: io.statefun.kafka.v1/egress
spec:
  id: com.example/out
  address: broker:9092
  deliverySemantic: {type: exactly-once, transactionTimeout: 15min}
---
kind: io.statefun.kinesis.v1/ingress
spec:
  id: com.example/clicks
  awsRegion: {type: custom-endpoint, endpoint: "https://localhost:4567", id: us-west-1}
  awsCredentials: {type: profile, profileName: me}
  startupPosition: {type: date, date: 2020-02-01 04:15:00.00 Z}
  streams:
    - {stream: clicks, valueType: com.example/Click, targets: [com.example/greeter]}
---
kind: io.statefun.kinesis.v1/egress
spec:
  id: com.example/stream
  awsCredentials: {type: basic, accessKeyId: key, secretAccessKey: secret}
  maxOutstandingRecords: 9999
  clientConfigProperties: {ThreadPoolSize: 10}
---
kind: io.statefun.playground.v1/ingress
spec: {port: 8090}
---
kind: io.statefun.playground.v1/egress
spec: {port: 8091, topics: [greetings]}
"""


def test_every_kind_of_component_is_read() -> None:
    greeter, counter = (
        FunctionType("com.example", "greeter"),
        FunctionType("com.example", "counter"),
    )
    assert read_module(WHOLE.encode()).components == (
        HttpEndpoint(
            "com.example",
            "greeter",
            "https://functions:8000/{function.name}/v1",
            50,
            Transport(True, 180_000, 2_000, None, None, 0, 16, 1000, "/etc/ca.pem"),
        ),
        HttpEndpoint(
            "com.example",
            "*",
            "http://other",
            1000,
            Transport(False, 60_000, 10_000, 30_000, 10_000),
        ),
        KafkaIngress(
            FunctionType("com.example", "users"),
            "broker:9092",
            (Routed("users", "com.example/User", (greeter, counter)),),
            "17",
            StartupPosition("specific-offsets", (("users", 0, 91), ("users", 1, 11))),
            "earliest",
            (("max.poll.records", "10"), ("client.id", "me")),
        ),
        KafkaEgress(FunctionType("com.example", "out"), "broker:9092", "exactly-once", 900_000),
        KinesisIngress(
            FunctionType("com.example", "clicks"),
            (Routed("clicks", "com.example/Click", (greeter,)),),
            AwsRegion("custom-endpoint", "us-west-1", "https://localhost:4567"),
            AwsCredentials("profile", profile_name="me"),
            StartupPosition("date", (), 1_580_530_500_000),
        ),
        KinesisEgress(
            FunctionType("com.example", "stream"),
            AwsRegion(),
            AwsCredentials("basic", "key", "secret"),
            9999,
            (("ThreadPoolSize", "10"),),
        ),
        PlaygroundIngress(8090),
        PlaygroundEgress(8091, ("greetings",)),
    )


def test_the_endpoint_of_a_name_goes_before_the_one_of_its_namespace() -> None:
    module = read_module(WHOLE.encode())
    greeter = module.endpoint(FunctionType("com.example", "greeter"))
    assert greeter is not None
    assert (
        greeter.url(FunctionType("com.example", "greeter")) == "https://functions:8000/greeter/v1"
    )
    other = module.endpoint(FunctionType("com.example", "counter"))
    assert other is not None
    assert other.url_template == "http://other"
    assert module.endpoint(FunctionType("com.else", "counter")) is None


def test_a_target_that_no_endpoint_serves_is_told_with_its_line() -> None:
    text = WHOLE.replace("com.example/counter]", "shop/cart,\n        shop/card]")
    module = read_module(text.encode(), "m.yaml")
    assert module.unserved_targets({FunctionType("shop", "cart")}) == [
        "m.yaml, document 4, line 40: the ingress com.example/users sends to shop/card, which no "
        "endpoint serves"
    ]
    assert read_module(WHOLE.encode()).unserved_targets() == []


def test_defaults_of_transports() -> None:
    (endpoint,) = read_module(ENDPOINT.encode()).endpoints
    assert endpoint.max_num_batch_requests == 1000
    assert endpoint.transport == Transport(
        True, 120_000, 20_000, None, None, 15_000, 1024, 33554432
    )
    okhttp = ENDPOINT + "  transport: {type: io.statefun.transports.v1/okhttp}\n"
    (endpoint,) = read_module(okhttp.encode()).endpoints
    assert endpoint.transport == Transport(False, 60_000, 10_000, 10_000, 10_000)
    migrated = ENDPOINT + "  transport: {timeouts: {read: 5s}, call: 3m}\n"
    (endpoint,) = read_module(migrated.encode()).endpoints
    assert endpoint.transport == Transport(True, 60_000, 10_000)


@pytest.mark.parametrize("kind", ["io.statefun.endpoints.v1/http", "io.statefun.endpoints/http"])
def test_endpoints_of_statefun_3_0_are_called_as_okhttp_does(kind: str) -> None:
    text = ENDPOINT.replace("io.statefun.endpoints.v2/http", kind)
    (endpoint,) = read_module(text.encode()).endpoints
    assert endpoint.transport == Transport(False, 60_000, 10_000, 10_000, 10_000)
    timed = text + "  timeouts: {call: 2m, read: 5s}\n  maxNumBatchRequests: 7\n"
    (endpoint,) = read_module(timed.encode()).endpoints
    assert endpoint.transport == Transport(False, 120_000, 10_000, 5_000, 10_000)
    assert endpoint.max_num_batch_requests == 7


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(read_module(WHOLE.encode()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "m.yaml has no components"),
        ("---\n---\n", "m.yaml has no components"),
        ("[1]", "document 1, line 1: the document must have keys, got a list"),
        ("kind: [", "document 1, line 1: the text is not valid YAML"),
        (f"{ENDPOINT}---\nkind: a\n\tspec: b", "document 2, line 8: the text is not valid YAML"),
        ("version: '2.0'\nmodule: {}", "line 1: this is a module of version 1 or 2"),
        (
            "kind: io.statefun.kafka.v1/ingres\nspec: {}",
            "did you mean 'io.statefun.kafka.v1/ingress'",
        ),
        ("kind: io.statefun.kafka.v1/ingress", "the document needs the key 'spec'"),
        (
            ENDPOINT + "  functoins: a/b",
            "line 6: 'spec' has no key 'functoins'; did you mean 'functions'?",
        ),
        (
            ENDPOINT.replace("com.example/*", "greeter"),
            "line 4: 'spec.functions': 'greeter' is not a type name",
        ),
        (ENDPOINT.replace("http://localhost:8000", "ftp://x"), "line 5: 'spec.urlPathTemplate'"),
        (
            ENDPOINT.replace("8000", "99999"),
            "the URL of the endpoint is malformed",
        ),
        (
            ENDPOINT.replace("{function.name}", "{functoin.name}"),
            "the only possible placeholder is {function.name}",
        ),
        (ENDPOINT.replace("http:", "http+unix:"), "the URL of a socket has no host"),
        (
            ENDPOINT.replace("http://localhost:8000", "http+unix:///run/f"),
            "a file without placeholders that ends with .sock",
        ),
        (
            ENDPOINT.replace("http://localhost:8000", "http+unix:///run").replace(
                "{function.name}", "{function.name}.sock"
            ),
            "a file without placeholders that ends with .sock",
        ),
        (
            ENDPOINT.replace("http://localhost:8000", "http+unix:///run/my.sockets").replace(
                "{function.name}", "{function.name}.sock/call"
            ),
            "a file without placeholders that ends with .sock",
        ),
        (
            ENDPOINT.replace("endpoints.v2", "endpoints.v1") + "  transport: {call: 1m}",
            "'spec' has no key 'transport'",
        ),
        (
            ENDPOINT + "  maxNumBatchRequests: 0",
            "must be a whole number from 1 to 2147483647, got 0",
        ),
        (ENDPOINT + "  maxNumBatchRequests: 1.5", "must be a whole number"),
        (ENDPOINT + "  transport: {call: 0s}", "'spec.transport.call' must be at least 1 ms"),
        (ENDPOINT + "  transport: {call: 3 fortnights}", "amount of time such as 500ms"),
        (ENDPOINT + "  transport: {call: ~, cal: 3s}", "no key 'cal'; did you mean 'call'?"),
        (ENDPOINT + "  transport: {client_cert: a.pem}", "must be set together"),
        (ENDPOINT + "  transport: {trust_cacerts: 'classpath:a'}", "is a class path"),
        (ENDPOINT + "  functions: a/b", "line 6: key 'functions' occurs twice in 'spec'"),
        (
            ENDPOINT + "---" + ENDPOINT,
            "document 2, line 7: the endpoint of com.example/* is defined twice",
        ),
        (ENDPOINT.replace("spec:", "spec: &a"), ""),
        ("a: &a [x]\nb: *a", "document 1, line 2: an alias ('*') is not supported"),
        ("a: !!python/object:os.system x", "the tag"),
        ("a: {<<: {b: 1}}\nkind: x\nspec: {}", "has no key 'a'"),
        ("? [a]\n: b", "a key of the document is not a text"),
        ("[" * 60 + "]" * 60, "nesting deeper than 50"),
        ("[" * 100_000, "nesting deeper than 50"),
        ("kind: io.statefun.playground.v1/ingress\nspec: {port: 70000}", "from 1 to 65535"),
        (
            "kind: io.statefun.playground.v1/egress\nspec: {port: 7, topics: [a, a]}",
            "'spec.topics' has 'a' twice",
        ),
        ("kind: io.statefun.kafka.v1/egress\nspec: {id: a/b}", "'spec' needs the key 'address'"),
        (
            "kind: io.statefun.kafka.v1/egress\n"
            "spec: {id: a/b, address: x, deliverySemantic: {type: exactly-once}}",
            "'transactionTimeout' requires the type 'exactly-once'",
        ),
        (WHOLE.replace("users/1: 11", "users: 11"), "document 4, line 34: 'spec.startupPosition"),
        (WHOLE.replace("2020-02-01", "2020-13-01"), "is not a date in the form"),
        (
            WHOLE.replace("profileName: me", "accessKeyId: me"),
            "of type 'profile' has no key 'accessKeyId'",
        ),
        (
            WHOLE.replace("targets: [com.example/greeter, com.example/counter]", "targets: []"),
            "names no function",
        ),
        (
            WHOLE.replace("  consumerGroupId: 17\n", "").replace(
                "specific-offsets", "group-offsets"
            ),
            "requires",
        ),
    ],
)
def test_faults_name_their_place(text: str, message: str) -> None:
    if not message:  # an anchor that nothing refers to does no harm
        assert read_module(text.encode()).endpoints
        return
    with pytest.raises(ModuleError) as caught:
        read_module(text.encode(), "m.yaml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("m.yaml")


def test_a_file_that_is_missing_is_named(tmp_path) -> None:
    with pytest.raises(ModuleError, match=r"gone.yaml cannot be read: No such file"):
        read_module(tmp_path / "gone.yaml")


def test_a_module_may_be_a_file(tmp_path) -> None:
    (tmp_path / "module.yaml").write_text(ENDPOINT)
    assert len(read_module(tmp_path / "module.yaml").endpoints) == 1


def read_or_refused(content: bytes) -> bool:
    """Whether a module was read, or the error begins with the name of its file."""
    try:
        return bool(read_module(content).components)
    except ModuleError as error:
        return str(error).startswith("module.yaml")


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    assert read_or_refused(content)


@given(st.data())
def test_a_damaged_module_is_read_or_refused(data: st.DataObject) -> None:
    lines = WHOLE.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at] = data.draw(
            st.sampled_from(["", " ", "- a", "x: y", "---", "a", "  - ", lines[0]])
        )
    assert read_or_refused("\n".join(lines).encode())
