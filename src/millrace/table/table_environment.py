"""`TableEnvironment`: execution of statements, with tables and catalogs."""

from __future__ import annotations

from typing import Any

from millrace.common.types.logical.logical_type import quoted
from millrace.datastream.job_dependencies import JobDependencies
from millrace.expressions.registry import functions
from millrace.other_paths import late_names
from millrace.planner.binder.tables import table_rows
from millrace.planner.catalog_reader import NameKind, ResolvedTable, ResolvedView
from millrace.planner.relational.rel_node import RelNode
from millrace.sql.parser import parse_query, parse_statement
from millrace.sql.statements import (
    CreateCatalog,
    DropTable,
    DropView,
    Explain,
    UnloadModule,
    UseModules,
)
from millrace.table.catalog.catalog import Catalog
from millrace.table.catalog.catalog_objects import (
    CatalogDescriptor,
    CatalogFunction,
    CatalogTable,
    CatalogView,
)
from millrace.table.catalog.errors import not_found
from millrace.table.catalog.imported_functions import function_of, made_function
from millrace.table.catalog.object_path import parts_of
from millrace.table.compiled_plan import CompiledPlan
from millrace.table.ddl.modules import CORE
from millrace.table.ddl.plans import sinks_of
from millrace.table.ddl.statements import execute_statement
from millrace.table.environment_settings import EnvironmentSettings
from millrace.table.explain_detail import ExplainDetail
from millrace.table.model import Model
from millrace.table.model_descriptor import ModelDescriptor, described_model
from millrace.table.module import ModuleEntry
from millrace.table.plan_reference import PlanReference
from millrace.table.process_calls import called_rows
from millrace.table.program_tables import ProgramTables
from millrace.table.statement_set import StatementSet
from millrace.table.table import Table
from millrace.table.table_config import TableConfig
from millrace.table.table_descriptor import TableDescriptor, described_table
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession
from millrace.table.udf import UserDefinedFunctionWrapper

__all__ = ["TableEnvironment"]


