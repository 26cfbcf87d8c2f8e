"""Options of a session are checked when they are set, and reset to what they were."""

from __future__ import annotations

import pytest

from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError
from millrace.table import TableConfig


def test_an_unknown_option_is_told_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match=r"did you mean 'table\.exec\.state\.ttl'"):
        TableConfig().set("table.exec.state.tll", "1 h")


def test_a_wrong_value_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="soon"):
        TableConfig().set("table.exec.state.ttl", "soon")
    with pytest.raises(ConfigurationError, match="the zone 'Europe/Nowhere' is unknown"):
        TableConfig().set_local_timezone("Europe/Nowhere")


def test_options_of_flink_without_effect_are_accepted() -> None:
    config = TableConfig().set("table.exec.mini-batch.enabled", "true")
    assert config.get("table.exec.mini-batch.enabled", "") == "true"


def test_reset_goes_back_to_the_beginning() -> None:
    config = TableConfig(Configuration({"parallelism.default": "3"}))
    config.set("parallelism.default", "5").set("table.local-time-zone", "Asia/Tokyo")
    config.reset("parallelism.default")
    assert config.get("parallelism.default", "") == "3"
    assert config.get_local_timezone() == "Asia/Tokyo"
    config.reset()
    assert config.to_dict() == {"parallelism.default": "3"}


@pytest.mark.parametrize(
    ("offset", "zone"), [("GMT-08:00", "Etc/GMT+8"), ("GMT+9", "Etc/GMT-9"), ("GMT+00:00", "UTC")]
)
def test_a_zone_may_be_an_offset(offset: str, zone: str) -> None:
    assert TableConfig().set("table.local-time-zone", offset).get_local_timezone() == zone
