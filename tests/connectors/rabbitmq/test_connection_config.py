"""Addresses of RabbitMQ servers that cannot be."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.connectors.rabbitmq import RMQConnectionConfig


@pytest.mark.parametrize("password", ["12#34", "12/34", "12?34", "xy#cd"])
def test_a_password_that_cuts_the_uri_is_not_shown(password: str) -> None:
    with pytest.raises(JobDefinitionError, match="such as #, / and [?] are written as") as error:
        RMQConnectionConfig.Builder().set_uri(f"amqp://ada:{password}@localhost/")
    assert password[:2] not in str(error.value)
