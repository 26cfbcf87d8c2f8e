"""Configurations."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from millrace.common.config import options
from millrace.common.config.config_options import ConfigOptions
from millrace.common.config.configuration import Configuration, as_text
from millrace.common.config.flink_options import OTHER_NAMES
from millrace.common.config.known_options import OPTIONS
from millrace.common.config.options import (
    CHECKPOINTING_INTERVAL,
    PARALLELISM,
    RUNTIME_MODE,
    STATE_INLINE_LIMIT,
)
from millrace.common.errors import ConfigurationError
from millrace.common.time import Duration


def test_options_give_typed_values_and_defaults() -> None:
    """Text is read where it is used."""
    configuration = Configuration()
    assert configuration.get(PARALLELISM) == 1
    assert configuration.get(CHECKPOINTING_INTERVAL) is None
    configuration.set_string("parallelism.default", "4")
    configuration.set_string("execution.checkpointing.interval", "10 s")
    assert configuration.get(PARALLELISM) == 4
    assert configuration.get(CHECKPOINTING_INTERVAL) == Duration.of_seconds(10)
    assert configuration.get(STATE_INLINE_LIMIT).get_bytes() == 1 << 20


def test_set_checks_at_once() -> None:
    """An option knows its type."""
    configuration = Configuration().set(RUNTIME_MODE, "batch")
    assert configuration.get(RUNTIME_MODE) == "BATCH"
    with pytest.raises(ConfigurationError, match=r"parallelism.default must be at least 1, got 0"):
        configuration.set(PARALLELISM, 0)


def test_pyflink_getters_and_setters() -> None:
    """Each type, by key and default; setters can be chained."""
    configuration = (
        Configuration()
        .set_string("user.s", "text")
        .set_integer("user.i", 5)
        .set_boolean("user.b", True)
        .set_float("user.f", 2)
        .set_bytearray("user.a", bytearray(b"xy"))
    )
    assert configuration.get_string("user.s", "") == "text"
    assert configuration.get_integer("user.i", 0) == 5
    assert configuration.get_boolean("user.b", False) is True
    assert configuration.get_float("user.f", 0.0) == 2.0
    assert configuration.get_bytearray("user.a", bytearray()) == bytearray(b"xy")
    assert configuration.get_string("user.i", "") == "5"
    assert configuration.get_integer("user.none", 7) == 7
    assert configuration.get_bytearray("user.none", bytearray(b"d")) == bytearray(b"d")


def test_false_and_zero_are_values() -> None:
    """They must not be taken for the lack of one."""
    configuration = Configuration().set_boolean("user.b", False).set_integer("user.i", 0)
    assert configuration.get_boolean("user.b", True) is False
    assert configuration.get_integer("user.i", 5) == 0


def test_keys() -> None:
    """Asking for them and removing them."""
    configuration = Configuration({"user.a": 1})
    assert configuration.key_set() == {"user.a"}
    assert configuration.contains_key("user.a")
    assert configuration.remove_config("user.a") is True
    assert configuration.remove_config("user.a") is False


def test_add_all_with_prefix() -> None:
    """Pairs of another configuration."""
    target = Configuration({"user.a": 1})
    target.add_all(Configuration({"b": 2}), "user.").add_all(Configuration({"user.a": 3}))
    assert target.to_dict() == {"user.a": "3", "user.b": "2"}
    pairs: dict[str, Any] = {"x": "y"}
    target.add_all_to_dict(pairs)
    assert pairs == {"x": "y", "user.a": 3, "user.b": 2}


def test_the_text_is_that_of_flink() -> None:
    """Java's text of a map."""
    configuration = Configuration().set_string("k1", "v1").set_integer("k2", 1)
    assert str(configuration) == "{k1=v1, k2=1}"


def test_other_names_are_the_same_option() -> None:
    """Set under one name, it is read and removed under either; the text shows the one here."""
    configuration = Configuration({"state.checkpoints.dir": "/a"})
    assert configuration.get(options.CHECKPOINTING_DIR) == "/a"
    assert configuration.get_string("execution.checkpointing.dir") == "/a"
    configuration.set_string("execution.checkpointing.dir", "/b")
    assert configuration.get_string("state.checkpoints.dir") == "/b"
    assert configuration.to_dict() == {"execution.checkpointing.dir": "/b"}
    assert configuration.contains_key("state.checkpoints.dir")
    assert configuration.remove_config("state.checkpoints.dir")
    assert configuration.key_set() == set()


@pytest.mark.parametrize("key", sorted(OTHER_NAMES))
def test_every_other_name_is_of_an_option(key: str) -> None:
    assert OTHER_NAMES[key] in OPTIONS
    assert key not in OPTIONS


