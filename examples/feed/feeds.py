"""How a post reaches the feeds of all who follow its author."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from millrace.common import Types
from millrace.datastream import (
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
)
from millrace.datastream.state import MapState, MapStateDescriptor

BUCKETS = 8
"""Parts into which the followers of each author are divided, so that one subtask does not have all
the followers of a star."""
KEPT = 3
"""Posts of each author that a feed keeps."""
Record = dict[str, Any]
Bucket = tuple[str, int]
"""An author, and the number of a part of the followers."""
Post = tuple[int, str]
"""Time and text."""
POSTS = Types.LIST(Types.TUPLE([Types.LONG(), Types.STRING()]))
SUSPENDED: MapStateDescriptor[str, bool] = MapStateDescriptor(
    "suspended", Types.STRING(), Types.BOOLEAN()
)


@dataclass(frozen=True)
class Delivery:
    """A post for one feed, and the bucket from which it comes. Without a text: the user no longer
    follows the author."""

    user: str
    author: str
    time: int
    post: str
    bucket: int


def spread(event: Record) -> Iterator[tuple[Bucket, Record]]:
    """An event with the buckets that must know it: a post is for all of them."""
    if event["kind"] == "post":
        for number in range(BUCKETS):
            yield (event["author"], number), event
    elif event["kind"] in ("follow", "unfollow"):
        yield (event["author"], crc32(event["user"].encode()) % BUCKETS), event


class FanOut(KeyedProcessFunction[Bucket, tuple[Bucket, Record], Delivery]):
    """Knows the followers of a bucket, and writes each post to all their feeds."""

    def open(self, runtime_context: RuntimeContext) -> None:
        followers = MapStateDescriptor("followers", Types.STRING(), Types.LONG())
        self.followers: MapState[str, int] = runtime_context.get_map_state(followers)

    def process_element(
        self, value: tuple[Bucket, Record], ctx: KeyedProcessFunction.Context
    ) -> Iterator[Delivery]:
        (author, bucket), event = value
        match event["kind"]:
            case "follow":
                self.followers.put(event["user"], event["time"])
            case "unfollow" if self.followers.contains(event["user"]):
                self.followers.remove(event["user"])
                yield Delivery(event["user"], author, event["time"], "", bucket)
            case "post":
                for user in self.followers.keys():  # noqa: SIM118 (a state is no dict)
                    yield Delivery(user, author, event["time"], event["post"], bucket)


def feed_descriptor() -> MapStateDescriptor[str, list[Post]]:
    """The newest posts in a feed, by author."""
    feed: MapStateDescriptor[str, list[Post]] = MapStateDescriptor("feed", Types.STRING(), POSTS)
    feed.set_queryable("feeds")
    return feed


class Feeds(KeyedBroadcastProcessFunction[str, Delivery, Record, Record]):
    """Keeps the feeds, and tells users of new posts; posts of suspended authors are nowhere."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.feed: MapState[str, list[Post]] = runtime_context.get_map_state(feed_descriptor())

    def process_element(
        self, value: Delivery, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[Record]:
        if not value.post:
            self.feed.remove(value.author)
        elif not ctx.get_broadcast_state(SUSPENDED).contains(value.author):
            posts = [*(self.feed.get(value.author) or []), (value.time, value.post)]
            self.feed.put(value.author, posts[-KEPT:])
            yield {"user": value.user, "post": value.post, "bucket": value.bucket}

    def process_broadcast_element(
        self, value: Record, ctx: KeyedBroadcastProcessFunction.Context
    ) -> None:
        author = value["author"]
        ctx.get_broadcast_state(SUSPENDED).put(author, True)
        ctx.apply_to_keyed_state(feed_descriptor(), lambda _, feed: feed.remove(author))
