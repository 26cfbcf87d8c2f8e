"""`CatalogModel`, and models in catalogs. Flink: ``CatalogModel``, ``Catalog``.

Models are kept as they were declared; the session's `SessionModels` asks their providers for them.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.table.catalog.errors import CatalogError, already_exists, not_found
from millrace.table.catalog.object_path import ObjectPath
from millrace.table.schema import Schema

__all__ = ["CatalogModel", "CatalogModels"]


@dataclass(frozen=True, eq=False)
class CatalogModel:
    """A model as its statement declares it.

    Attributes:
        input_schema: columns of the input; output_schema: columns of the output.
        options: options of WITH; ``provider`` names the model's provider.
        model: the model itself, if the program has it as an object.
    """

    input_schema: Schema
    output_schema: Schema
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    model: Any = None

    @staticmethod
    def create_model(
        input_schema: Schema,
        output_schema: Schema,
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogModel:
        """A model with the given columns and options."""
        return CatalogModel(input_schema, output_schema, dict(options or {}), comment)

    def copy(self, options: Mapping[str, str] | None = None) -> CatalogModel:
        """The same model, with other options if given."""
        given = self.options if options is None else options
        return CatalogModel(
            self.input_schema, self.output_schema, dict(given), self.comment, self.model
        )

    def get_input_schema(self) -> Schema:
        """Columns of the model's input."""
        return self.input_schema

    def get_output_schema(self) -> Schema:
        """Columns of the model's output."""
        return self.output_schema

    def get_options(self) -> dict[str, str]:
        """Options in the WITH clause."""
        return dict(self.options)

    def get_comment(self) -> str | None:
        """The model's comment."""
        return self.comment


class CatalogModels(ABC):
    """The models of a `Catalog`. By default there are none, and none can be added."""

    name: str

    def list_models(self, database_name: str) -> list[str]:
        """Names of the models of a database."""
        return []

    def model(self, path: ObjectPath) -> CatalogModel | None:
        """The model at the given path; None if there is none."""
        return None

    def model_exists(self, model_path: ObjectPath) -> bool:
        """Whether a model of this name exists."""
        return self.model(model_path) is not None

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        """The model at the given path.

        Raises:
            CatalogError: no model has this name.
        """
        model = self.model(model_path)
        if model is None:
            raise not_found("model", model_path.name, self.list_models(model_path.database))
        return model

    def create_model(
        self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool = False
    ) -> None:
        """Add a model; with ``ignore_if_exists`` an existing one stays.

        Raises:
            CatalogError: the model exists already, or the catalog does not store models.
        """
        if self.model_exists(model_path):
            if not ignore_if_exists:
                raise already_exists("model", model_path)
            return
        self._put_model(model_path, model)

    def alter_model(
        self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool = False
    ) -> None:
        """Replace a model.

        Raises:
            CatalogError: the model does not exist.
        """
        if ignore_if_not_exists and not self.model_exists(model_path):
            return
        self.get_model(model_path)
        self._put_model(model_path, new_model)

    def rename_model(
        self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool = False
    ) -> None:
        """Give a model another name in its database.

        Raises:
            CatalogError: the model does not exist, or the new name is taken.
        """
        if ignore_if_not_exists and not self.model_exists(model_path):
            return
        model = self.get_model(model_path)
        self.create_model(ObjectPath(model_path.database, new_model_name), model)
        self._remove_model(model_path)

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool = False) -> None:
        """Remove a model.

        Raises:
            CatalogError: the model does not exist.
        """
        if ignore_if_not_exists and not self.model_exists(model_path):
            return
        self.get_model(model_path)
        self._remove_model(model_path)

    # -- for catalogs that keep models -------------------------------------------------

    def _put_model(self, path: ObjectPath, model: CatalogModel) -> None:
        raise self._no_models()

    def _remove_model(self, path: ObjectPath) -> None:
        raise self._no_models()

    def _no_models(self) -> CatalogError:
        return CatalogError(
            f"the catalog {self.name!r} cannot store models: use CREATE TEMPORARY MODEL, or "
            "the default catalog"
        )