@pytest.mark.parametrize(
    "key",
    [
        "execution.batch.adaptive.auto-parallelism.enabled",
        "execution.target",
        "pipeline.force-kryo",
        "python.fn-execution.bundle.size",
        "state.backend.latency-track.keyed-state-enabled",
        "taskmanager.numberOfTaskSlots",
    ],
)
def test_a_configuration_of_flink_is_accepted(key: str) -> None:
    """What has no meaning here, too."""
    Configuration({key: "1"}).validate()
    assert key not in OPTIONS


def test_a_hint_is_near() -> None:
    """A key that resembles nothing is not given a strange one."""
    with pytest.raises(ConfigurationError, match="did you mean 'execution.runtime-mode'"):
        Configuration({"execution.runtime-mod": "BATCH"}).validate()
    with pytest.raises(ConfigurationError, match="see the list in docs/configuration.md"):
        Configuration({"execution.colour": "red"}).validate()


@pytest.mark.parametrize(
    ("text", "items"),
    [(None, []), ("", []), ("- a\n- b", ["a", "b"]), ("[a, b]", ["a", "b"]), ("a;b", ["a", "b"])],
)
def test_lists_in_the_styles_of_yaml(text: str | None, items: list[str]) -> None:
    """And in that of Flink before."""
    assert Configuration.parse_list_value(text) == items
    if text == "[a, b]":
        assert Configuration.parse_list_value(text, False) == ["[a, b]"]


def test_copies_are_independent() -> None:
    """Made by hand, deep or pickled."""
    original = Configuration({"user.a": Duration.of_seconds(1)})
    for twin in (
        Configuration(original),
        copy.deepcopy(original),
        pickle.loads(pickle.dumps(original)),
    ):
        assert twin == original
        assert hash(twin) == hash(original)
        twin.set_string("user.a", "2 s")
        assert twin != original


@pytest.mark.parametrize(
    "value", [{"a": "x,y", "b": "1:2", "c": "it's", "d": ""}, {"a": "'x'"}, {"k": "x , y"}]
)
def test_maps_as_text_read_back(value: dict[str, str]) -> None:
    option = ConfigOptions.key("user.map").map_type().no_default_value()
    assert option.read(as_text(value)) == value


@pytest.mark.parametrize("value", [["a", "b;c", "d, e"], ["it's", '"q"'], [" x "]])
def test_lists_as_text_read_back(value: list[str]) -> None:
    option = ConfigOptions.key("user.list").list_type().no_default_value()
    assert option.read(as_text(value)) == value


def test_values_as_text_read_back() -> None:
    """What `to_dict` gives can be given to another configuration."""
    original = Configuration()
    for option in OPTIONS.values():
        if option.default is not None:
            original.set(option, option.default)
    again = Configuration(original.to_dict())
    assert {key: again.get(option) for key, option in OPTIONS.items()} == {
        key: original.get(option) for key, option in OPTIONS.items()
    }


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("paralelism.default", "did you mean 'parallelism.default'"),
        ("execution.checkpoint.interval", "did you mean 'execution.checkpointing.interval'"),
        ("millrace.epoch.target", "did you mean 'millrace.epoch.target-duration'"),
        ("execution.zzz", "see the list in docs/configuration.md"),
    ],
)
def test_an_unknown_key_suggests_the_nearest(key: str, hint: str) -> None:
    """A typing mistake must not pass for a setting."""
    with pytest.raises(ConfigurationError, match=f"unknown configuration key '{key}'; {hint}"):
        Configuration({key: "1"}).validate()


@pytest.mark.parametrize(
    "key", ["spark.executor.memory", "user.limit", "pipeline.global-job-parameters.a", "other.x"]
)
def test_foreign_keys_pass(key: str) -> None:
    """Spark's, the user's and those of other systems."""
    Configuration({key: "1"}).validate()


def test_validate_checks_values() -> None:
    """Before the job starts."""
    with pytest.raises(ConfigurationError, match=r"millrace.spark.tasks must be a number"):
        Configuration({"millrace.spark.tasks": "many"}).validate()


def test_none_and_empty_keys_are_refused() -> None:
    """A value of None would read as "not set"."""
    with pytest.raises(ConfigurationError, match="use remove_config"):
        Configuration().set_string("user.a", None)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="a configuration key is a text"):
        Configuration().set_string("", "x")


@pytest.mark.parametrize("text", ["a;b", "[a, b]", " 'a' ; \"b\" ;"])
def test_parse_list_value(text: str) -> None:
    """Both ways Flink writes lists."""
    assert Configuration.parse_list_value(text) == ["a", "b"]


@pytest.mark.parametrize(
    "key",
    [
        "table.exec.async-lookup.buffer-capacity",
        "table.exec.async-state.enabled",
        "table.exec.deduplicate.mini-batch.compact-changes-enabled",
        "table.exec.sink.keyed-shuffle",
        "state.backend.cleanup-threads",
    ],
)
def test_keys_of_flink_without_effect_are_accepted(key: str) -> None:
    """Also those of a family whose name ends in a hyphen."""
    Configuration.from_dict({key: "1"}).validate()
