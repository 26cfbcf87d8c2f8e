"""`ProgramModels`: the methods of a `TableEnvironment` for models."""

from __future__ import annotations

from millrace.table.catalog.errors import not_found
from millrace.table.catalog.object_path import parts_of
from millrace.table.model import Model
from millrace.table.model_descriptor import ModelDescriptor, described_model
from millrace.table.table_session import TableSession

__all__ = ["ProgramModels"]


class ProgramModels:
    """Operations on models of catalogs and of the program."""

    _session: TableSession

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
        found = self._session.reader.resolve_model(parts_of(path_or_descriptor))
        if found is None:
            raise not_found("model", path_or_descriptor, self.list_models())
        return Model(self._session, found)

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
