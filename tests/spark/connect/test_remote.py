"""Addresses of Spark Connect servers."""

from __future__ import annotations

import pytest

from millrace.common.errors import ConfigurationError
from millrace.spark.connect.remote import remote_in


@pytest.mark.parametrize("url", ["https://h:443/;token=dapi", "https://token:dapi@h/?token=dapi"])
def test_a_wrong_address_is_told_without_its_token(url: str) -> None:
    with pytest.raises(ConfigurationError, match="SPARK_REMOTE is 'https://.*h") as told:
        remote_in({}, {"SPARK_REMOTE": url})
    assert "dapi" not in str(told.value)
