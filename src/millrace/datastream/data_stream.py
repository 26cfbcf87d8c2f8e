"""PyFlink's path of streams of every kind."""

from __future__ import annotations

from millrace.datastream.all_windowed_stream import (
    AllWindowedStream,
)
from millrace.datastream.collected import (
    CloseableIterator,
)
from millrace.datastream.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from millrace.datastream.data_stream_sink import (
    DataStreamSink,
)
from millrace.datastream.keyed_stream import (
    KeyedStream,
)
from millrace.datastream.stream import (
    DataStream,
)
from millrace.datastream.windowed_stream import (
    WindowedStream,
)

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]
