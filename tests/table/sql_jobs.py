"""Program that plans SQL jobs and writes what their workers receive: ``sql_jobs.py DIRECTORY``.

There is a job for each kind of connector, format and user-defined function. Nothing runs, so no
job needs a server. The functions are classes of this program, as those of most users are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from planning_launcher import PlannedError, PlanningLauncher

from millrace.common.types.row import Row
from millrace.datastream.job_launcher import JobLauncher
from millrace.table import (
    AggregateFunction,
    AsyncScalarFunction,
    EnvironmentSettings,
    ListView,
    ProcessTableFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableEnvironment,
    TableFunction,
)
from millrace.table.expressions import col
from millrace.table.udf import ArgumentTrait, StateHint, udaf, udf, udptf, udtaf, udtf


class Upper(ScalarFunction):
    def eval(self, word: str) -> str:
        return word.upper()


class Asked(AsyncScalarFunction):
    async def eval(self, word: str) -> str:
        return word


class Letters(TableFunction):
    def eval(self, word: str) -> Iterator[str]:
        yield from word


class Words(AggregateFunction):
    def create_accumulator(self) -> Any:
        return ListView()

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator.add(args[0])

    def get_value(self, accumulator: Any) -> Any:
        return len(accumulator)


class First(TableAggregateFunction):
    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator.append(args[0])

    def emit_value(self, accumulator: Any) -> Any:
        yield from accumulator[:1]


class Greeting(ProcessTableFunction):
    def eval(
        self,
        seen: Annotated[Row, StateHint(type="ROW<n BIGINT>")],
        words: Annotated[Row, ArgumentTrait.SET_SEMANTIC_TABLE],
    ) -> Iterator[str]:
        yield str(words.word)


FUNCTIONS = {
    "upper1": udf(Upper(), result_type="STRING"),
    "upper2": udf(lambda words: words.str.upper(), result_type="STRING", func_type="pandas"),
    "asked": udf(Asked(), result_type="STRING"),
    "letters": udtf(Letters(), result_types=["STRING"]),
    "words": udaf(Words(), result_type="BIGINT"),
    "greeting": udptf(Greeting()),
}
KAFKA = (
    "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'localhost:1', "
    "'properties.group.id' = 'g'"
)
TABLES = {
    "datagen": ("id INT, word STRING", "'connector' = 'datagen'"),
    "print": ("id INT, word STRING", "'connector' = 'print'"),
    "blackhole": ("id INT, word STRING", "'connector' = 'blackhole'"),
    "jdbc": (
        "id INT, word STRING",
        "'connector' = 'jdbc', 'url' = 'sqlite:///{directory}/test.db', 'table-name' = 'words'",
    ),
    "upsert_kafka": (
        "id INT PRIMARY KEY NOT ENFORCED, word STRING",
        f"{KAFKA.replace('kafka', 'upsert-kafka', 1)}, 'key.format' = 'json', "
        "'value.format' = 'json'",
    ),
    "kafka_keys": (
        "id INT, word STRING, place BIGINT METADATA FROM 'offset' VIRTUAL",
        f"{KAFKA}, 'key.format' = 'csv', 'key.fields' = 'id', 'value.format' = 'json'",
    ),
    "kafka_registry": (
        "id INT, word STRING",
        f"{KAFKA}, 'format' = 'avro-confluent', 'avro-confluent.url' = 'http://localhost:1'",
    ),
    "files_marked": (
        "id INT, word STRING",
        "'connector' = 'filesystem', 'path' = '{directory}/marked', 'format' = 'csv', "
        "'sink.partition-commit.policy.kind' = 'success-file'",
    ),
    "files_partitioned": (
        "id INT, word STRING, name STRING METADATA FROM 'file.name' VIRTUAL) PARTITIONED BY (word",
        "'connector' = 'filesystem', 'path' = '{directory}/partitioned', 'format' = 'json'",
    ),
}
TABLES |= {
    f"kafka_{name.replace('-', '_')}": ("id INT, word STRING", f"{KAFKA}, 'format' = '{name}'")
    for name in ("csv", "json", "avro", "debezium-json", "canal-json", "maxwell-json", "ogg-json")
}
TABLES["kafka_raw"] = ("word STRING", f"{KAFKA}, 'format' = 'raw'")
TABLES |= {
    f"files_{name}": (
        "id INT, word STRING",
        f"'connector' = 'filesystem', 'path' = '{{directory}}/{name}', 'format' = '{name}'",
    )
    for name in ("csv", "json", "parquet", "orc", "avro")
}
WRITTEN_ONLY, READ_ONLY = {"print", "blackhole"}, {"datagen"}
QUERIES = {
    "scalar": "SELECT upper1(word) FROM datagen",
    "pandas": "SELECT upper2(word) FROM datagen",
    "async": "SELECT asked(word) FROM datagen",
    "table_function": "SELECT id, l FROM datagen, LATERAL TABLE(letters(word)) AS t(l)",
    "aggregate": "SELECT id, words(word) FROM datagen GROUP BY id",
    "process_table": "SELECT * FROM greeting(words => TABLE datagen PARTITION BY id)",
    "group": "SELECT word, COUNT(*), SUM(id) FROM datagen GROUP BY word",
    "join": "SELECT a.id FROM datagen AS a JOIN datagen AS b ON a.id = b.id",
    "top": "SELECT * FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY word ORDER BY id) AS n "
    "FROM datagen) AS t WHERE n < 3",
    "lookup": "SELECT d.id, j.word FROM (SELECT *, PROCTIME() AS p FROM datagen) AS d "
    "JOIN jdbc FOR SYSTEM_TIME AS OF d.p AS j ON d.id = j.id",
}


def statements() -> Iterator[tuple[str, str]]:
    for table, (columns, _) in TABLES.items():
        names = "word" if columns.startswith("word") else "id, word"
        if table not in READ_ONLY:
            yield f"to_{table}", f"INSERT INTO {table} ({names}) SELECT {names} FROM datagen"
        if table not in WRITTEN_ONLY:
            found = names if "METADATA" not in columns else "*"
            yield f"from_{table}", f"SELECT {found} FROM {table}"
    yield from QUERIES.items()


def main(directory: Path) -> None:
    JobLauncher.install(PlanningLauncher())
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, function in FUNCTIONS.items():
        env.create_temporary_system_function(name, function)
    for name, (columns, given) in TABLES.items():
        options = given.format(directory=directory)
        env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({options})")
    first = udtaf(First(), result_type="ROW<word STRING>")
    grouped = env.from_path("datagen").group_by(col("id"))
    flat = grouped.flat_aggregate(first(col("word")).alias("found")).select(col("found"))
    jobs = [(name, lambda text=text: env.execute_sql(text)) for name, text in statements()]
    for name, start in [*jobs, ("table_aggregate", flat.execute)]:
        PlanningLauncher.path = directory / f"{name}.job"
        try:
            start()
        except PlannedError:
            continue
        raise AssertionError(f"{name} was not planned")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
