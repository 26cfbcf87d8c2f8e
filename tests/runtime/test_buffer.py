from __future__ import annotations

from millrace.runtime.buffer import Buffer, BufferKind


def buffer(**changes) -> Buffer:
    fields = {
        "target": 3, "edge": 2, "channel": 7, "attempt": 2**40, "sequence": 5,
        "kind": BufferKind.RECORDS, "watermark": -(2**63), "size": 9, "payload": b"abc",
    }  # fmt: skip
    return Buffer(**{**fields, **changes})


def test_through_bytes_and_back() -> None:
    for made in (buffer(), buffer(watermark=2**63 - 1, payload=b"", kind=BufferKind.END)):
        assert Buffer.unpack(made.pack()) == made
