"""A search index and a materialised view that follow the tables of a database.

``python start.py`` starts the servers and this job. It finds them by the environment variables
``PGHOST``, ``PGPORT``, ``PGUSER``, ``PGPASSWORD``, ``PGDATABASE`` and ``OPENSEARCH_URL``.
"""

from __future__ import annotations

import os

from catalog import CATEGORIES, DOCUMENTS

from millrace.common import Row, RowTypeInfo, Types, WatermarkStrategy
from millrace.connectors.postgres_cdc import PostgresCdcSource, RowDeserializationSchema
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.connectors import DeliveryGuarantee
from millrace.datastream.connectors.elasticsearch import (
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    FlushBackoffType,
)
from millrace.table import Schema, StreamTableEnvironment

INDEX = "products"
PRODUCTS = Types.ROW_NAMED(
    ["id", "name", "category", "cents"],
    [Types.INT(), Types.STRING(), Types.STRING(), Types.INT()],
)
REVIEWS = Types.ROW_NAMED(["id", "product", "stars"], [Types.INT(), Types.INT(), Types.INT()])
VIEW = """
    CREATE TEMPORARY TABLE categories (
        category STRING, products BIGINT, reviews BIGINT, stars BIGINT,
        PRIMARY KEY (category) NOT ENFORCED
    ) WITH ('connector' = 'jdbc', 'table-name' = 'derived.categories', 'url' = '{url}',
        'username' = '{user}', 'password' = '{password}',
        'sink.delivery-guarantee' = 'exactly-once')
"""


def changes(env: StreamExecutionEnvironment, table: str, row_type: RowTypeInfo) -> DataStream[Row]:
    """The rows of a table, then their changes, each exactly once."""
    source = (
        PostgresCdcSource.builder()
        .hostname(os.environ["PGHOST"])
        .port(int(os.environ["PGPORT"]))
        .database(os.environ["PGDATABASE"])
        .table_list(f"public.{table}")
        .slot_name(f"search_{table}")
        .deserializer(RowDeserializationSchema(row_type))
        .build()
    )
    return env.from_source(source, WatermarkStrategy.no_watermarks(), table).uid(table)


def write_index(documents: DataStream[Row], url: str) -> None:
    """Each document replaces its last version, or deletes it: the id of the product is its own."""
    sink = (
        Elasticsearch7SinkBuilder()
        .set_hosts(url)
        .set_emitter(ElasticsearchEmitter.static_index(INDEX, "id"))
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 8, 100)
        .build()
    )
    # changes of a product stay in their order
    documents.key_by(lambda row: row["id"], Types.INT()).sink_to(sink).uid("index")


def build(env: StreamExecutionEnvironment) -> None:
    """The whole job."""
    t_env = StreamTableEnvironment.create(env)
    key = Schema.new_builder().primary_key("id")
    for name, row_type in ("products", PRODUCTS), ("reviews", REVIEWS):
        rows = changes(env, name, row_type)
        t_env.create_temporary_view(name, t_env.from_changelog_stream(rows, key.build()))
    write_index(t_env.to_changelog_stream(t_env.sql_query(DOCUMENTS)), os.environ["OPENSEARCH_URL"])
    host, port, database = (os.environ[name] for name in ("PGHOST", "PGPORT", "PGDATABASE"))
    t_env.execute_sql(
        VIEW.format(
            url=f"jdbc:postgresql://{host}:{port}/{database}",
            user=os.environ["PGUSER"],
            password=os.environ["PGPASSWORD"],
        )
    )
    inserts = t_env.create_statement_set()
    inserts.add_insert_sql(f"INSERT INTO categories {CATEGORIES}")
    inserts.attach_as_datastream()


def main() -> None:
    """Run until somebody stops it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env)
    env.execute("search")


if __name__ == "__main__":
    main()
