"""Inner names of PySpark and of Spark's JVM that Millrace uses although they are not documented.

A new Spark may rename any of them. ``tests/spark/test_inner_names.py`` looks for each in the Spark
that is installed, and for private names in this room that are not listed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from inspect import isfunction
from typing import Any

__all__ = ["INNER_NAMES", "InnerName", "Need", "missing_in_java", "missing_in_python"]


class Need(StrEnum):
    """Part of Millrace that needs an inner name."""

    ALL = "all jobs"
    EPOCHS = "jobs on epochs"
    RESIDENT = "resident tasks"
    DATAFRAMES = "DataFrames as sources"
    JMX = "the metric reporter jmx"


@dataclass(frozen=True, slots=True)
class InnerName:
    """An undocumented attribute of a class, a module or an object.

    Args:
        owner: Python module, class in a module (``module:Class``), or class of the JVM.
        name: attribute of the owner.
        need: what does not work without it.
        in_java: whether the owner is a class of the JVM.
        of_objects: whether objects get the attribute when they are made, so that the class does
            not tell.
    """

    owner: str
    name: str
    need: Need
    in_java: bool = False
    of_objects: bool = False

    def __str__(self) -> str:
        return f"{self.owner}.{self.name} ({self.need})"


_CONTEXT = "pyspark.core.context:SparkContext"
_SCALA_CONTEXT = "org.apache.spark.SparkContext"
_PYTHON = "org.apache.spark.api.python"


def _java(owner: str, need: Need, *names: str) -> tuple[InnerName, ...]:
    return tuple(InnerName(owner, name, need, in_java=True) for name in names)


INNER_NAMES: tuple[InnerName, ...] = (
    InnerName("pyspark.core.rdd", "_wrap_function", Need.EPOCHS),
    InnerName("pyspark.util", "_load_from_socket", Need.EPOCHS),
    InnerName("pyspark.daemon", "manager", Need.ALL),
    InnerName("pyspark.java_gateway", "launch_gateway", Need.ALL),
    InnerName(_CONTEXT, "_active_spark_context", Need.ALL),
    InnerName(_CONTEXT, "_ensure_initialized", Need.ALL),
    InnerName(_CONTEXT, "_gateway", Need.ALL),
    InnerName(_CONTEXT, "_jvm", Need.ALL),
    InnerName(_CONTEXT, "_lock", Need.ALL),
    InnerName(_CONTEXT, "_jsc", Need.ALL, of_objects=True),
    InnerName(_CONTEXT, "environment", Need.ALL, of_objects=True),
    InnerName(_CONTEXT, "pythonExec", Need.ALL, of_objects=True),
    InnerName("pyspark.core.rdd:PipelinedRDD", "_jrdd", Need.RESIDENT),
    InnerName("pyspark.sql.classic.dataframe:DataFrame", "_jdf", Need.DATAFRAMES, of_objects=True),
    InnerName("pyspark.sql.session:SparkSession", "_instantiatedSession", Need.DATAFRAMES),
    InnerName(
        "pyspark.sql.session:SparkSession", "_jsparkSession", Need.DATAFRAMES, of_objects=True
    ),
    InnerName("pyspark.sql.pandas.types", "to_arrow_schema", Need.DATAFRAMES),
    InnerName("pyspark.sql.pandas.types", "from_arrow_schema", Need.DATAFRAMES),
    *_java(f"{_PYTHON}.PythonRDD", Need.EPOCHS, "asJavaRDD", "collectAndServe", "valueOfPair"),
    *_java(f"{_PYTHON}.PairwiseRDD", Need.EPOCHS, "asJavaPairRDD"),
    *_java(f"{_PYTHON}.PythonPartitioner", Need.EPOCHS, "pyPartitionFunctionId"),
    *_java(f"{_PYTHON}.PythonUtils", Need.EPOCHS, "toSeq"),
    *_java("org.apache.spark.rdd.PartitionPruningRDD", Need.EPOCHS, "create"),
    *_java("org.apache.spark.ContextCleaner", Need.EPOCHS, "doCleanupShuffle"),
    *_java("org.apache.spark.ShuffleDependency", Need.EPOCHS, "shuffleId"),
    *_java(
        _SCALA_CONTEXT,
        Need.ALL,
        "getExecutorMemoryStatus",
        "getLocalProperties",
        "isStopped",
        "maxNumConcurrentTasks",
        "resourceProfileManager",
        "setLocalProperties",
    ),
    *_java(_SCALA_CONTEXT, Need.EPOCHS, "cleaner", "getPreferredLocs"),
    *_java(_SCALA_CONTEXT, Need.RESIDENT, "killTaskAttempt", "statusStore", "taskScheduler"),
    *_java("org.apache.spark.resource.ResourceProfileManager", Need.ALL, "defaultResourceProfile"),
    *_java(
        "org.apache.spark.scheduler.TaskSchedulerImpl",
        Need.RESIDENT,
        "getExecutorDecommissionState",
        "runningTasksByExecutors",
    ),
    *_java("org.apache.spark.status.AppStatusStore", Need.RESIDENT, "taskList"),
    *_java(
        "org.apache.spark.status.api.v1.TaskData",
        Need.RESIDENT,
        "errorMessage",
        "executorId",
        "taskId",
    ),
    *_java(
        "org.apache.spark.sql.classic.SparkSession",
        Need.DATAFRAMES,
        "getActiveSession",
        "setActiveSession",
    ),
    *_java("org.apache.spark.sql.classic.Dataset", Need.DATAFRAMES, "toArrowBatchRdd"),
    *_java("com.codahale.metrics.DefaultSettableGauge", Need.JMX, "setValue"),
    *_java("com.codahale.metrics.jmx.JmxReporter", Need.JMX, "forRegistry"),
)


def missing_in_python(names: tuple[InnerName, ...] = INNER_NAMES) -> list[InnerName]:
    """Names that the installed PySpark does not have."""
    return [name for name in names if not name.in_java and not _python_has(name)]


def _python_has(name: InnerName) -> bool:
    module, _, of_class = name.owner.partition(":")
    try:
        owner: Any = import_module(module)
        owner = getattr(owner, of_class) if of_class else owner
    except (ImportError, AttributeError):
        return False
    if not name.of_objects:
        return hasattr(owner, name.name)
    # set in a method, whose code knows the name
    methods = filter(isfunction, vars(owner).values())
    return any(name.name in method.__code__.co_names for method in methods)


def missing_in_java(jvm: Any, names: tuple[InnerName, ...] = INNER_NAMES) -> list[InnerName]:
    """Names that the classes of a running JVM do not have.

    Args:
        jvm: view of the JVM, as py4j has it.
    """
    known: dict[str, frozenset[str]] = {}
    for name in names:
        if name.in_java and name.owner not in known:
            known[name.owner] = _methods_of(jvm, name.owner)
    return [name for name in names if name.in_java and name.name not in known[name.owner]]


def _methods_of(jvm: Any, owner: str) -> frozenset[str]:
    """Names of the public methods of a class; none if there is no such class."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        methods = loader.loadClass(owner).getMethods()
    except Exception:  # of py4j, around Java's ClassNotFoundException
        return frozenset()
    return frozenset(str(method.getName()) for method in methods)
