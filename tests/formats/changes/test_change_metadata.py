"""What messages about changes tell beside the rows, when it is not as it should be."""

from __future__ import annotations

import pytest

from millrace.formats.changes.change_metadata import DEBEZIUM_METADATA, OGG_METADATA


@pytest.mark.parametrize("message", [b'{"source": "x"}', b"[1]", b"5"])
def test_what_is_no_object_is_told(message: bytes) -> None:
    with pytest.raises(ValueError, match="metadata that are not a JSON object"):
        DEBEZIUM_METADATA["source.table"](message)


def test_what_is_missing_is_none() -> None:
    assert DEBEZIUM_METADATA["source.table"](b"{}") is None
    assert DEBEZIUM_METADATA["source.properties"](b'{"source": null}') is None
    assert OGG_METADATA["event-timestamp"](b'{"op_ts": null}') is None
