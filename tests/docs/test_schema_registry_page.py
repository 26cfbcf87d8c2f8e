"""The page about schema registries: its program runs as it stands there, with a real broker."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

from kafka_broker import KafkaBroker
from kafka_topics import Topics, WallClock
from schema_registry import SchemaRegistry

from millrace.common import Row
from millrace.datastream import StreamExecutionEnvironment
from millrace.formats.avro import AvroSchema
from millrace.formats.registry import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "schema-registry.md"


def test_the_program_of_the_page(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    page = ModuleType("schema_registry_page")
    sys.modules["schema_registry_page"] = page
    topics = Topics(kafka_broker.bootstrap_servers)
    orders, expensive = topics.create(), topics.create()  # other pages have an "orders", too
    code = code.replace('"orders")\n        .set_s', f'"{orders}")\n        .set_s')
    code = code.replace('.set_topic("expensive")', f'.set_topic("{expensive}")')
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    fields = [field for field in page.ORDER.definition["fields"] if field["name"] != "country"]
    old = AvroSchema({**page.ORDER.definition, "fields": fields})
    with SchemaRegistry() as registry:
        write = ConfluentRegistryAvroSerializationSchema.for_generic("old", old, registry.url)
        messages = [write.serialize(Row(customer="ada", cents=cents)) for cents in (50, 150, 250)]
        topics.send(orders, messages, 0)
        with run_local(clock=WallClock(), checkpoint_dir=str(tmp_path)):
            env = StreamExecutionEnvironment.get_execution_environment()
            env.enable_checkpointing(1)
            page.expensive(env, kafka_broker.bootstrap_servers, registry.url)
            env.execute("expensive")
        read = ConfluentRegistryAvroDeserializationSchema.for_generic(page.ORDER, registry.url)
        found = [read.deserialize(message.value()) for message in topics.read(expensive)]
    assert found == [Row(customer="ada", cents=cents, country="unknown") for cents in (150, 250)]


def test_the_page_is_in_the_navigation() -> None:
    navigation = (PAGE.parents[2] / "mkdocs.yml").read_text(encoding="utf-8")
    assert "connectors/schema-registry.md" in navigation
