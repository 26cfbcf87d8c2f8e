"""`ModelDescriptor`: provider, columns and options of a model that a program declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.common.config.config_options import ConfigOption
from millrace.common.config.configuration import as_text
from millrace.common.errors import JobDefinitionError
from millrace.table.catalog.catalog_models import CatalogModel
from millrace.table.schema import Schema

__all__ = ["ModelDescriptor", "described_model"]


@dataclass(frozen=True)
class ModelDescriptor:
    """An unnamed model. Flink: ``ModelDescriptor``.

    Example:
        >>> from millrace.table import Schema
        >>> numbers = Schema.new_builder().column("x", "DOUBLE").build()
        >>> model = ModelDescriptor.for_provider("spark").input_schema(numbers)
        >>> model.output_schema(numbers).option("path", "/models/delays").build().get_options()
        {'provider': 'spark', 'path': '/models/delays'}
    """

    input_schema: Schema | None
    output_schema: Schema | None
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    comment: str | None = None
    model: Any = field(default=None, hash=False, repr=False)

    def get_options(self) -> dict[str, str]:
        """Options in the WITH clause, including the provider."""
        return dict(self.options)

    def get_input_schema(self) -> Schema | None:
        """Columns of the input."""
        return self.input_schema

    def get_output_schema(self) -> Schema | None:
        """Columns of the output."""
        return self.output_schema

    def get_comment(self) -> str | None:
        """The model's comment."""
        return self.comment

    @staticmethod
    def for_provider(provider: str) -> ModelDescriptor.Builder:
        """A builder of a model of a provider: ``python`` or ``spark``."""
        return ModelDescriptor.Builder(provider)

    @staticmethod
    def for_model(model: Any) -> ModelDescriptor.Builder:
        """A builder of a model object of the program. Not in Flink.

        Args:
            model: a fitted model of Spark ML, or any object with ``predict(batch)``.
        """
        is_spark = type(model).__module__.startswith("pyspark.ml")
        return ModelDescriptor.Builder("spark" if is_spark else "python", model)

    class Builder:
        """Adds columns and options to a model."""

        def __init__(self, provider: str, model: Any = None) -> None:
            self._options = {"provider": provider}
            self._model = model
            self._input: Schema | None = None
            self._output: Schema | None = None
            self._comment: str | None = None

        def input_schema(self, input_schema: Schema) -> ModelDescriptor.Builder:
            """Set the columns of the input."""
            self._input = input_schema
            return self

        def output_schema(self, output_schema: Schema) -> ModelDescriptor.Builder:
            """Set the columns of the output."""
            self._output = output_schema
            return self

        def option(self, key: ConfigOption[Any] | str, value: Any) -> ModelDescriptor.Builder:
            """Set an option."""
            self._options[key if isinstance(key, str) else key.key] = as_text(value)
            return self

        def comment(self, comment: str) -> ModelDescriptor.Builder:
            """Set the model's comment."""
            self._comment = comment
            return self

        def build(self) -> ModelDescriptor:
            """The descriptor."""
            return ModelDescriptor(
                self._input, self._output, dict(self._options), self._comment, self._model
            )


def described_model(descriptor: ModelDescriptor) -> CatalogModel:
    """The model that a descriptor describes.

    Raises:
        JobDefinitionError: the descriptor has no columns.
    """
    if descriptor.input_schema is None or descriptor.output_schema is None:
        raise JobDefinitionError(
            "a model needs columns: ModelDescriptor.Builder.input_schema() and output_schema()"
        )
    return CatalogModel(
        descriptor.input_schema,
        descriptor.output_schema,
        descriptor.options,
        descriptor.comment,
        descriptor.model,
    )
