from __future__ import annotations

from millrace.runtime.buffer import Buffer, BufferKind, in_order


def buffer(**changes) -> Buffer:
    fields = {
        "target": 3, "edge": 2, "channel": 7, "attempt": 2**40, "sequence": 5,
        "kind": BufferKind.RECORDS, "watermark": -(2**63), "size": 9, "payload": b"abc",
    }  # fmt: skip
    return Buffer(**{**fields, **changes})


def test_through_bytes_and_back() -> None:
    for made in (buffer(), buffer(watermark=2**63 - 1, payload=b"", kind=BufferKind.END)):
        assert Buffer.unpack(made.pack()) == made


def test_the_order_of_input_is_edge_channel_sequence() -> None:
    mixed = [
        buffer(edge=1, channel=0, sequence=0),
        buffer(edge=0, channel=1, sequence=0),
        buffer(edge=0, channel=0, sequence=1),
        buffer(edge=0, channel=0, sequence=0),
    ]
    ordered = sorted(mixed, key=in_order)
    assert [in_order(b) for b in ordered] == [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)]
