"""What Pulsar sources refuse before anything runs, in sentences."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from millrace.common import ConfigOptions, SimpleStringSchema
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import DeliveryGuarantee
from millrace.connectors.pulsar import PulsarError, PulsarSource, StartCursor, StopCursor
from millrace.connectors.pulsar.client import PulsarProperties, _authentication, create_client
from millrace.connectors.pulsar.message_position import MessagePosition
from millrace.connectors.pulsar.topic_names import full_name
from millrace.datastream.connectors import pulsar


def source() -> Any:
    return (
        PulsarSource.builder()
        .set_service_url("pulsar://localhost:6650")
        .set_subscription_name("s")
        .set_deserialization_schema(SimpleStringSchema())
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: PulsarSource.builder().build(), r"needs set_service_url\(\)"),
        (lambda: source().build(), r"needs set_topics\(\)"),
        (lambda: source().set_topic_pattern("a.*").build(), r"needs set_admin_url\(\)"),
        (lambda: source().set_topics([]), "takes names of topics"),
        (lambda: source().set_topics("a").set_topics("b"), "call one of"),
        (lambda: source().set_topic_pattern("("), "takes a regular expression"),
        (lambda: source().set_start_cursor("earliest"), r"a StartCursor such as latest\(\)"),
        (lambda: source().set_bounded_stop_cursor(7), "a StopCursor such as"),
        (lambda: source().set_deserialization_schema(str), "needs a DeserializationSchema"),
        (lambda: source().set_config("pulsar.client.x", 1), "no Pulsar property"),
        (lambda: source().set_properties([]), "are a dict"),
        (
            lambda: source().set_config("pulsar.consumer.subscriptionType", "Shared"),
            "is not supported: partitions are read by one subtask each",
        ),
        (lambda: StartCursor.from_publish_time(-1), "a number of ms since 1970"),
        (lambda: StartCursor.from_message_id("1:2"), "a message id must be a pulsar.MessageId"),
        (lambda: StopCursor.at_message_id(b"\xff\xff"), "these bytes are not a message id"),
    ],
)
def test_what_cannot_be(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(JobDefinitionError, match=said):
        make()


def test_flinks_properties_about_acknowledging_and_fetching_change_nothing() -> None:
    made = source().set_topics("a").set_consumer_name("reader-1")
    made.set_config("pulsar.source.enableAutoAcknowledgeMessage", True)
    milliseconds = ConfigOptions.key("pulsar.source.maxFetchTime").int_type().no_default_value()
    made.set_config(milliseconds, 500)
    made.set_config_with_dict({"pulsar.source.autoCommitCursorInterval": "1000"})
    values = made.build()._reading.properties.values
    assert values["pulsar.consumer.consumerName"] == "reader-1"


def test_names_that_programs_import() -> None:
    assert pulsar.DeliveryGuarantee is DeliveryGuarantee
    with pytest.raises(ImportError, match="no subscription of the type Key_Shared"):
        from millrace.datastream.connectors.pulsar import RangeGenerator  # noqa: F401


def test_secrets_are_not_shown() -> None:
    made = source().set_authentication("AuthenticationToken", "token:secret").set_topics("a")
    assert "secret" not in repr(made.build()._reading)


def test_an_authentication_that_is_not_known() -> None:
    made = source().set_authentication("AuthenticationMagic", "").set_topics("a").build()
    with pytest.raises(PulsarError, match="authPluginClassName is AuthenticationToken, "):
        create_client(made._reading.properties)


def test_without_the_package_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pulsar", None)
    with pytest.raises(PulsarError, match=r"pip install 'millrace\[pulsar\]'"):
        create_client(source().set_topics("a").build()._reading.properties)


def test_short_names() -> None:
    assert full_name("a/b/c") == "persistent://a/b/c"
    assert full_name("non-persistent://a/b/c") == "non-persistent://a/b/c"


def test_positions_are_in_the_order_of_messages() -> None:
    order = [(3, 0), (3, 1, 0), (3, 1, 7), (3, 2), (10, 0)]
    positions = [MessagePosition(*place) for place in order]
    assert positions == sorted(positions)
    assert positions[2].before() == MessagePosition(3, 1, 6)
    assert positions[0] < positions[3].before() < positions[3]
    assert MessagePosition(3, 4).whole_entry() == MessagePosition(3, 4)
    assert MessagePosition(3, 4, 9).whole_entry() == MessagePosition(3, 3)
    assert MessagePosition(3, 0, 9).whole_entry() is None


@pytest.mark.parametrize(
    ("plugin", "params", "message"),
    [
        ("AuthenticationTls", "tlsCertFile:/c.pem", "tlsCertFile:PATH,tlsKeyFile:PATH"),
        ("AuthenticationTls", "", "tlsCertFile:PATH,tlsKeyFile:PATH"),
        ("AuthenticationBasic", "user:secret", '{"userId": "...", "password": "..."}'),
        ("AuthenticationBasic", '{"userId": "secret"}', '{"userId": "...", "password": "..."}'),
    ],
)
def test_wrong_authentication_is_explained_without_the_secret(plugin, params, message) -> None:
    properties = PulsarProperties(
        {
            "pulsar.client.serviceUrl": "pulsar://localhost:1",
            "pulsar.client.authPluginClassName": f"org.apache.pulsar.client.impl.auth.{plugin}",
            "pulsar.client.authParams": params,
        }
    )
    with pytest.raises(PulsarError, match=re.escape(message)) as caught:
        _authentication(Mock(), properties)
    assert "secret" not in str(caught.value)