class TableEnvironment(ProgramTables):
    """Executes SQL. Flink: ``TableEnvironment``.

    Example:
        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> t_env.execute_sql(
        ...     "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen',"
        ...     " 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3')"
        ... ).print()
        OK
        >>> t_env.list_tables()
        ['numbers']
    """

    def __init__(self, session: TableSession) -> None:
        self._session = session

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Any) -> TableEnvironment:
        """An environment with the given settings, or a `Configuration` of them."""
        settings = environment_settings
        if not isinstance(settings, EnvironmentSettings):
            settings = EnvironmentSettings.new_instance().with_configuration(settings).build()
        return TableEnvironment(TableSession(settings))

    def get_config(self) -> TableConfig:
        """Options of the session."""
        return self._session.config

    # -- statements --------------------------------------------------------------------

    def execute_sql(self, stmt: str) -> TableResult:
        """Execute one statement. Jobs of queries and INSERTs run in the background.

        Raises:
            SqlParserError: the text is no statement; the error shows where.
            JobDefinitionError: a name is unknown, a type or an option is wrong.
        """
        return execute_statement(self._session, parse_statement(stmt))

    def sql_query(self, query: str) -> Table:
        """A query as a table, which has not run yet.

        Raises:
            SqlParserError, SqlValidationError: the text is wrong; the error shows where.
        """
        return Table(self._session, self._session.bind_query(parse_query(query), query))

    def compile_plan_sql(self, stmt: str) -> CompiledPlan:
        """Compile the plan of an INSERT or a statement set.

        Raises:
            JobDefinitionError: it is another statement, or reads or calls what is in this program
                only.
        """
        return CompiledPlan.of(self._session, sinks_of(self._session, parse_statement(stmt)))

    def load_plan(self, plan_reference: PlanReference) -> CompiledPlan:
        """The plan in a file or text.

        Raises:
            JobDefinitionError: the text is not a plan, or a table or function of the plan is
                missing or has changed.
        """
        return CompiledPlan.load(self._session, plan_reference)

    def execute_plan(self, plan_reference: PlanReference) -> TableResult:
        """Run the plan in a file or text: `load_plan` and `CompiledPlan.execute`."""
        return self.load_plan(plan_reference).execute()

    def explain_sql(self, stmt: str, *extra_details: ExplainDetail) -> str:
        """The plan of a query or an INSERT."""
        statement = parse_statement(stmt)
        names = tuple(detail.name for detail in extra_details)
        result = execute_statement(self._session, Explain(statement, names, text=stmt))
        text: str = next(result.collect())[0]
        return text

    def create_statement_set(self) -> StatementSet:
        """A set of inserts that run as one job."""
        return StatementSet(self._session)

    # -- tables ------------------------------------------------------------------------

    def from_path(self, path: str) -> Table:
        """A table or view of a catalog.

        Raises:
            CatalogError: no object has this name.
        """
        parts = parts_of(path)
        table = self._session.reader.resolve_table(parts)
        if table is None:
            names = self._session.reader.names(NameKind.TABLE)
            raise not_found("table", path, names)
        if isinstance(table, ResolvedView) and isinstance(table.query, str):
            return self.sql_query(f"SELECT * FROM {'.'.join(map(quoted, parts))}")
        declared = table if isinstance(table, ResolvedTable) else None
        return Table(self._session, _scan(table), declared)

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """An unnamed table.

        Raises:
            JobDefinitionError: the descriptor has no schema, or the schema is wrong.
        """
        name = self._session.anonymous_name("descriptor")
        table = self._session.resolved((name,), described_table(descriptor))
        return Table(self._session, _scan(table), table)

    def from_call(self, function: Any, *arguments: Any) -> Table:
        """The output rows of a process table function.

        Args:
            function: a function made by `udptf`, or its registered name.
            arguments: by position, or with names: ``table.partition_by("k").as_argument("input")``,
                ``lit(3).as_argument("least")``.

        Raises:
            JobDefinitionError: ``function`` is not a process table function, or does not accept
                these arguments.
        """
        return Table(self._session, called_rows(self._session, function, arguments))

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Table, *fields_or_schema: Any
    ) -> None:
        """Register a query under a name, for as long as the session exists.

        Args:
            fields_or_schema: columns of a stream; only `StreamTableEnvironment` accepts streams.

        Raises:
            CatalogError: the name is taken.
        """
        path = self._session.catalogs.qualified(parts_of(view_path))
        self._session.catalogs.create_temporary(path, CatalogView("", table_or_data_stream.node))

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool = False) -> bool:
        """Add a query to a catalog as a view. False if the name is taken; then the existing view
        stays.

        Raises:
            CatalogError: the name is taken, or the catalog keeps text only.
        """
        return self._create(view_path, CatalogView("", table.node), ignore_if_exists)

    def create_temporary_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool = False
    ) -> None:
        """Add a temporary table, which exists as long as the session.

        Args:
            ignoreIfExists: a temporary table of this name stays (the name is PyFlink's).

        Raises:
            CatalogError: the name is taken.
        """
        name = self._session.catalogs.qualified(parts_of(path))
        if not (ignoreIfExists and self._session.catalogs.is_temporary(name)):
            self._session.catalogs.create_temporary(name, described_table(descriptor))

    def create_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool = False
    ) -> bool:
        """Add a table to a catalog. False if the name is taken; then the existing table stays.

        Args:
            ignoreIfExists: whether one may be there (the name is PyFlink's).

        Raises:
            CatalogError: the name is taken.
        """
        return self._create(path, described_table(descriptor), ignoreIfExists)

    def _create(self, path: str, table: CatalogTable | CatalogView, ignore: bool) -> bool:
        name = self._session.catalogs.qualified(parts_of(path))
        catalog = self._session.catalogs.catalog(name.catalog)
        if ignore and catalog.table_exists(name.path):
            return False
        catalog.create_table(name.path, table)
        return True

    def drop_table(self, table_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a table of a catalog; False if there is none.

        Raises:
            CatalogError: the object is missing and ``ignore_if_not_exists`` is False, or a
                temporary object hides it.
        """
        return self._drop(DropTable(parts_of(table_path), if_exists=ignore_if_not_exists))

    def drop_view(self, view_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a view of a catalog; False if there is none.

        Raises:
            CatalogError: the object is missing and ``ignore_if_not_exists`` is False, or a
                temporary object hides it.
        """
        return self._drop(DropView(parts_of(view_path), if_exists=ignore_if_not_exists))

    def _drop(self, statement: DropTable | DropView) -> bool:
        there = self._session.catalogs.table(self._session.catalogs.qualified(statement.path))
        execute_statement(self._session, statement)
        return there is not None

    def drop_temporary_table(self, table_path: str) -> bool:
        """Drop a temporary table; False if there is none."""
        name = self._session.catalogs.qualified(parts_of(table_path))
        return self._session.catalogs.drop_temporary(name, CatalogTable)

    def drop_temporary_view(self, view_path: str) -> bool:
        """Drop a temporary view; False if there is none."""
        name = self._session.catalogs.qualified(parts_of(view_path))
        return self._session.catalogs.drop_temporary(name, CatalogView)

    # -- functions ---------------------------------------------------------------------

    def create_temporary_function(self, path: str, function: UserDefinedFunctionWrapper) -> None:
        """Register a temporary function in a catalog and database, for as long as the session
        exists.

        Args:
            function: made by `millrace.table.udf.udf` or its kin, or by
                `Table.create_temporal_table_function`.

        Raises:
            CatalogError: the name is taken, or ``function`` is not a user-defined function.
        """
        self._session.catalogs.register_temporary_function(parts_of(path), _registered(function))

    def create_temporary_system_function(
        self, name: str, function: UserDefinedFunctionWrapper
    ) -> None:
        """Register a temporary function that precedes all others, for as long as the session
        exists.

        Args:
            function: made by `millrace.table.udf.udf` or its kin, or by
                `Table.create_temporal_table_function`.

        Raises:
            CatalogError: the name is taken, or ``function`` is not a user-defined function.
        """
        self._session.catalogs.register_system_function(name, _registered(function))

    def drop_temporary_function(self, path: str) -> bool:
        """Drop a temporary function; False if there is none."""
        return self._session.catalogs.drop_temporary_function(parts_of(path))

    def drop_temporary_system_function(self, name: str) -> bool:
        """Drop a temporary system function; False if there is none."""
        return self._session.catalogs.system_functions.pop(name.lower(), None) is not None

    def drop_function(self, path: str) -> bool:
        """Drop a function of a catalog; False if there is none."""
        name = self._session.catalogs.qualified(parts_of(path))
        catalog = self._session.catalogs.catalog(name.catalog)
        if catalog.function(name.path) is None:
            return False
        catalog.drop_function(name.path)
        return True

    def list_functions(self) -> list[str]:
        """Names of all functions that statements can call."""
        built_in = {function.name.lower() for function in functions() if function.name[0].isalpha()}
        return sorted({*built_in, *self.list_user_defined_functions()})

    # -- models ------------------------------------------------------------------------

    def from_model(self, path_or_descriptor: str | ModelDescriptor) -> Model:
        """A model of a catalog, or an unnamed one.

        Raises:
            CatalogError: no model has this name.
            JobDefinitionError: the provider does not know the model, or the columns are wrong.
        """
        models = self._session.catalogs.models
        if isinstance(path_or_descriptor, ModelDescriptor):
            name = self._session.catalogs.qualified((self._session.anonymous_name("model"),))
            resolved = models.resolved(name, described_model(path_or_descriptor))
            return Model(self._session, resolved)
        model = self._session.reader.resolve_model(parts_of(path_or_descriptor))
        if model is None:
            raise not_found("model", path_or_descriptor, self.list_models())
        return Model(self._session, model)

    def create_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool = False
    ) -> bool:
        """Add a model to a catalog. False if the name is taken; then the existing model stays.

        Raises:
            CatalogError: the name is taken, or the catalog keeps no models.
        """
        model = described_model(model_descriptor)
        models = self._session.catalogs.models
        return models.create(parts_of(model_path), model, False, ignore_if_exists)

    def create_temporary_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool = False
    ) -> None:
        """Add a temporary model, which exists as long as the session.

        Raises:
            CatalogError: the name is taken.
        """
        model = described_model(model_descriptor)
        models = self._session.catalogs.models
        models.create(parts_of(model_path), model, True, ignore_if_exists)

    def drop_model(self, model_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a model of a catalog; False if there is none.

        Raises:
            CatalogError: the model is missing, and ``ignore_if_not_exists`` is False.
        """
        models = self._session.catalogs.models
        return models.drop(parts_of(model_path), False, ignore_if_not_exists)

    def drop_temporary_model(self, model_path: str) -> bool:
        """Drop a temporary model; False if there is none."""
        return self._session.catalogs.models.drop(parts_of(model_path), True, True)

    def list_models(self) -> list[str]:
        """Names of models of the current database, including temporary ones."""
        catalogs = self._session.catalogs
        return catalogs.models.names(*catalogs.place)

    def list_temporary_models(self) -> list[str]:
        """Names of temporary models."""
        catalogs = self._session.catalogs
        return catalogs.models.temporary_names(*catalogs.place)

    # -- catalogs ----------------------------------------------------------------------

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Add a catalog under a name."""
        self._session.catalogs.register_catalog(catalog_name, catalog)

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """Add a catalog under a name, as CREATE CATALOG does; the option ``type`` names its kind.

        Raises:
            CatalogError: the name is taken, or there is no such type.
        """
        options = dict(catalog_descriptor.options)
        statement = CreateCatalog(catalog_name, options, catalog_descriptor.comment)
        execute_statement(self._session, statement)

    def get_catalog(self, catalog_name: str) -> Catalog:
        """The catalog with the given name."""
        return self._session.catalogs.catalog(catalog_name)

    def use_catalog(self, catalog_name: str) -> None:
        """Make a catalog the current one."""
        self._session.catalogs.use_catalog(catalog_name)

    def use_database(self, database_name: str) -> None:
        """Make a database of the current catalog the current one."""
        self._session.catalogs.use_database((database_name,))

    def get_current_catalog(self) -> str:
        """Name of the current catalog."""
        return self._session.catalogs.current_catalog

    def get_current_database(self) -> str:
        """Name of the current database."""
        return self._session.catalogs.current_database

    def list_catalogs(self) -> list[str]:
        """Names of catalogs."""
        return self._session.catalogs.list_catalogs()

    def list_databases(self) -> list[str]:
        """Names of the databases of the current catalog."""
        catalogs = self._session.catalogs
        return catalogs.catalog(catalogs.current_catalog).list_databases()

    def list_tables(self) -> list[str]:
        """Names of tables and views of the current database, including temporary ones."""
        return self._session.catalogs.list_tables()

    def list_views(self) -> list[str]:
        """Names of views of the current database, including temporary ones."""
        return self._session.catalogs.list_views()

    def list_temporary_tables(self) -> list[str]:
        """Names of temporary tables."""
        return self._session.catalogs.list_temporary(views=False)

    def list_temporary_views(self) -> list[str]:
        """Names of temporary views."""
        return self._session.catalogs.list_temporary(views=True)

    def list_user_defined_functions(self) -> list[str]:
        """Names of the functions that programs have registered."""
        return self._session.catalogs.list_functions()

    def list_materialized_tables(self) -> list[str]:
        """Names of materialized tables; always empty here."""
        return []

    # -- modules -----------------------------------------------------------------------

    def list_modules(self) -> list[str]:
        """Names of the modules in use: ``core``, which has the built-in functions."""
        return [CORE]

    def list_full_modules(self) -> list[ModuleEntry]:
        """The modules, and whether they are in use."""
        return [ModuleEntry(name, True) for name in self.list_modules()]

    def use_modules(self, *module_names: str) -> None:
        """Use modules in this order.

        Raises:
            CatalogError: a module does not exist.
        """
        execute_statement(self._session, UseModules(module_names))

    def unload_module(self, module_name: str) -> None:
        """Always refused: ``core`` is the only module, and cannot be unloaded.

        Raises:
            JobDefinitionError: says so.
        """
        execute_statement(self._session, UnloadModule(module_name))

    # -- dependencies ------------------------------------------------------------------

    def add_python_file(self, file_path: str) -> None:
        """Let functions import from a ``.py`` file, a zip, egg or wheel, or a directory."""
        self._dependencies().add_python_file(file_path)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive in the working directory of the workers, into ``target_dir`` or a
        directory with the archive's name."""
        self._dependencies().add_python_archive(archive_path, target_dir)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Give the workers the packages of a requirements file.

        Args:
            requirements_cache_dir: a directory of packages; then nothing is downloaded.
        """
        self._dependencies().set_python_requirements(requirements_file_path, requirements_cache_dir)

    def _dependencies(self) -> JobDependencies:
        return JobDependencies.of(self.get_config().get_configuration())


def _registered(function: Any) -> CatalogFunction:
    registered = CatalogFunction("", function=made_function(function))
    function_of(registered)
    return registered


def _scan(table: ResolvedTable | ResolvedView) -> RelNode:
    if isinstance(table, ResolvedTable):
        return table_rows(table)
    assert isinstance(table.query, RelNode)
    return table.query


__getattr__ = late_names(__name__)
