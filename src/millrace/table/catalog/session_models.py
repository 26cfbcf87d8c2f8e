"""`SessionModels`: the temporary models of a session, and the models of its catalogs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import RowType
from millrace.planner.catalog_reader import ColumnKind, ResolvedModel
from millrace.table.catalog.catalog_models import CatalogModel, CatalogModels
from millrace.table.catalog.errors import CatalogError, already_exists, not_found
from millrace.table.catalog.model_providers import scorer_of
from millrace.table.catalog.object_path import ObjectIdentifier
from millrace.table.schema import Schema

__all__ = ["SessionModels"]


class SessionModels:
    """Finds, adds and removes models by names of one to three parts.

    Args:
        qualified: function that returns the full name for a name of one to three parts.
        catalog: function that returns the catalog with a name.
    """

    def __init__(
        self,
        qualified: Callable[[Sequence[str]], ObjectIdentifier],
        catalog: Callable[[str], CatalogModels],
    ) -> None:
        self._qualified, self._catalog = qualified, catalog
        self._temporary: dict[ObjectIdentifier, CatalogModel] = {}
        self._resolved: dict[CatalogModel, ResolvedModel] = {}

    def find(self, path: Sequence[str]) -> CatalogModel | None:
        """A model, temporary ones first; None if the name is unknown."""
        name = self._qualified(path)
        temporary = self._temporary.get(name)
        return temporary or self._catalog(name.catalog).model(name.path)

    def resolved(self, path: ObjectIdentifier, model: CatalogModel) -> ResolvedModel:
        """A model that can be called. The first call of this method resolves the model with its
        provider.

        Raises:
            JobDefinitionError: the provider does not know the model, or its columns are wrong.
        """
        if model not in self._resolved:
            inputs, outputs = _columns(model.input_schema), _columns(model.output_schema)
            scorer = scorer_of(path.name, model, inputs, outputs)
            self._resolved[model] = ResolvedModel(tuple(path), inputs, outputs, scorer)
        return self._resolved[model]

    def create(
        self,
        path: Sequence[str],
        model: CatalogModel,
        temporary: bool,
        ignore_if_exists: bool = False,
    ) -> bool:
        """Add a model. False if the name is taken; then the existing model stays.

        Raises:
            CatalogError: the model exists already, and the statement does not allow this.
        """
        name = self._qualified(path)
        if not temporary:
            catalog = self._catalog(name.catalog)
            is_new = not catalog.model_exists(name.path)
            catalog.create_model(name.path, model, ignore_if_exists)
            return is_new
        if name in self._temporary:
            if not ignore_if_exists:
                raise already_exists("temporary model", name)
            return False
        self._temporary[name] = model
        return True

    def alter(
        self,
        path: Sequence[str],
        change: Callable[[CatalogModel], CatalogModel],
        ignore_if_not_exists: bool,
    ) -> None:
        """Change a model of a catalog.

        Raises:
            CatalogError: the model is missing and the statement does not allow this, or it is
                temporary.
        """
        name = self._qualified(path)
        catalog = self._catalog(name.catalog)
        if self._is_there(name, ignore_if_not_exists):
            catalog.alter_model(name.path, change(catalog.get_model(name.path)))

    def rename(self, path: Sequence[str], new_name: str, ignore_if_not_exists: bool) -> None:
        """Give a model of a catalog another name in its database.

        Raises:
            CatalogError: the new name is taken, the model is missing and the statement does not
                allow this, or the model is temporary.
        """
        name = self._qualified(path)
        if self._is_there(name, ignore_if_not_exists):
            self._catalog(name.catalog).rename_model(name.path, new_name)

    def _is_there(self, name: ObjectIdentifier, may_be_missing: bool) -> bool:
        if name in self._temporary:
            raise CatalogError(
                f"model {name} is temporary and cannot be altered: use DROP TEMPORARY "
                "MODEL, then create the model again"
            )
        exists = self._catalog(name.catalog).model_exists(name.path)
        if not exists and not may_be_missing:
            raise not_found("model", name, self.names(name.catalog, name.database))
        return exists

    def drop(self, path: Sequence[str], temporary: bool, ignore_if_not_exists: bool) -> bool:
        """Remove a model; False if there is none.

        Raises:
            CatalogError: the model is missing, and the statement does not allow this.
        """
        name = self._qualified(path)
        if temporary:
            existed = self._temporary.pop(name, None) is not None
        else:
            catalog = self._catalog(name.catalog)
            existed = catalog.model_exists(name.path)
            if existed:
                catalog.drop_model(name.path)
        if not existed and not ignore_if_not_exists:
            raise not_found("model", name, self.names(name.catalog, name.database))
        return existed

    def is_temporary(self, path: Sequence[str]) -> bool:
        """Whether the name belongs to a temporary model."""
        return self._qualified(path) in self._temporary

    def names(self, catalog: str, database: str) -> list[str]:
        """Names of the models of a database, including temporary ones."""
        kept = self._catalog(catalog).list_models(database)
        return sorted({*kept, *self.temporary_names(catalog, database)})

    def temporary_names(self, catalog: str, database: str) -> list[str]:
        """Names of the temporary models of a database."""
        place = (catalog, database)
        return sorted(
            name.name for name in self._temporary if (name.catalog, name.database) == place
        )


def _columns(schema: Schema) -> RowType:
    for column in schema.columns:
        if column.kind is not ColumnKind.PHYSICAL or column.type is None:
            raise JobDefinitionError(
                f"the columns of a model must be plain columns, but {column.name!r} is "
                f"{column.kind.value.lower()}"
            )
    return RowType.of(*((column.name, column.type) for column in schema.columns if column.type))
