"""The feeds of the social network, through kill -9, against a loop over all events."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import feed
import feeds
import people
import pytest
from application import EXAMPLES

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

PAGE = EXAMPLES.parent / "docs" / "applications" / "feed.md"
AVAILABLE_NOW = Configuration({"millrace.available-now": "true"})
Told = Counter[tuple[str, str]]
"""Users and posts."""


def expected() -> tuple[Told, dict[str, dict[str, list[feeds.Post]]]]:
    """What users are told, and their feeds at the end."""
    followers: dict[str, set[str]] = defaultdict(set)
    told: Told = Counter()
    kept: dict[str, dict[str, list[feeds.Post]]] = defaultdict(dict)
    for day in (1, 2):
        for event in people.events(day):
            author = event["author"]
            match event["kind"]:
                case "follow":
                    followers[author].add(event["user"])
                case "unfollow":
                    followers[author].discard(event["user"])
                    kept[event["user"]].pop(author, None)
                case "post":
                    for user in followers[author]:
                        told[user, event["post"]] += 1
                        posts = [*kept[user].get(author, []), (event["time"], event["post"])]
                        kept[user][author] = posts[-feeds.KEPT :]
    for feed_of_user in kept.values():
        feed_of_user.pop(people.SPAMMER, None)
    return told, kept


def run_day(directory: Path, day: int, faults: Faults) -> None:
    """A run over the files of a day, and of those before."""
    people.deliver(directory / "inbox", day)
    with run_local(
        workers=2, seed=day, faults=faults, epoch_records=100,
        checkpoint_dir=str(directory / "checkpoints"), resume=True,
    ):  # fmt: skip
        env = StreamExecutionEnvironment.get_execution_environment(AVAILABLE_NOW)
        feed.build(env.set_parallelism(2), directory)
        env.execute("feed")


@pytest.mark.parametrize("faults", [Faults(), Faults(0.1, 0.1, 0.1, 0.05)], ids=["calm", "faults"])
def test_every_user_is_told_of_every_post_once(faults: Faults, tmp_path: Path) -> None:
    for day in (1, 2):
        run_day(tmp_path, day, faults)
    told: Told = Counter()
    made: Counter[tuple[str, int]] = Counter()
    for part in (tmp_path / "results").glob("part-*"):
        for line in part.read_text("utf-8").splitlines():
            one = json.loads(line)
            told[one["user"], one["post"]] += 1
            made[one["post"].partition("'")[0], one["bucket"]] += 1
    wanted, _ = expected()
    assert not told - wanted
    # the suspension may come before or after posts of that moment
    missed = {post.partition("'")[0] for _, post in wanted - told}
    assert missed == {people.SPAMMER}
    of_star = [count for (author, _), count in made.items() if author == people.STAR]
    assert len(of_star) == feeds.BUCKETS
    assert max(of_star) < 1.4 * sum(of_star) / feeds.BUCKETS


def test_feeds_of_the_page_are_those_of_a_loop() -> None:
    """A test of the pages compares what a killed and resumed job answers with the page."""
    _, kept = expected()
    lines = PAGE.read_text("utf-8").splitlines()
    for user in ("p001", "p002"):
        posts = sorted((post for posts in kept[user].values() for post in posts), reverse=True)
        shown = f"{user}: {', '.join(text for _, text in posts[:4])}"
        assert [line for line in lines if line.startswith(f"{user}: ")][-1] == shown


def test_events_are_the_same_in_each_process() -> None:
    """Sets of texts have another order in each."""
    found = {
        subprocess.run(
            [sys.executable, "-c", "import people; print(people.events(1))"],
            cwd=EXAMPLES / "feed",
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
