"""The global window."""

from __future__ import annotations

from io import BytesIO

from millrace.common.window import (
    GlobalWindow,
    GlobalWindows,
    GlobalWindowSerializer,
    NeverTrigger,
)


def test_every_record_belongs_to_the_one_window() -> None:
    assigner = GlobalWindows.create()
    assert assigner.assign_windows("a", 5) == (GlobalWindow.get(),)
    assert assigner.assign_windows("b", None) == (GlobalWindow(),)
    assert not assigner.is_event_time()
    assert isinstance(assigner.get_default_trigger(), NeverTrigger)


def test_it_is_one_value() -> None:
    assert len({GlobalWindow.get(), GlobalWindow()}) == 1
    assert not GlobalWindow() < GlobalWindow()
    assert repr(GlobalWindow()) == "GlobalWindow"
    assert GlobalWindow().max_timestamp() == 2**63 - 1


def test_it_survives_its_serializer() -> None:
    serializer = GlobalWindows().get_window_serializer()
    assert isinstance(serializer, GlobalWindowSerializer)
    stream = BytesIO()
    serializer.serialize(GlobalWindow(), stream)
    assert stream.getvalue() == b"\x00"
    stream.seek(0)
    assert serializer.deserialize(stream) == GlobalWindow()
